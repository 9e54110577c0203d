/**
 * Compares a random model of the Qwen3-4B shape with PyTorch on the same weights: the device's bf16 may be at most 1.5 times as far
 * from PyTorch's float32 as PyTorch's own bf16 is, for logits and for the gradient of an adapter.
 *   python3 bench/peers/parity_cuda.py FOLDER && node test/cuda/parity-large.ts FOLDER
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { scaleGroups, targetModules } from '../../src/adapters/index.ts';
import { LinearAdapter } from '../../src/adapters/linear-adapter.ts';
import { transpose } from '../../src/adapters/transpose.ts';
import { createCudaDevice } from '../../src/engine/cuda/index.ts';
import { AdamW, embedding, nextLogits, readFloats, Scope, sum, Tape } from '../../src/engine/index.ts';
import { Decoder, loadWeights, ModelFolder, packGroups, SafetensorsFile, scoreGroups } from '../../src/model/index.ts';

const share = 1.5;
const [folder] = process.argv.slice(2);
const report = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8'));
await using expected = await SafetensorsFile.open(join(folder, 'expected.safetensors'));

class Distance {
  difference = 0;
  size = 0;
  add(found: Float32Array, wanted: Float32Array): void {
    if (found.length !== wanted.length) this.difference = Number.POSITIVE_INFINITY;
    for (let i = 0; i < wanted.length; i++) {
      this.difference += (found[i] - wanted[i]) ** 2;
      this.size += wanted[i] ** 2;
    }
  }
  get relative(): number {
    return Math.sqrt(this.difference / this.size);
  }
}

let failed = 0;
function judge(what: string, found: number, peer: number): void {
  const pass = found <= share * peer;
  if (!pass) failed++;
  const ratio = (found / peer).toFixed(3);
  console.log(
    `${pass ? 'ok    ' : 'failed'} ${what}: ${found.toExponential(3)}, PyTorch's bf16 ${peer.toExponential(3)}, ratio ${ratio}`,
  );
}

using device = await createCudaDevice({ precision: 'bf16' });
{
  using scope = new Scope(device);
  await using model = await ModelFolder.open(folder);
  const decoder = await Decoder.load(scope, model.config, loadWeights(model.weights, model.config, { as: 'stored' }));
  const modules = targetModules(model.config).filter(({ name }) => expected.entries.has(`${name}.A`));
  const parts = new Map<string, { shape: readonly number[]; data: Float32Array }>();
  for (const { name } of modules) {
    for (const suffix of ['A', 'B', 'A0', 'B0']) {
      const key = `${name}.${suffix}`;
      parts.set(key, { shape: expected.entries.get(key)?.shape ?? [], data: await expected.readFloat32(key) });
    }
  }
  const part = (key: string): Float32Array => parts.get(key)?.data ?? new Float32Array();
  const adapter = new LinearAdapter(scope, 'lora', report.rank, modules, ({ name }) => ({
    A0: part(`${name}.A0`),
    B0: part(`${name}.B0`),
  }));
  adapter.load(parts);

  const ids = Int32Array.from(await expected.read('ids'), Number);
  const [rows, length] = expected.entries.get('ids')?.shape ?? [];
  const groups = Array.from({ length: rows }, (_, row) => {
    const own = ids.subarray(row * length, (row + 1) * length);
    return { prompt: own.slice(0, 1), completions: [own.slice(1)] };
  });
  const packed = packGroups(scope, model.config, groups);
  const coefficients = scaleGroups(
    scope,
    packed,
    groups.map(() => 1),
  );
  const project = adapter.project({ coefficients });
  {
    using tape = new Tape(device);
    const hidden = decoder.forward(tape, packed.batch, { project });
    // These are the last positions of every row that predict a token.
    const last = packed.completions.flatMap(({ end }) =>
      Array.from({ length: report.compared }, (_, i) => end - 1 - report.compared + i),
    );
    const chosen = tape.from(Int32Array.from(last), [last.length], 'compared positions');
    const logits = await readFloats(nextLogits(tape, embedding(tape, hidden, chosen), decoder.head));
    const distance = new Distance();
    distance.add(logits, await expected.readFloat32('logits'));
    judge('logits', distance.relative, report['logits error']);
  }
  using optimiser = new AdamW(adapter.parameters);
  {
    using tape = new Tape(device, { learn: optimiser.learn, recompute: true });
    tape.backward(sum(tape, scoreGroups(tape, decoder, packed, { project })));
  }
  const distance = new Distance();
  for (const { name, gradient } of adapter.parameters) {
    const found = await readFloats(gradient);
    const wanted = await expected.readFloat32(`${name}.grad`);
    const [height, width] = expected.entries.get(`${name}.grad`)?.shape ?? [];
    distance.add(found, name.endsWith('.B') ? transpose(wanted, height, width) : wanted);
  }
  judge('gradient of the adapter', distance.relative, report['gradient error']);
}
process.exitCode = failed === 0 ? 0 : 1;
