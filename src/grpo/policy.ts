/**
 * The policy: a frozen decoder with an adapter, and the ways training looks at it. `deployedScale` is the quarantine's
 * scale in deployed state: 0 for split adapters, 1 for vanilla, which deploys everything it trained.
 */
import { createHash, webcrypto } from 'node:crypto';
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
import { sha256 } from '../base/node/index.ts';
import { readFloats, Scope, Tape, type Tensor } from '../engine/index.ts';
import type { Decoder, PackedGroups, Span } from '../model/index.ts';
import { forwardGroups, scoreGroups } from '../model/index.ts';
import type { Arm, Granularity } from './arm.ts';
import { cutPasses, type PackedPass, type PassGroup, packPass, queueAhead } from './batches.ts';
import type { PromptedCompletion } from './rollout.ts';

export interface Policy {
  readonly decoder: Decoder;
  readonly adapter: Adapter;
  readonly deployedScale: number;
  /** Whether passes that learn discard activations that are cheap to compute again. */
  readonly recompute?: boolean;
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
  { decoder, adapter }: Policy,
  rollouts: readonly PromptedCompletion[],
  scales: (index: number) => number | 'base',
  { tokensPerPass, pool = null, keep = keepAll }: { tokensPerPass: number; pool?: Granularity | null; keep?: Keep },
): Promise<Scored> {
  const logps: Float32Array[] = new Array(rollouts.length);
  const features: Float32Array[] = [];
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
    await queueAhead(passes, (pass) => {
      using scope = new Scope(decoder.head.device);
      const laid = packPass(scope, decoder.config, read, pass, { merge: true, trim: true });
      return readFloats(scorePass(scope, { decoder, adapter }, laid.packed, pass)).then((values) => take(values, laid));
    });
    return { logps, features };
  }
  for (const pass of passes) {
    using scope = new Scope(decoder.head.device);
    const laid = packPass(scope, decoder.config, read, pass, { merge: true });
    const pooling = new ActivationPooling(scope, adapter, featureSpans(laid.packed, pool), laid.packed.laid);
    const probe = (module: string) => pooling.probe(module);
    take(await readFloats(scorePass(scope, { decoder, adapter }, laid.packed, pass, probe)), laid);
    for (const { index: member, rows } of splitRows(await pooling.read(), laid.packed, laid.members, pool)) {
      for (const index of sets[member]) features[index] = keep(rows, index);
    }
  }
  return { logps, features };
}

/** log π of a pass's scored tokens, in `scope`: each group under its scale, or all without the adapter. */
function scorePass(
  scope: Scope,
  { decoder, adapter }: Pick<Policy, 'decoder' | 'adapter'>,
  packed: PackedGroups,
  pass: readonly PassGroup<number | 'base'>[],
  probe?: NonNullable<AdapterPass['probe']>,
): Tensor {
  const tape = new Tape(scope.device);
  scope.defer(() => tape[Symbol.dispose]());
  const scales = pass.map(({ key }) => key).filter((key) => key !== 'base');
  if (scales.length < pass.length) return scoreGroups(tape, decoder, packed);
  const coefficients = scaleGroups(scope, packed, scales);
  const project = adapter.project({ coefficients, ...(probe === undefined ? {} : { probe }) });
  if (packed.ends === null) return scoreGroups(tape, decoder, packed, { project });
  const endProject = adapter.project({ coefficients: scaleGroups(scope, packed.ends, scales) });
  return scoreGroups(tape, decoder, packed, { project, endProject });
}

/** Activation features (docs/science.md, section 4) in deployed state. No feature needs the head, so it is not computed. */
export async function poolActivations(
  { decoder, adapter, deployedScale }: Policy,
  rollouts: readonly PromptedCompletion[],
  granularity: Granularity,
  tokensPerPass: number,
  keep: Keep = keepAll,
): Promise<Float32Array[]> {
  const features: Float32Array[] = [];
  using _held = adapter.hold();
  const scale = scaleOf('deployed', deployedScale);
  for (const pass of cutPasses(rollouts, () => scale, tokensPerPass)) {
    using scope = new Scope(decoder.head.device);
    using tape = new Tape(scope.device);
    const { packed, members } = packPass(scope, decoder.config, rollouts, pass, { merge: true });
    const pooling = new ActivationPooling(scope, adapter, featureSpans(packed, granularity), packed.laid);
    const coefficients = scaleGroups(
      scope,
      packed,
      pass.map(() => scale),
    );
    const project = adapter.project({ coefficients, probe: (module) => pooling.probe(module) });
    forwardGroups(tape, decoder, packed, { project });
    for (const { index, rows } of splitRows(await pooling.read(), packed, members, granularity)) {
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

/** Bytes above which a tensor is hashed by another thread: below, handing it over takes longer than hashing it. */
const mostBytesHere = 16_384;

export async function hashValues(tensors: readonly Tensor[]): Promise<string> {
  const digests = await Promise.all(
    tensors.map(async (tensor) => {
      const values = await readFloats(tensor);
      if (values.byteLength <= mostBytesHere) return createHash('sha256').update(values).digest();
      return new Uint8Array(await webcrypto.subtle.digest('SHA-256', values));
    }),
  );
  return sha256(Buffer.concat(digests));
}
