/** Checks on what an arm's hooks answer, made before an answer is used: a wrong one would go unnoticed into training. */

import type { Features } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import type { CondensedRows } from '../gates/index.ts';
import type { FeatureTerm, Prompts, Routing, Screening, Watched } from './arm.ts';
import { showValue } from './check-arm.ts';
import type { PromptedCompletion } from './rollout.ts';

/** A plain list of numbers will do. */
export function checkRewards(answer: unknown, count: number): Float32Array {
  const rewards = expectList('reward', answer, count);
  const bad = rewards.findIndex((reward) => typeof reward !== 'number' || !Number.isFinite(Math.fround(reward)));
  if (bad >= 0) refuse('reward', 'finite rewards', `${showValue(rewards[bad])} for rollout ${bad}`);
  return answer instanceof Float32Array ? answer : Float32Array.from(rewards as number[]);
}

export function checkWatched(answer: unknown, count: number): Watched {
  const asked = '{ scores, flagged, cut, abstentions, costs }';
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) refuse('watch', asked, showValue(answer));
  const { scores, flagged, cut = null, abstentions = {}, costs = {} } = answer as Partial<Watched>;
  const bad = expectList('watch', scores, count).findIndex((score) => score !== null && !isFiniteNumber(score));
  if (bad >= 0) refuse('watch', 'finite scores, or null', `${showValue(scores?.[bad])} for rollout ${bad}`);
  const unsure = expectList('watch', flagged, count).findIndex((flag) => typeof flag !== 'boolean');
  if (unsure >= 0) refuse('watch', 'true or false as flags', `${showValue(flagged?.[unsure])} for rollout ${unsure}`);
  if (cut !== null && !isFiniteNumber(cut)) refuse('watch', 'a finite cut, or null', showValue(cut));
  return { ...(answer as Watched), cut, abstentions, costs };
}

const screenings: readonly Screening[] = ['train', 'leave-out', 'silence', 'apart'];

export function checkScreening(answer: unknown, count: number): readonly Screening[] {
  const screening = expectList('screen', answer, count);
  const bad = screening.findIndex((word) => !(screenings as readonly unknown[]).includes(word));
  if (bad >= 0) refuse('screen', screenings.join(' or '), `${showValue(screening[bad])} for rollout ${bad}`);
  return screening as readonly Screening[];
}

export function checkCondensed(answer: unknown, { rows, modules, rank }: Features): CondensedRows {
  const { scores, meanCosine, kept } = (
    typeof answer === 'object' && answer !== null ? answer : {}
  ) as Partial<CondensedRows>;
  const whole = kept instanceof Float32Array && kept.length % (modules * rank) === 0;
  if (!(scores instanceof Float64Array) || scores.length !== rows || typeof meanCosine !== 'number' || !whole) {
    const expected = `{ scores: a Float64Array of ${rows}, meanCosine: a number, kept: whole rows in a Float32Array }`;
    refuse('condense', expected, showValue(answer), 'The hook is given the rows of one rollout.');
  }
  return { scores, meanCosine, kept };
}

export function checkTerm(answer: unknown, { rows, modules, rank }: Features): FeatureTerm {
  const { values, slopes } = (typeof answer === 'object' && answer !== null ? answer : {}) as Partial<FeatureTerm>;
  const bad = expectList('term', values, rows).findIndex((value) => !isFiniteNumber(value));
  if (bad >= 0) refuse('term', 'finite values', `${showValue(values?.[bad])} for rollout ${bad}`);
  const size = rows * modules * rank;
  if (slopes instanceof Float32Array && slopes.length === size && slopes.every(Number.isFinite)) {
    return answer as FeatureTerm;
  }
  return refuse('term', `slopes: a Float32Array of ${size} finite numbers`, showValue(slopes));
}

export function checkRouting(answer: unknown, rollouts: readonly PromptedCompletion[]): Routing {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) {
    refuse('route', '{ routes, scores, cuts, bufferRows }', showValue(answer));
  }
  const { routes, scores = null, cuts = null, bufferRows = 0, meanCosine = null } = answer as Partial<Routing>;
  const count = rollouts.length;
  expectList('route', routes, count).forEach((own, i) => {
    checkRoutes(own, rollouts[i].tokens.length, i);
  });
  if (scores !== null) {
    const bad = expectList('route', scores, count).findIndex((score) => !isFiniteNumber(score));
    if (bad >= 0) refuse('route', 'finite scores', `${showValue(scores[bad])} for rollout ${bad}`);
  }
  if (cuts !== null && !(isFiniteNumber(cuts.low) && isFiniteNumber(cuts.high))) {
    refuse('route', 'cuts as { low, high }, or null', JSON.stringify(cuts) ?? showValue(cuts));
  }
  if (!isFiniteNumber(bufferRows)) refuse('route', 'a number of bufferRows', showValue(bufferRows));
  if (meanCosine !== null && !isFiniteNumber(meanCosine)) {
    refuse('route', 'a number as meanCosine, or null', showValue(meanCosine));
  }
  const checked = { routes: routes as Routing['routes'], scores, cuts, bufferRows };
  return meanCosine === null ? checked : { ...checked, meanCosine };
}

function checkRoutes(own: unknown, tokens: number, rollout: number): void {
  if (!Array.isArray(own)) refuse('route', `a list of routes for rollout ${rollout}`, showValue(own));
  if (own.length !== 1 && own.length !== tokens) {
    refuse('route', `one route or ${tokens} for rollout ${rollout}, one per token`, `${own.length}`);
  }
  const bad = own.find((route) => route !== 'keep' && route !== 'absorb' && route !== 'route');
  if (bad !== undefined) refuse('route', 'keep, absorb or route', `${showValue(bad)} for rollout ${rollout}`);
}

/** `vocabulary`: the number of tokens that the model knows. `limit`: the most tokens of a prompt, for which memory is planned. */
export function checkPrompts(answer: unknown, vocabulary: number, limit: number): Prompts {
  const { sample, learn } = (typeof answer === 'object' && answer !== null ? answer : {}) as Partial<Prompts>;
  for (const [name, tokens] of Object.entries({ sample, learn })) {
    if (!(tokens instanceof Int32Array) || tokens.length === 0) {
      refuse(
        'prompt',
        `token ids as ${name}: a non-empty Int32Array`,
        showValue(tokens),
        'ArmTools.tokenize makes them.',
      );
    }
    if (tokens.length > limit) {
      const fix = 'Shorten what the hook adds, or raise the key.';
      refuse('prompt', `at most ${limit} tokens in ${name} (sampling.maxPromptTokens)`, `${tokens.length}`, fix);
    }
    const bad = tokens.find((token) => token < 0 || token >= vocabulary);
    if (bad !== undefined)
      refuse('prompt', `token ids below ${vocabulary} in ${name}`, `${bad}`, 'ArmTools.tokenize makes them.');
  }
  return answer as Prompts;
}

const isFiniteNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

function expectList(hook: string, answer: unknown, count: number): readonly unknown[] {
  const isList = Array.isArray(answer) || ArrayBuffer.isView(answer);
  if (!isList) refuse(hook, `${count} answers, one per rollout`, showValue(answer));
  const list = Array.from(answer as ArrayLike<unknown>);
  if (list.length !== count) refuse(hook, `${count} answers, one per rollout`, `${list.length}`);
  return list;
}

function refuse(
  hook: string,
  expected: string,
  found: string,
  fix = 'The hook must return one answer for every rollout it was shown, in the same order.',
): never {
  throw new UserError({ call: `hook ${hook} of the arm`, expected, found, fix });
}
