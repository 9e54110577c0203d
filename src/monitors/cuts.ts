/**
 * The cuts of the package. `fixed`: a number. `fpr`: what at most a share of clean completions exceeds. `quantile`, `otsu` and `mixture`:
 * functions of the run's last scores, or of its last features, which the gate of src/gates scores anew. `pairs`: the band between the two
 * sides of the pairs, a gate's too. `own`: what a monitor gives itself.
 */
import { z } from 'zod';
import { readWhen } from '../base/index.ts';
import { otsuSplit } from '../gates/calibration.ts';
import { mixtureSplit } from '../gates/mixture.ts';
import { weightedQuantile } from '../stats/index.ts';
import {
  type ChosenCut,
  type CutDefinition,
  type CutInputs,
  chosenCut,
  defineCut,
  type FoundCut,
  mostScores,
} from './cut.ts';
import type { CutRule, KindTable } from './monitor.ts';

const count = z.number().int().min(0).max(1e7);
/** Only routing keeps anything, and only where it does not keep all the others anyway. */
const whereKept = readWhen({ 'arm.remedy.kind': 'route', 'arm.remedy.others': 'absorb' });

/** The keys of the memory that a cut of the run's scores, or a gate, is made from. */
export const memoryKeys = {
  halfLife: count.default(96).describe('half-life of a rollout in the memory, in rollouts; 0: no decay'),
  warmupRows: count.default(64).describe('rollouts that are needed before anything is flagged'),
  bufferRows: z.number().int().min(1).max(1e7).default(8192).describe('number of most recent rollouts in the memory'),
  bufferTokens: z
    .number()
    .int()
    .min(1)
    .max(1e5)
    .default(32)
    .describe('tokens of a rollout, at even distances, whose features are remembered; fewer if the rollout is shorter'),
};
const byToken = readWhen({ 'arm.monitor.granularity': 'token' });

const runKeys = {
  keepTail: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .default(null)
    .describe('a second cut: share of the scores in the lower tail, which routing keeps; null: one cut')
    .meta(whereKept),
  memory: z
    .enum(['scores', 'features'])
    .default('scores')
    .describe(
      'what is remembered; scores: those of all rollouts, as they were given; features: those of the rollouts that carry gradient, scored anew by the current direction',
    ),
  ...memoryKeys,
  bufferTokens: memoryKeys.bufferTokens.meta(byToken),
};
type RunKeys = z.infer<z.ZodObject<typeof runKeys>>;

export const tailKey: z.ZodDefault<z.ZodNumber> = z
  .number()
  .gt(0)
  .lt(0.5)
  .default(0.1)
  .describe('share of the scores in the upper tail, which is flagged');

/** The cut of remembered scores by a function that divides them, with the low side that `keepTail` asks for. */
function fromScores(
  scores: Float64Array,
  { warmupRows, halfLife, keepTail }: Pick<RunKeys, 'warmupRows' | 'halfLife' | 'keepTail'>,
  divide: (scores: Float64Array, weights: Float64Array) => number | null,
): FoundCut | null {
  if (scores.length < Math.max(2, warmupRows)) return null;
  const newest = scores.length - 1;
  const weights = scores.map((_, i) => (halfLife === 0 ? 1 : 0.5 ** ((newest - i) / halfLife)));
  const high = divide(scores, weights);
  if (high === null || keepTail === null) return high === null ? null : { high };
  return { high, low: Math.min(high, weightedQuantile(scores, weights, keepTail)) };
}

const fixed: CutDefinition = defineCut({
  kind: 'fixed',
  summary: 'a number',
  needs: 'nothing',
  settings: z.strictObject({
    threshold: z.number().default(0.5).describe('score above which a rollout is flagged'),
  }),
  words: ({ threshold }) => `above ${threshold}`,
  find: ({ threshold }) => ({ high: threshold }),
});

const fpr: CutDefinition = defineCut({
  kind: 'fpr',
  summary: 'the least score that at most a share of clean completions exceeds',
  needs: 'clean scores',
  settings: z.strictObject({
    flaggedClean: z
      .number()
      .min(0)
      .lt(1)
      .default(0.05)
      .describe('largest share of the clean sides of the pairs that is flagged'),
  }),
  words: ({ flaggedClean }) => `at FPR ${flaggedClean}`,
  find: ({ flaggedClean }, { clean }) => ({ high: fprCut(clean(), flaggedClean) }),
});

const quantile: CutDefinition = defineCut({
  kind: 'quantile',
  summary: "tails of the run's last scores",
  needs: 'scores',
  settings: z.strictObject({ tail: tailKey, ...runKeys }).superRefine(({ keepTail }, context) => {
    if (keepTail === null || keepTail < 0.5) return;
    const message = `expected a share below 0.5 with quantiles, found ${keepTail}`;
    context.addIssue({ code: 'custom', path: ['keepTail'], message });
  }),
  words: ({ tail }) => `upper ${tail}`,
  find: (own, { scores }) => fromScores(scores, own, (all, weights) => weightedQuantile(all, weights, 1 - own.tail)),
});

const otsu: CutDefinition = defineCut({
  kind: 'otsu',
  summary: "where the run's last scores divide in two parts of largest variance between them (Otsu)",
  needs: 'scores',
  settings: z.strictObject(runKeys),
  words: () => 'Otsu',
  find: (own, { scores }) => fromScores(scores, own, (all, weights) => otsuSplit(all, weights)?.below ?? null),
});

const mixture: CutDefinition = defineCut({
  kind: 'mixture',
  summary: "between two normal distributions fitted to the run's last scores",
  needs: 'scores',
  settings: z.strictObject(runKeys),
  words: () => 'mixture',
  find: (own, { scores }) => fromScores(scores, own, (all, weights) => mixtureSplit(all, weights)?.below ?? null),
});

const pairs: CutDefinition = defineCut({
  kind: 'pairs',
  summary: 'the mean scores of the clean and of the hack sides of the pairs: two cuts',
  needs: 'pairs',
  settings: z.strictObject({
    low: z
      .boolean()
      .default(true)
      .describe('whether routing keeps what scores up to the mean of the clean sides')
      .meta(whereKept),
    halfLife: memoryKeys.halfLife.meta(byToken),
    bufferRows: memoryKeys.bufferRows,
    bufferTokens: memoryKeys.bufferTokens.meta(byToken),
  }),
  words: () => 'pair cuts',
  find: () => {
    throw new RangeError('the cuts of the pairs belong to a gate');
  },
});

const own: CutDefinition = defineCut({
  kind: 'own',
  summary: 'the cut that the monitor gives itself',
  needs: 'monitor',
  settings: z.strictObject({}),
  words: () => 'own cut',
  find: () => {
    throw new RangeError('the cut of a monitor is one of the others');
  },
});

export const builtinCuts: readonly CutDefinition[] = [fixed, fpr, quantile, otsu, mixture, pairs, own];

/** The cut that a monitor gives itself. */
export function cutOfRule(rule: CutRule): ChosenCut {
  if (rule.kind === 'fixed') return chosenCut(fixed, { threshold: rule.value });
  if (rule.kind === 'fpr') return chosenCut(fpr, { flaggedClean: rule.rate });
  // Half-lives of a rule need not be whole, as those of a config must.
  const settings = { warmupRows: rule.warmupRows, halfLife: rule.halfLife ?? 0, keepTail: null };
  const find = ({ scores }: CutInputs) =>
    fromScores(scores, settings, (all, weights) => otsuSplit(all, weights)?.below ?? null);
  return { remembers: mostScores, needsClean: false, find };
}

/** The keys of a cut among those of a monitor, with the usual kind of cut and the usual fixed one. */
export function cutKeys(usual: { readonly cut: CutRule['kind']; readonly threshold: number }) {
  return {
    cut: z
      .enum(['fixed', 'fpr', 'otsu'])
      .default(usual.cut)
      .describe(
        "where scores are cut; fixed: at `threshold`; fpr: where `flaggedClean` of the clean sides of the pairs score higher; otsu: where Otsu's method divides the run's last scores",
      ),
    threshold: z
      .number()
      .default(usual.threshold)
      .describe('score above which a rollout is flagged')
      .meta(readWhen({ cut: 'fixed' })),
    flaggedClean: z
      .number()
      .min(0)
      .lt(1)
      .default(0.05)
      .describe('largest share of the clean sides of the pairs that is flagged')
      .meta(readWhen({ cut: 'fpr' })),
    warmupRows: z
      .number()
      .int()
      .min(0)
      .max(1e7)
      .default(64)
      .describe('scores that are needed before anything is flagged')
      .meta(readWhen({ cut: 'otsu' })),
    halfLife: z
      .number()
      .int()
      .min(0)
      .max(1e7)
      .default(96)
      .describe('half-life of a score, in rollouts; 0: no decay')
      .meta(readWhen({ cut: 'otsu' })),
  };
}

/** What a monitor may give as its cut. */
export const cutSchema: z.ZodType<CutRule> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('fixed'), value: z.number() }),
  z.object({ kind: z.literal('fpr'), rate: z.number().min(0).lt(1) }),
  z.object({ kind: z.literal('otsu'), warmupRows: z.number().min(0), halfLife: z.number().gt(0).nullable() }),
]);

/** Takes the keys of the cut out of a monitor's table. */
export function takeCut({ cut, threshold, flaggedClean, warmupRows, halfLife, ...own }: KindTable): {
  readonly monitor: KindTable;
  readonly cut: KindTable;
} {
  const kept = { fixed: { threshold }, fpr: { flaggedClean }, otsu: { warmupRows, halfLife } }[String(cut)];
  return { monitor: own, cut: { kind: String(cut), ...kept } };
}

/** The least of the clean scores that at most a share `rate` of them is above. */
export function fprCut(clean: ArrayLike<number>, rate: number): number {
  const sorted = Float64Array.from(clean).sort();
  // A product such as 0.95 · 20 may fall a little above its whole number.
  const place = Math.ceil((1 - rate) * sorted.length - 1e-9);
  return sorted[Math.max(0, place - 1)];
}
