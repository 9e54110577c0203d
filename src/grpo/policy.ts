/**
 * The policy: a frozen decoder with an adapter, and the ways training looks at it. `deployedScale` is the quarantine's
 * scale in deployed state: 0 for split adapters, 1 for vanilla, which deploys everything it trained.
 */
import type { Adapter, AdapterPass } from '../adapters/index.ts';
import {
  ActivationPooling,
  type Features,
  gradientFeatures,
  scaleGroups,
  scaleOf,
  scaleRows,
  steerAdapter,
  wholeRollouts,
} from '../adapters/index.ts';
import { digestNumbers, sha256 } from '../base/node/index.ts';
import { readFloats, Scope, type Tensor } from '../engine/index.ts';
import type { Decoder, PackedGroups, PackOptions, Span } from '../model/index.ts';
import type { Arm, Granularity } from './arm.ts';
import { cutPasses, groupsOf, membersOf, type PackedPass, type PassGroup, packPass, queueAhead } from './batches.ts';
import type { PromptedCompletion } from './rollout.ts';
import { type BegunPass, type PassWork, type PolicyWork, workAlone } from './work.ts';

export interface Policy {
  readonly decoder: Decoder;
  readonly adapter: Adapter;
  readonly deployedScale: number;
  /** Whether passes that learn discard activations that are cheap to compute again. */
  readonly recompute?: boolean;
  /** Who computes for it; default: this policy alone. */
  readonly work?: PolicyWork;
}

/** The policy as an arm steers it; without a steering hook, the policy itself. */
export function steerPolicy(policy: Policy, { steer }: Pick<Arm, 'steer'>): Policy {
  return steer === undefined ? policy : { ...policy, adapter: steerAdapter(policy.adapter, steer) };
}

/** The projection of a decoding batch, one quarantine scale per token. */
export function projectRows({ adapter }: Policy) {
  return (scope: Scope, scales: Float32Array) =>
    adapter.project({ coefficients: scaleRows(scope, Array.from(scales)) });
}

export interface Scored {
  readonly logps: Float32Array[];
  /** For each rollout: one row, or one per completion token; empty when none were asked for. */
  readonly features: Float32Array[];
}

/** What is kept of the rows of features of one rollout. The rows are a view into those of a whole pass, so they must be copied. */
export type Keep = (rows: Features, index: number) => Float32Array;

const keepAll: Keep = ({ data }) => data.slice();

/** Rollouts that a pass cannot tell apart, by the first of them: same prompt, same scale, same tokens. */
function equalRollouts(
  rollouts: readonly PromptedCompletion[],
  scales: (index: number) => number | 'base',
): readonly (readonly [first: number, ...others: number[]])[] {
  const sets = new Map<string, [number, ...number[]]>();
  rollouts.forEach(({ group, tokens }, index) => {
    const name = `${group} ${scales(index)} ${tokens.join()}`;
    const known = sets.get(name);
    if (known === undefined) sets.set(name, [index]);
    else known.push(index);
  });
  return [...sets.values()];
}

/**
 * Computes log π of every completion token, each rollout under its own scale, without gradients; activation features on request.
 * Equal rollouts are read once, and on a device with independent rows so is what rollouts of a prompt have in common.
 */
export async function scoreRollouts(
  policy: Policy,
  rollouts: readonly PromptedCompletion[],
  scales: (index: number) => number | 'base',
  { tokensPerPass, pool = null, keep = keepAll }: { tokensPerPass: number; pool?: Granularity | null; keep?: Keep },
): Promise<Scored> {
  const logps: Float32Array[] = new Array(rollouts.length);
  const features: Float32Array[] = [];
  const { adapter, work = workAlone } = policy;
  using _held = adapter.hold();
  const sets = equalRollouts(rollouts, scales);
  const read = sets.map(([first]) => rollouts[first]);
  const take = (values: Float32Array, { packed, members }: PackedPass): void =>
    members.forEach((member, i) => {
      const { start, end } = packed.scored[i];
      for (const index of sets[member]) logps[index] = values.slice(start, end);
    });
  const passes = cutPasses(read, (i) => scales(sets[i][0]), tokensPerPass);
  if (pool === null) {
    const score = (pass: ScaledPass) =>
      work.pass({
        ...readingOf(policy, read, pass, { merge: true, trim: true }),
        begin: (scope, packed) => ({
          ...projectsOf(scope, adapter, packed, pass),
          queue: (_tape, logp) => ({
            read: async () => take(await readFloats(logp), { packed, members: membersOf(pass) }),
          }),
        }),
      });
    await queueAhead(passes, score);
    return { logps, features };
  }
  for (const pass of passes) {
    const laid = await work.pass({
      ...readingOf(policy, read, pass, { merge: true }),
      begin: (scope, packed) => {
        const pooling = new ActivationPooling(scope, adapter, featureSpans(packed, pool), packed.laid);
        return {
          ...projectsOf(scope, adapter, packed, pass, (module) => pooling.probe(module)),
          queue: (_tape, logp) => ({
            read: async () => {
              const [values, pooled] = await Promise.all([readFloats(logp), pooling.read()]);
              take(values, { packed, members: membersOf(pass) });
              return { packed, pooled };
            },
          }),
        };
      },
    });
    for (const { index: member, rows } of splitRows(laid.pooled, laid.packed, membersOf(pass), pool)) {
      for (const index of sets[member]) features[index] = keep(rows, index);
    }
  }
  return { logps, features };
}

type ScaledPass = readonly PassGroup<number | 'base'>[];

/** A pass that learns nothing. */
function readingOf<Key>(
  { decoder }: Policy,
  rollouts: readonly PromptedCompletion[],
  pass: readonly PassGroup<Key>[],
  packing: PackOptions,
): Omit<PassWork<never>, 'begin'> {
  return { decoder, groups: groupsOf(rollouts, pass, true), packing, scores: true, recompute: false };
}

/** How a pass applies linear layers: each group under its scale, or all without the adapter. */
function projectsOf(
  scope: Scope,
  adapter: Adapter,
  packed: PackedGroups,
  pass: ScaledPass,
  probe?: NonNullable<AdapterPass['probe']>,
): Pick<BegunPass<never>, 'project' | 'endProject'> {
  const scales = pass.map(({ key }) => key).filter((key) => key !== 'base');
  if (scales.length < pass.length) return {};
  const coefficients = scaleGroups(scope, packed, scales);
  const project = adapter.project({ coefficients, ...(probe === undefined ? {} : { probe }) });
  if (packed.ends === null) return { project };
  return { project, endProject: adapter.project({ coefficients: scaleGroups(scope, packed.ends, scales) }) };
}

/** Activation features (docs/science.md, section 4) in deployed state. No feature needs the head, so it is not computed. */
export async function poolActivations(
  policy: Policy,
  rollouts: readonly PromptedCompletion[],
  granularity: Granularity,
  tokensPerPass: number,
  keep: Keep = keepAll,
): Promise<Float32Array[]> {
  const features: Float32Array[] = [];
  const { adapter, deployedScale, work = workAlone } = policy;
  using _held = adapter.hold();
  const scale = scaleOf('deployed', deployedScale);
  for (const pass of cutPasses(rollouts, () => scale, tokensPerPass)) {
    const { packed, pooled } = await work.pass({
      ...readingOf(policy, rollouts, pass, { merge: true }),
      scores: false,
      begin: (scope, packed) => {
        const pooling = new ActivationPooling(scope, adapter, featureSpans(packed, granularity), packed.laid);
        return {
          ...projectsOf(scope, adapter, packed, pass, (module) => pooling.probe(module)),
          queue: () => ({ read: async () => ({ packed, pooled: await pooling.read() }) }),
        };
      },
    });
    for (const { index, rows } of splitRows(pooled, packed, membersOf(pass), granularity)) {
      features[index] = keep(rows, index);
    }
  }
  return features;
}

/** Gradient features (docs/science.md, section 4) in deployed state; every rollout has its own copy of the prompt. */
export async function probeGradients(
  { decoder, adapter, recompute = false }: Policy,
  rollouts: readonly PromptedCompletion[],
  granularity: Granularity,
  tokensPerPass: number,
  keep: Keep = keepAll,
): Promise<Float32Array[]> {
  const features: Float32Array[] = [];
  using _held = adapter.hold();
  for (const pass of cutPasses(rollouts, () => 'deployed', tokensPerPass, false)) {
    using scope = new Scope(decoder.head.device);
    const { packed, members } = packPass(scope, decoder.config, rollouts, pass);
    const options =
      granularity === 'token'
        ? ({ spans: featureSpans(packed, 'token'), divisor: 'none', recompute } as const)
        : { spans: wholeRollouts(packed), recompute };
    const made = await gradientFeatures(scope, decoder, adapter, packed, options);
    for (const { index, rows } of splitRows(made, packed, members, granularity)) features[index] = keep(rows, index);
  }
  return features;
}

function featureSpans({ completions }: PackedGroups, granularity: Granularity): readonly Span[] {
  if (granularity === 'rollout') return completions;
  return completions.flatMap(({ start, end }) =>
    Array.from({ length: end - start }, (_, t) => ({ start: start + t, end: start + t + 1 })),
  );
}

/** The rows of each rollout, as views. */
function* splitRows(
  { modules, rank, data }: Features,
  { completions }: PackedGroups,
  members: readonly number[],
  granularity: Granularity | null,
): Generator<{ index: number; rows: Features }> {
  const width = modules * rank;
  let row = 0;
  for (const [i, index] of members.entries()) {
    const count = granularity === 'token' ? completions[i].end - completions[i].start : 1;
    const own = data.subarray(row * width, (row + count) * width);
    yield { index, rows: { rows: count, modules, rank, data: own } };
    row += count;
  }
}

/** The rows of several rollouts, one after another. */
export function joinFeatures({ modules, rank }: Adapter, rows: readonly Float32Array[]): Features {
  const width = modules.length * rank;
  const data = new Float32Array(rows.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const row of rows) {
    data.set(row, at);
    at += row.length;
  }
  return { rows: data.length / width, modules: modules.length, rank, data };
}

/**
 * A hash of every trainable value, which changes whenever the policy does. All values are requested at once, before the device is
 * given other work, and are hashed off this thread while it works.
 */
export function adapterHash({ adapter }: Policy): Promise<string> {
  return hashValues(adapter.parameters.map(({ value }) => value));
}

export async function hashValues(tensors: readonly Tensor[]): Promise<string> {
  const digests = await Promise.all(tensors.map(async (tensor) => digestNumbers(await readFloats(tensor))));
  return sha256(Uint8Array.from(digests.flatMap((digest) => [...digest])));
}
