/** The stored PyTorch values hold on every device of this machine, and a folder with a mistake in it fails. */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../src/cli/program.ts';
import type { Device } from '../src/engine/index.ts';
import { createReferenceDevice } from '../src/engine/reference/index.ts';
import { createWasmDevice } from '../src/engine/wasm/index.ts';
import { SafetensorsFile, writeSafetensors } from '../src/model/index.ts';
import { Checks } from '../src/verify/check.ts';
import { verifyParity } from '../src/verify/parity.ts';
import { verifyGrpo } from '../src/verify/parity-grpo.ts';

const golden = fileURLToPath(new URL('golden', import.meta.url));
const devices: Readonly<Record<string, () => Promise<Device>>> = {
  reference: async () => createReferenceDevice(),
  'wasm, one thread': () => createWasmDevice({ threads: 1 }),
  'wasm, two threads': () => createWasmDevice({ threads: 2 }),
  'wasm, plain': () => createWasmDevice({ threads: 1, variant: 'plain' }),
};
const bounds = { logits: 2e-4, token_logps: 2e-4, loss: 1e-5, grad: 1e-4, stepped: 1e-6 };

describe.each(Object.keys(devices))('golden values on %s', (name) => {
  it('pass, all of them, within the stated bounds', async () => {
    using device = await devices[name]();
    const { checks, notes } = await verifyParity(device, golden);
    expect(checks.filter(({ pass }) => !pass)).toEqual([]);
    expect(notes).toEqual([{ case: 'qwen3-bf16', note: 'stores no logits, token_logps, greedy_0' }]);
    expect(device.arena.used).toBe(0);
    const byCase = new Map<string, number>();
    for (const check of checks) byCase.set(check.case, (byCase.get(check.case) ?? 0) + 1);
    // qwen3: 4 of the model, 4 log-probabilities, 2 features, kl, loss, norm, share, and 4 for each of 14 modules.
    expect(Object.fromEntries(byCase)).toEqual({ basis: 9, llama: 4, qwen2: 4, qwen3: 70, 'qwen3-bf16': 25 });
    for (const { quantity, bound } of checks) {
      const kind = Object.entries(bounds).find(([key]) => quantity.split('.').at(-1) === key);
      if (kind !== undefined) expect({ quantity, bound }).toEqual({ quantity, bound: kind[1] });
    }
  });
});

it('one whole step from its own gradients ends within 1e-6 of the stored one', async () => {
  using device = createReferenceDevice();
  const check = new Checks('qwen3');
  await verifyGrpo(device, join(golden, 'qwen3'), check, 'own');
  const checks = check.list;
  expect(checks.filter(({ quantity }) => quantity.endsWith('.stepped')).length).toBe(28);
  expect(checks.filter(({ pass }) => !pass)).toEqual([]);
});

describe('a folder with a mistake', () => {
  let home = '';
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'gq-parity-'));
  });
  afterAll(() => rm(home, { recursive: true, force: true }));

  /** Copies some cases under a new root and changes the copy. */
  async function copy(
    name: string,
    cases: readonly string[],
    change: (root: string) => Promise<void>,
  ): Promise<string> {
    const root = join(home, name);
    for (const each of cases) await cp(join(golden, each), join(root, each), { recursive: true });
    await change(root);
    return root;
  }

  async function verify(directory: string): Promise<{ code: number; failed: string[]; notes: string[] }> {
    let out = '';
    const streams = { stdout: { write: (text: string) => (out += text) }, stderr: process.stderr };
    const code = await runCli(['verify', 'parity', directory, '--device', 'reference', '--json'], streams);
    const { checks, notes } = JSON.parse(out);
    const failing = checks.filter(({ pass }: { pass: boolean }) => !pass);
    return {
      code,
      failed: failing.map((check: { case: string; quantity: string }) => `${check.case} ${check.quantity}`),
      notes: notes.map((note: { case: string; note: string }) => `${note.case} ${note.note}`),
    };
  }

  async function edit(path: string, tensor: string, change: (data: Float32Array | Int32Array) => void): Promise<void> {
    const tensors = [];
    {
      await using file = await SafetensorsFile.open(path);
      for (const [name, { dtype, shape }] of file.entries) {
        const data = await file.read(name);
        if (name === tensor && (data instanceof Float32Array || data instanceof Int32Array)) change(data);
        tensors.push({ name, dtype, shape, data: () => data });
      }
    }
    await writeSafetensors(path, tensors);
  }

  const add = (by: number) => (data: Float32Array | Int32Array) => {
    data[0] += by;
  };
  const gradient = 'model.layers.1.self_attn.q_proj.A.grad';
  const stepped = 'model.layers.0.mlp.up_proj.B.stepped';

  it.each([
    ['llama/io.safetensors', 'logits', 5e-4, ['llama logits']],
    ['qwen2/io.safetensors', 'token_logps', 5e-4, ['qwen2 token_logps']],
    ['qwen2/io.safetensors', 'greedy_1', 1, ['qwen2 greedy_1']],
    ['qwen3/grpo.safetensors', 'logp_masked', 5e-4, ['qwen3 logp_masked']],
    ['qwen3/grpo.safetensors', 'kl', 5e-4, ['qwen3 kl']],
    ['qwen3/grpo.safetensors', 'loss', 1e-5, ['qwen3 loss']],
    ['qwen3/grpo.safetensors', 'qmass', 1e-3, ['qwen3 qmass']],
    ['qwen3/grpo.safetensors', 'probe_grad', 1e-2, ['qwen3 probe_grad']],
    ['qwen3/adapter.safetensors', gradient, 1e-3, [`qwen3 ${gradient}`]],
    ['qwen3/adapter.safetensors', stepped, 1e-5, [`qwen3 ${stepped}`]],
    ['basis/io.safetensors', 'corda_V', 1e-2, ['basis corda_V']],
    ['basis/io.safetensors', 'cayley_R', 1e-3, ['basis cayley_R']],
  ])('%s: %s moved by %d fails that check', async (file, tensor, by, expected) => {
    const directory = await copy(tensor, [dirname(file)], (root) => edit(join(root, file), tensor, add(by)));
    const { code, failed } = await verify(directory);
    expect(code).toBe(1);
    expect(failed).toEqual(expect.arrayContaining(expected));
    // Most mistakes fail one check; a wrong gradient also fails the step that is made from it.
    expect(failed.length).toBeLessThanOrEqual(2);
  });

  it('names files that are missing and lets the other cases run', async () => {
    const directory = await copy('missing', ['basis', 'llama', 'qwen2', 'qwen3'], async (root) => {
      await rm(join(root, 'qwen3', 'adapter.safetensors'));
      await rm(join(root, 'qwen2', 'io.safetensors'));
      await rm(join(root, 'llama', 'model.safetensors'));
      await rm(join(root, 'basis', 'io.json'));
    });
    const { code, failed } = await verify(directory);
    expect(code).toBe(1);
    expect(failed).toEqual(['basis io.json', 'llama files', 'qwen2 io.safetensors', 'qwen3 adapter.safetensors']);
  });

  it('notes what nobody compares: unknown files and tensors', async () => {
    const directory = await copy('unknown', ['llama', 'qwen2'], async (root) => {
      await writeFile(join(root, 'llama', 'extra.npz'), 'x');
      const path = join(root, 'qwen2', 'io.safetensors');
      await using file = await SafetensorsFile.open(path);
      const tensors = [];
      for (const [name, { dtype, shape }] of file.entries) {
        const data = await file.read(name);
        tensors.push({ name, dtype, shape, data: () => data });
      }
      await writeSafetensors(path, [
        ...tensors,
        { name: 'hidden', dtype: 'F32', shape: [1], data: () => new Float32Array(1) },
      ]);
    });
    const { code, notes } = await verify(directory);
    expect(code).toBe(0);
    expect(notes).toEqual(
      expect.arrayContaining(['llama not read: extra.npz', 'qwen2 not compared: io.safetensors: hidden']),
    );
  });

  it('a folder without cases is a wrong call', async () => {
    let err = '';
    const streams = { stdout: { write: () => 0 }, stderr: { write: (text: string) => (err += text) } };
    expect(await runCli(['verify', 'parity', join(home, 'nowhere')], streams)).toBe(2);
    expect(err).toContain('no such folder');
    expect(await readFile(join(golden, 'README.md'), 'utf8')).toContain('greedy_0');
  });
});
