/**
 * A stored GRPO step against this project's: log-probabilities of every state and under the routes, features, loss, every
 * gradient, and one optimiser step. The step starts from the stored gradients where there are some: the first step of Adam
 * is nearly the sign of the gradient, so it would magnify the rounding of elements near zero without bound, and the
 * gradients have their own checks.
 */
import { join } from 'node:path';
import { z } from 'zod';
import {
  ActivationPooling,
  gradientFeatures,
  LinearAdapter,
  type Route,
  routeGroups,
  type StoredTensor,
  scaleGroups,
  targetModules,
  transpose,
} from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import { AdamW, type Device, type Parameter, readFloats, Scope, Tape, type Tensor } from '../engine/index.ts';
import { tokenLoss } from '../grpo/index.ts';
import {
  type Decoder,
  ModelFolder,
  type PackedGroups,
  packGroups,
  parseFields,
  readJsonObject,
  scoreGroups,
} from '../model/index.ts';
import { type Check, compareAbsolute, compareNorm, compareRelative, failedCheck } from './check.ts';
import { missingFiles, StoredCase } from './parity-files.ts';
import { type CaseReport, logitBound, openDecoder } from './parity-model.ts';

const lossBound = 1e-5;
const gradientBound = 1e-4;
const stepBound = 1e-6;

export const grpoFiles = ['grpo.json', 'grpo.safetensors', 'adapter.safetensors'];

interface GrpoSettings {
  readonly rank: number;
  readonly clip: number;
  readonly klWeight: number;
  readonly maxNewTokens: number;
  readonly group: number;
  readonly groups: number;
  readonly targets: readonly string[];
  readonly learningRate: number;
  readonly betas: readonly [number, number];
  readonly epsilon: number;
  readonly gradientClip: number;
  readonly decay: number;
}

const number = z.number({ error: 'a number' });
const count = z.int({ error: 'a whole number ≥ 1' }).min(1, { error: 'a whole number ≥ 1' });
const settingsFile = z.object({
  rank: count,
  clip: number,
  kl_beta: number,
  max_new: count,
  group: count,
  groups: count,
  targets: z.array(z.string(), { error: 'names of linear layers' }),
  lr: number,
  betas: z.tuple([number, number], { error: 'two numbers' }),
  eps: number,
  grad_clip: number,
  decay_to_init: number,
});

async function readSettings(directory: string): Promise<GrpoSettings> {
  const file = join(directory, 'grpo.json');
  const read = parseFields(settingsFile, await readJsonObject(file), file);
  const { rank, clip, group, groups, targets, betas } = read;
  return {
    ...{ rank, clip, group, groups, targets, betas },
    klWeight: read.kl_beta,
    maxNewTokens: read.max_new,
    learningRate: read.lr,
    epsilon: read.eps,
    gradientClip: read.grad_clip,
    decay: read.decay_to_init,
  };
}

/** What every part of the case reads. */
interface GrpoCase {
  readonly name: string;
  readonly scope: Scope;
  readonly decoder: Decoder;
  readonly adapter: LinearAdapter;
  readonly packed: PackedGroups;
  readonly settings: GrpoSettings;
  readonly stored: StoredCase;
  readonly tensors: ReadonlyMap<string, StoredTensor>;
  readonly lengths: Int32Array;
}

/** Which gradients the optimiser step starts from. */
export type StepFrom = 'stored' | 'own';

export async function verifyGrpo(
  device: Device,
  directory: string,
  name: string,
  stepFrom: StepFrom = 'stored',
): Promise<CaseReport> {
  const missing = missingFiles(directory, grpoFiles);
  if (missing.length > 0) return { checks: missing.map((file) => failedCheck(name, file, 'no such file')), notes: [] };
  const settings = await readSettings(directory);
  using scope = new Scope(device);
  await using folder = await ModelFolder.open(directory);
  await using stored = await StoredCase.open(directory, 'grpo.safetensors');
  await using adapterFile = await StoredCase.open(directory, 'adapter.safetensors');
  const decoder = await openDecoder(scope, folder);
  const tensors = await readTensors(adapterFile);
  const modules = targetModules(folder.config, settings.targets);
  const adapter = new LinearAdapter(scope, 'lora', settings.rank, modules, (module) => ({
    A0: expectTensor(tensors, `${module.name}.A0`).data,
    B0: expectTensor(tensors, `${module.name}.B0`).data,
  }));
  adapter.load(tensors);
  const lengths = await stored.integers('completion_lengths');
  const prompt = await stored.integers('prompt_ids');
  const completions = await stored.integerRows('completion_ids', lengths);
  const groups = completions.map((completion) => ({ prompt, completions: [completion] }));
  const packed = packGroups(scope, folder.config, groups);
  const all: GrpoCase = { name, scope, decoder, adapter, packed, settings, stored, tensors, lengths };
  const checks = [
    ...(await verifyLoopholes(all)),
    ...(await verifyFeatures(all)),
    ...(await verifyStep(all, stepFrom)),
  ];
  stored.ignore('rewards', 'sampled_deployed');
  const unread = [...stored.unread(), ...unknownTensors(tensors, adapter)];
  return { checks, notes: unread.map((tensor) => `not compared: ${tensor}`) };
}

async function readTensors(file: StoredCase): Promise<Map<string, StoredTensor>> {
  const tensors = new Map<string, StoredTensor>();
  for (const name of file.names) tensors.set(name, { shape: file.shape(name), data: await file.floats(name) });
  return tensors;
}

function expectTensor(tensors: ReadonlyMap<string, StoredTensor>, name: string): StoredTensor {
  const tensor = tensors.get(name);
  if (tensor !== undefined) return tensor;
  throw new UserError({ call: 'read adapter.safetensors', expected: `a tensor ${name}`, found: 'none' });
}

function unknownTensors(tensors: ReadonlyMap<string, StoredTensor>, { modules }: LinearAdapter): string[] {
  const suffixes = ['A', 'B', 'A0', 'B0', 'A.grad', 'B.grad', 'A.stepped', 'B.stepped'];
  const known = new Set(modules.flatMap(({ name }) => suffixes.map((suffix) => `${name}.${suffix}`)));
  return [...tensors.keys()].filter((name) => !known.has(name)).map((name) => `adapter.safetensors: ${name}`);
}

async function scored({ scope, decoder, adapter, packed }: GrpoCase, scale: number | null): Promise<Float32Array> {
  using tape = new Tape(scope.device);
  if (scale === null) return readFloats(scoreGroups(tape, decoder, packed));
  const coefficients = scaleGroups(tape, packed, new Array<number>(packed.prompts.length).fill(scale));
  return readFloats(scoreGroups(tape, decoder, packed, { project: adapter.project({ coefficients }) }));
}

async function verifyLoopholes(all: GrpoCase): Promise<Check[]> {
  const checks: Check[] = [];
  for (const [state, scale] of [
    ['full', 1],
    ['deployed', 0],
    ['base', null],
  ] as const) {
    const expected = await all.stored.floatRows(`logp_${state}`, all.lengths);
    checks.push(compareAbsolute(all.name, `logp_${state}`, await scored(all, scale), expected, logitBound));
  }
  return checks;
}

async function verifyFeatures({ name, scope, decoder, adapter, packed, stored }: GrpoCase): Promise<Check[]> {
  const checks: Check[] = [];
  if (stored.has('pooled_act')) {
    using features = new Scope(scope.device);
    using tape = new Tape(scope.device);
    const pooling = new ActivationPooling(features, adapter, packed.completions);
    const coefficients = scaleGroups(tape, packed, new Array<number>(packed.prompts.length).fill(0));
    scoreGroups(tape, decoder, packed, {
      project: adapter.project({ coefficients, probe: (module) => pooling.probe(module) }),
    });
    const { data } = await pooling.read();
    checks.push(compareAbsolute(name, 'pooled_act', data, await stored.floats('pooled_act'), logitBound));
  }
  if (stored.has('probe_grad')) {
    using inner = new Scope(scope.device);
    const { data } = await gradientFeatures(inner, decoder, adapter, packed);
    checks.push(compareNorm(name, 'probe_grad', data, await stored.floats('probe_grad'), gradientBound));
  }
  return checks;
}

/** (m, d) of the layout: keep (0, 0), absorb (1, 0), route (1, 1). */
async function readRoutes(stored: StoredCase): Promise<Route[]> {
  const [m, d] = [await stored.floats('zone_m'), await stored.floats('zone_d')];
  return Array.from(m, (quarantineIn, row) => (quarantineIn === 0 ? 'keep' : d[row] === 0 ? 'absorb' : 'route'));
}

async function verifyStep(all: GrpoCase, stepFrom: StepFrom): Promise<Check[]> {
  const { name, scope, adapter, settings } = all;
  using optimiser = new AdamW(adapter.parameters);
  optimiser.zeroGradients();
  const checks = await verifyLoss(all, optimiser);
  checks.push(...(await verifyGradients(all)));
  const options = {
    learningRate: settings.learningRate,
    beta1: settings.betas[0],
    beta2: settings.betas[1],
    epsilon: settings.epsilon,
    decay: settings.decay,
    maxNorm: settings.gradientClip,
  };
  for (const parameter of adapter.parameters) {
    const gradient = all.tensors.get(`${parameter.name}.grad`);
    if (gradient !== undefined && stepFrom === 'stored')
      scope.device.write(parameter.gradient, engineLayout(parameter, gradient));
  }
  optimiser.update(1, options);
  for (const parameter of adapter.parameters) {
    const stepped = expectTensor(all.tensors, `${parameter.name}.stepped`);
    const found = await readFloats(parameter.value);
    checks.push(compareAbsolute(name, `${parameter.name}.stepped`, found, engineLayout(parameter, stepped), stepBound));
  }
  return checks;
}

/** The engine keeps B transposed. */
function engineLayout({ name }: Parameter, { shape, data }: StoredTensor): Float32Array {
  return name.endsWith('.B') ? transpose(data, shape[0], shape[1]) : data;
}

/** Forward under the routes, the loss, and its backward pass into the gradients. */
async function verifyLoss(all: GrpoCase, optimiser: AdamW): Promise<Check[]> {
  const { name, scope, decoder, adapter, packed, settings, stored, lengths } = all;
  using tape = new Tape(scope.device, { learn: optimiser.learn });
  const coefficients = routeGroups(tape, packed, await readRoutes(stored), 'branch');
  const logp = scoreGroups(tape, decoder, packed, { project: adapter.project({ coefficients }) });
  const tensor = (data: Float32Array, label: string): Tensor => tape.from(data, [logp.size], label);
  const advantages = await stored.floats('advantages');
  const perToken = Array.from(lengths, (length, row) => new Array<number>(length).fill(advantages[row]));
  const { group, groups, maxNewTokens, clip, klWeight } = settings;
  const weight = 1 / (group * groups * maxNewTokens);
  const inputs = {
    logp,
    logpOld: tensor(await stored.floatRows('logp_old', lengths), 'old'),
    logpBase: tensor(await stored.floatRows('logp_base', lengths), 'reference'),
    advantage: tensor(Float32Array.from(perToken.flat()), 'advantage'),
    weight: tensor(new Float32Array(logp.size).fill(weight), 'weight'),
  };
  const { loss, k3 } = tokenLoss(tape, inputs, { clip, klWeight });
  const checks = [
    compareAbsolute(
      name,
      'logp_masked',
      await readFloats(logp),
      await stored.floatRows('logp_masked', lengths),
      logitBound,
    ),
    compareAbsolute(name, 'kl', await readFloats(k3), await stored.floatRows('kl', lengths), logitBound),
    compareRelative(name, 'loss', await readFloats(loss), await stored.floats('loss'), lossBound),
  ];
  tape.backward(loss);
  return checks;
}

async function verifyGradients({ name, adapter, stored, tensors }: GrpoCase): Promise<Check[]> {
  const checks: Check[] = [];
  for (const parameter of adapter.parameters) {
    const found = await readFloats(parameter.gradient);
    const expected = engineLayout(parameter, expectTensor(tensors, `${parameter.name}.grad`));
    checks.push(compareNorm(name, `${parameter.name}.grad`, found, expected, gradientBound));
  }
  const deployed = await normOf(adapter.blockGradients('deployed'));
  const quarantine = await normOf(adapter.blockGradients('quarantine'));
  const norm = Math.hypot(deployed, quarantine);
  checks.push(compareRelative(name, 'grad_norm', [norm], await stored.floats('grad_norm'), gradientBound));
  const share = quarantine / (deployed + quarantine);
  checks.push(compareRelative(name, 'qmass', [share], await stored.floats('qmass'), gradientBound));
  return checks;
}

async function normOf(tensors: readonly Tensor[]): Promise<number> {
  let squares = 0;
  for (const tensor of tensors) for (const value of await readFloats(tensor)) squares += value * value;
  return Math.sqrt(squares);
}
