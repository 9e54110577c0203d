/**
 * Features of pairs in deployed state, made exactly as those of rollouts are, and the direction that a gate gets from them
 * (docs/science.md, section 4). The two completions of a pair share its prompt. Pairs whose clean side scores at least as high as
 * their hack side are counted, and named by their index.
 */
import type { Features, TokenPair } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import {
  buildDirection,
  type Cuts,
  type DirectionOptions,
  type Gate,
  pairDirection,
  type ScoreKind,
  scoreFeatures,
} from '../gates/index.ts';
import { average } from '../stats/index.ts';
import type { FeatureKind, Granularity, NewDirection } from './arm.ts';
import { joinFeatures, type Keep, type Policy, poolActivations, probeGradients } from './policy.ts';
import type { PromptedCompletion } from './rollout.ts';

/** Features of both sides of the pairs; row i belongs to pair i. */
export interface PairFeatures {
  readonly hack: Features;
  readonly clean: Features;
}

/** The completions of pair i as group i: first the hack, then the clean one. */
function pairCompletions(pairs: readonly TokenPair[]): PromptedCompletion[] {
  return pairs.flatMap(({ prompt, hack, clean }, group) => [
    { group, prompt, tokens: hack },
    { group, prompt, tokens: clean },
  ]);
}

export async function pairFeatures(
  policy: Policy,
  pairs: readonly TokenPair[],
  { kind, tokensPerPass }: { readonly kind: FeatureKind; readonly tokensPerPass: number },
): Promise<PairFeatures> {
  if (pairs.length === 0)
    throw new UserError({ call: 'features of pairs', expected: 'at least one pair', found: 'none' });
  const rows = await completionFeatures(policy, pairCompletions(pairs), {
    kind,
    tokensPerPass,
    granularity: 'rollout',
  });
  const side = (parity: 0 | 1): Features =>
    joinFeatures(
      policy.adapter,
      rows.filter((_, i) => i % 2 === parity),
    );
  return { hack: side(0), clean: side(1) };
}

interface FeatureOptions {
  readonly kind: FeatureKind;
  readonly tokensPerPass: number;
  readonly granularity: Granularity;
  readonly keep?: Keep;
}

/** Features of completions in deployed state, one row or one row per token for each. */
export function completionFeatures(
  policy: Policy,
  completions: readonly PromptedCompletion[],
  { kind, tokensPerPass, granularity, keep }: FeatureOptions,
): Promise<Float32Array[]> {
  const features = kind === 'gradient' ? probeGradients : poolActivations;
  return features(policy, completions, granularity, tokensPerPass, keep);
}

/** Mean scores of the tokens of the clean and of the hack sides, in which every completion counts the same. */
async function tokenBand(
  policy: Policy,
  pairs: readonly TokenPair[],
  score: (rows: Features) => Float64Array,
  options: Pick<FeatureOptions, 'kind' | 'tokensPerPass'>,
): Promise<Cuts> {
  const means: number[] = [];
  const keep: Keep = (rows, index) => {
    means[index] = average(score(rows));
    return new Float32Array();
  };
  await completionFeatures(policy, pairCompletions(pairs), { ...options, granularity: 'token', keep });
  const side = (parity: 0 | 1): number => average(means.filter((_, i) => i % 2 === parity));
  return { low: side(1), high: side(0) };
}

export interface RebuildOptions extends DirectionOptions {
  readonly kind: FeatureKind;
  readonly tokensPerPass: number;
}

/** Builds the direction from the pairs on the current policy, or its placebo, and gives it to the gate, with how it scores the pairs. */
export async function rebuildDirection(
  policy: Policy,
  pairs: readonly TokenPair[],
  gate: Gate,
  { kind, tokensPerPass, ...options }: RebuildOptions,
): Promise<NewDirection> {
  const { hack, clean } = await pairFeatures(policy, pairs, { kind, tokensPerPass });
  const direction = buildDirection(hack, clean, options);
  const { score, bufferTokens } = gate.settings;
  const scored = (rows: Features): Float64Array => scoreFeatures(rows, direction, score);
  const band = bufferTokens === null ? null : await tokenBand(policy, pairs, scored, { kind, tokensPerPass });
  const quality = gate.refresh(direction, hack, clean, band);
  return { quality, direction: direction.data, pairCuts: gate.pairCuts };
}

export interface LeaveOneOut {
  readonly pairedAccuracy: number;
  readonly wrongPairs: readonly number[];
}

/** Scores each pair by the direction of all the others: this tells whether pairs agree with each other. */
export function leaveOneOut(
  { hack, clean }: PairFeatures,
  { standardise, score }: { readonly standardise: boolean; readonly score: ScoreKind },
): LeaveOneOut {
  if (hack.rows < 2) {
    throw new UserError({ call: 'leave one pair out', expected: 'at least two pairs', found: `${hack.rows}` });
  }
  const wrongPairs = Array.from({ length: hack.rows }, (_, i) => i).filter((i) => {
    const direction = pairDirection(withoutRow(hack, i), withoutRow(clean, i), { standardise });
    const [own] = scoreFeatures(onlyRow(hack, i), direction, score);
    const [other] = scoreFeatures(onlyRow(clean, i), direction, score);
    return !(own > other);
  });
  return { pairedAccuracy: 1 - wrongPairs.length / hack.rows, wrongPairs };
}

function onlyRow({ modules, rank, data }: Features, row: number): Features {
  const width = modules * rank;
  return { rows: 1, modules, rank, data: data.subarray(row * width, (row + 1) * width) };
}

function withoutRow({ rows, modules, rank, data }: Features, row: number): Features {
  const width = modules * rank;
  const rest = new Float32Array((rows - 1) * width);
  rest.set(data.subarray(0, row * width));
  rest.set(data.subarray((row + 1) * width), row * width);
  return { rows: rows - 1, modules, rank, data: rest };
}
