/**
 * `gq verify parity` on folders of other shapes, ranks, seeds and lengths than the stored ones, written here from the reference device
 * and checked on wasm: nothing about test/golden may be built into the command.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Matrix } from 'ml-matrix';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cayleyRotation, cordaBasis, leadingSvd, signedDirection, toMatrix } from '../src/adapters/basis.ts';
import {
  ActivationPooling,
  createAdapter,
  gradientFeatures,
  type Route,
  routeGroups,
  scaleGroups,
  writeCheckpoint,
} from '../src/adapters/index.ts';
import { transpose } from '../src/adapters/transpose.ts';
import { randomStream } from '../src/base/rng.ts';
import { AdamW, linear, readFloats, Scope, Tape, type Tensor } from '../src/engine/index.ts';
import { createReferenceDevice } from '../src/engine/reference/index.ts';
import { createWasmDevice } from '../src/engine/wasm/index.ts';
import { tokenLoss } from '../src/grpo/loss.ts';
import {
  type Decoder,
  type DecoderConfig,
  generate,
  greedy,
  initialTensors,
  ModelFolder,
  modelPresets,
  packGroups,
  packRows,
  SafetensorsFile,
  scoreGroups,
  writeModelFolder,
  writeSafetensors,
} from '../src/model/index.ts';
import { verifyParity } from '../src/verify/parity.ts';
import { openDecoder } from '../src/verify/parity-model.ts';

type Values = Readonly<Record<string, { shape: number[]; data: ArrayLike<number>; integers?: true }>>;

async function writeValues(path: string, values: Values): Promise<void> {
  const tensors = Object.entries(values).map(([name, { shape, data, integers }]) => {
    const stored = integers ? Int32Array.from(data) : Float32Array.from(data);
    return { name, dtype: integers ? ('I32' as const) : ('F32' as const), shape, data: () => stored };
  });
  await writeSafetensors(path, tensors);
}

const device = createReferenceDevice({ arenaBytes: 2 ** 26 });
const config: DecoderConfig = {
  ...modelPresets.nano,
  vocabSize: 37,
  hiddenSize: 20,
  layers: 3,
  heads: 6,
  kvHeads: 3,
  headDim: 4,
  intermediateSize: 28,
  maxPositions: 48,
};
const tokens = (name: string, row: number, count: number): Int32Array => {
  const ids = new Int32Array(count);
  randomStream(8, name).at(0, row).fillIntegers(ids, config.vocabSize);
  return ids;
};
const pad = (row: ArrayLike<number>, width: number): number[] => [
  ...Array.from(row),
  ...new Array<number>(width - row.length).fill(0),
];

async function writeOutputs(directory: string, decoder: Decoder): Promise<void> {
  const lengths = [5, 9];
  const rows = lengths.map((length, row) => tokens('row', row, length));
  using tape = new Tape(device);
  const hidden = decoder.forward(tape, packRows(tape, config, rows));
  const logits = await readFloats(linear(tape, hidden, decoder.head));
  const groups = rows.map((row) => ({ prompt: row.slice(0, 1), completions: [row.slice(1)] }));
  const logps = await readFloats(scoreGroups(tape, decoder, packGroups(tape, config, groups)));
  const prompt = rows[0].slice(0, 2);
  const settings = { ...greedy, maxNewTokens: 6, stopTokens: [] };
  const [{ tokens: more }] = await generate(decoder, [{ prompt, row: 0, scale: 1 }], settings, {
    stream: randomStream(0, 'x'),
  });
  const V = config.vocabSize;
  await writeValues(join(directory, 'io.safetensors'), {
    input_ids: { shape: [2, 9], data: rows.flatMap((row) => pad(row, 9)), integers: true },
    lengths: { shape: [2], data: lengths, integers: true },
    logits: { shape: [2, 9, V], data: [...pad(logits.subarray(0, 5 * V), 9 * V), ...logits.subarray(5 * V)] },
    token_logps: { shape: [2, 8], data: [...pad(logps.subarray(0, 4), 8), ...logps.subarray(4)] },
    greedy_0: { shape: [8], data: [...prompt, ...more], integers: true },
  });
}

const rank = 2;
const targets = ['q_proj', 'down_proj'];
const constants = { clip: 0.1, kl_beta: 0.05, max_new: 7, groups: 1, group: 4 };
const adam = { lr: 0.01, betas: [0.8, 0.95], eps: 1e-8, grad_clip: 0.5, decay_to_init: 0.2 };

async function writeStep(directory: string, decoder: Decoder): Promise<void> {
  using scope = new Scope(device);
  const adapter = await createAdapter(scope, decoder, { family: 'lora', rank, seed: 12, targets });
  const moved = await adapter.tensors();
  for (const [name, { data }] of moved) {
    const noise = new Float32Array(data.length);
    randomStream(13, name).fillNormal(noise, 0.2);
    if (/\.[AB]$/.test(name)) for (let i = 0; i < data.length; i++) data[i] += noise[i];
  }
  adapter.load(moved);
  const lengths = [3, 5, 2, 4];
  const prompt = tokens('prompt', 0, 4);
  const completions = lengths.map((length, row) => tokens('completion', row, length));
  const packed = packGroups(
    scope,
    config,
    completions.map((row) => ({ prompt, completions: [row] })),
  );
  const width = 6;
  const spread = (flat: Float32Array): number[] =>
    packed.scored.flatMap(({ start, end }) => pad(flat.subarray(start, end), width));
  const scored = async (scale: number | null): Promise<Float32Array> => {
    using tape = new Tape(device);
    if (scale === null) return await readFloats(scoreGroups(tape, decoder, packed));
    const coefficients = scaleGroups(tape, packed, new Array<number>(4).fill(scale));
    return await readFloats(scoreGroups(tape, decoder, packed, { project: adapter.project({ coefficients }) }));
  };
  const [full, deployed, base] = [await scored(1), await scored(0), await scored(null)];
  const old = full.map((value, t) => value + 0.1 * Math.sin(t));
  const pooling = new ActivationPooling(scope, adapter, packed.completions);
  {
    using tape = new Tape(device);
    const coefficients = scaleGroups(tape, packed, [0, 0, 0, 0]);
    const probe = (module: string) => pooling.probe(module);
    scoreGroups(tape, decoder, packed, { project: adapter.project({ coefficients, probe }) });
  }
  const routes: Route[] = ['route', 'keep', 'absorb', 'route'];
  const advantages = [1, -0.5, 0.25, -0.75];
  using optimiser = new AdamW(adapter.parameters);
  using tape = new Tape(device, { learn: optimiser.learn });
  const coefficients = routeGroups(tape, packed, routes, 'branch');
  const logp = scoreGroups(tape, decoder, packed, { project: adapter.project({ coefficients }) });
  const vector = (data: ArrayLike<number>): Tensor => tape.from(Float32Array.from(data), [logp.size], 'values');
  const { loss, k3 } = tokenLoss(
    tape,
    {
      logp,
      logpOld: vector(old),
      logpBase: vector(base),
      advantage: vector(lengths.flatMap((length, row) => new Array<number>(length).fill(advantages[row]))),
      weight: vector(new Array<number>(logp.size).fill(1 / (4 * 7))),
    },
    { clip: constants.clip, klWeight: constants.kl_beta },
  );
  const [masked, kl, lossValue] = [await readFloats(logp), await readFloats(k3), await readFloats(loss)];
  tape.backward(loss);
  const norm = async (block: 'deployed' | 'quarantine'): Promise<number> => {
    const parts = await Promise.all(adapter.blockGradients(block).map(readFloats));
    return Math.hypot(...parts.flatMap((part) => [...part]));
  };
  const [d, q] = [await norm('deployed'), await norm('quarantine')];
  const modules = adapter.modules.length;
  await writeValues(join(directory, 'grpo.safetensors'), {
    prompt_ids: { shape: [4], data: prompt, integers: true },
    completion_ids: { shape: [4, width], data: completions.flatMap((row) => pad(row, width)), integers: true },
    completion_lengths: { shape: [4], data: lengths, integers: true },
    zone_m: { shape: [4], data: routes.map((route) => (route === 'keep' ? 0 : 1)) },
    zone_d: { shape: [4], data: routes.map((route) => (route === 'route' ? 1 : 0)) },
    advantages: { shape: [4], data: advantages },
    logp_full: { shape: [4, width], data: spread(full) },
    logp_deployed: { shape: [4, width], data: spread(deployed) },
    logp_base: { shape: [4, width], data: spread(base) },
    logp_masked: { shape: [4, width], data: spread(masked) },
    logp_old: { shape: [4, width], data: spread(old) },
    kl: { shape: [4, width], data: spread(kl) },
    loss: { shape: [1], data: lossValue },
    grad_norm: { shape: [1], data: [Math.hypot(d, q)] },
    qmass: { shape: [1], data: [q / (d + q)] },
    pooled_act: { shape: [4, modules, rank], data: (await pooling.read()).data },
    probe_grad: { shape: [4, modules, rank], data: (await gradientFeatures(scope, decoder, adapter, packed)).data },
  });
  const values: Record<string, Values[string]> = {};
  for (const [name, { shape, data }] of moved) values[name] = { shape: [...shape], data };
  const keep = async (suffix: 'grad' | 'stepped'): Promise<void> => {
    for (const { name, value, gradient } of adapter.parameters) {
      const data = await readFloats(suffix === 'grad' ? gradient : value);
      const [rows, columns] = value.shape;
      const turned = name.endsWith('.B');
      values[`${name}.${suffix}`] = {
        shape: turned ? [columns, rows] : [rows, columns],
        data: turned ? transpose(data, rows, columns) : data,
      };
    }
  };
  await keep('grad');
  const [beta1, beta2] = adam.betas;
  const step = { learningRate: adam.lr, beta1, beta2, epsilon: adam.eps, decay: adam.decay_to_init };
  optimiser.update(1, { ...step, maxNorm: adam.grad_clip });
  await keep('stepped');
  await writeValues(join(directory, 'adapter.safetensors'), values);
  await writeFile(join(directory, 'grpo.json'), JSON.stringify({ rank, targets, ...constants, ...adam }));
}

async function writeBasis(directory: string): Promise<void> {
  await mkdir(directory);
  const random = (name: string, rows: number, columns: number): Matrix => {
    const data = new Float32Array(rows * columns);
    randomStream(21, name).fillNormal(data);
    return toMatrix(data, rows, columns);
  };
  const [W, deltas, X] = [random('W', 9, 6), random('deltas', 8, 6), random('X', 2, 2)];
  const weight = { data: Float32Array.from(W.to1DArray()), rows: W.rows, columns: W.columns };
  const [svd, corda] = [leadingSvd(W, 6), await cordaBasis(weight, deltas, 0.02, 4)];
  const flip = Matrix.diag([1, -1, 1, -1]);
  const { input, output } = signedDirection(weight, deltas);
  const matrix = (value: Matrix) => ({ shape: [value.rows, value.columns], data: value.to1DArray() });
  const vector = (data: readonly number[]) => ({ shape: [data.length], data });
  await writeValues(join(directory, 'io.safetensors'), {
    W: matrix(W),
    deltas: matrix(deltas),
    svd_U: matrix(svd.U),
    svd_S: vector(svd.S),
    svd_Vh: matrix(svd.V),
    corda_U: matrix(corda.U.mmul(flip)),
    corda_S: vector(corda.S),
    corda_V: matrix(flip.mmul(corda.V)),
    signed_in: vector(input),
    signed_out: vector(output),
    cayley_X: matrix(X),
    cayley_R: matrix(cayleyRotation(X)),
  });
  await writeFile(join(directory, 'io.json'), JSON.stringify({ rank: 2, ridge: 0.02 }));
}

describe('cases of other shapes', () => {
  let home = '';
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'gq-shapes-'));
    const directory = join(home, 'seven');
    const tensors = initialTensors(config, 3).map((tensor) => ({
      ...tensor,
      data: () => {
        const data = new Float32Array(tensor.shape.reduce((product, axis) => product * axis, 1));
        randomStream(3, tensor.name).fillNormal(data, 0.3);
        return data;
      },
    }));
    await writeModelFolder(directory, { config, tensors, tokenizer: null });
    using scope = new Scope(device);
    await using folder = await ModelFolder.open(directory);
    const decoder = await openDecoder(scope, folder);
    await writeOutputs(directory, decoder);
    await writeStep(directory, decoder);
    await writeBasis(join(home, 'directions'));
  });
  afterAll(() => rm(home, { recursive: true, force: true }));

  it('pass on wasm, one check per tensor', async () => {
    using wasm = await createWasmDevice({ threads: 1, arenaBytes: 2 ** 26 });
    const { checks, notes } = await verifyParity(wasm, home);
    expect(checks.filter(({ pass }) => !pass)).toEqual([]);
    expect(notes).toEqual([{ case: 'seven', note: 'not read: generation_config.json' }]);
    // There are 3 layers with 2 targets each: 4 checks per module, 3 of the outputs, 4 log-probabilities, 6 others; 9 of the bases.
    expect(checks.length).toBe(4 * 6 + 3 + 4 + 6 + 9);
    expect(checks.some(({ maxAbs }) => maxAbs > 0)).toBe(true);
  });

  it('a checkpoint beside them is noted as unread', async () => {
    using scope = new Scope(device);
    await using folder = await ModelFolder.open(join(home, 'seven'));
    const adapter = await createAdapter(scope, await openDecoder(scope, folder), {
      family: 'pissa',
      rank,
      seed: 1,
      targets,
    });
    const path = join(home, 'seven', 'later.safetensors');
    await writeCheckpoint(path, adapter);
    const { notes } = await verifyParity(device, join(home, 'seven'));
    expect(notes.map(({ note }) => note)).toContain('not read: later.safetensors');
    await using file = await SafetensorsFile.open(path);
    expect(file.metadata['family']).toBe('pissa');
  });
});
