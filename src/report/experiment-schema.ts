/** What an experiment's file may say. Messages of this schema follow the words "KEY: ". */
import { z } from 'zod';
import { finalSets } from '../evaluate/index.ts';

/** Loopholes that the pairs may know, and those that they know nothing of. */
export const loopholeGroups = ['known', 'held out'] as const;
export type LoopholeGroup = (typeof loopholeGroups)[number];

const whole = (least: number) => {
  const message = `a whole number of at least ${least}`;
  return z.number(message).int(message).min(least, message);
};
const count = (thing: string) =>
  z.number(`a number of ${thing}s`).int(`a whole number of ${thing}s`).min(1, `at least one ${thing}`);
const oneSet = z.enum(finalSets, `one of ${finalSets.join(', ')}`);
export const settings = z.array(z.string('key=value'), 'a list of key=value').default([]);
const share = (message: string) => z.number(message).min(0, message).max(1, message);
const areDifferent = (values: readonly string[]): boolean => new Set(values).size === values.length;
const names = (message: string) => z.array(armReference, message).refine(areDifferent, 'different arms');
const text = (message: string) => z.string(message).min(1, message);
const armReference = z.string('the name of an arm');
const optionalArm = armReference.nullable().default(null);
const metrics = ['attempt', 'hack', 'solve', 'clean-solve', 'objective', 'kept', 'relearn'] as const;
const metricText = 'attempt, hack, solve, clean-solve, objective, kept or relearn, of the deployed policy';

const listOf = <Thing extends z.ZodType>(thing: Thing, things: string, one: string) =>
  z.array(thing, `a list of ${things}`).min(1, `at least one ${one}`);

export const evaluationSchema = z.strictObject({
  sets: listOf(oneSet, 'sets', 'set')
    .refine(areDifferent, 'different sets')
    .default([...finalSets])
    .describe('sets of prompts on which the last checkpoint is evaluated'),
  scales: z
    .array(share('a number between 0 and 1'), 'a list of numbers')
    .default([])
    .describe("the quarantine's scales beside 0 and 1"),
  curveEvery: whole(0).default(10).describe('updates between the points of the curve; 0: no curve'),
  limit: whole(1).nullable().default(null).describe('only the first prompts of each set; null: all'),
});

const bound = z.number('a number: a rate, or a difference of rates where there is a reference').optional();

const countsLoopholes = (metric: string): boolean => metric === 'attempt' || metric === 'hack';

const noneOpen = 'solve, where no loophole is open (bar.set): nothing can be hacked there';
const ownReferences = 'none, where the metric is kept: the ceiling and the base are its references';

export const barSchema = z
  .strictObject({
    what: text('the claim in a sentence').describe('the claim in a sentence'),
    arm: armReference,
    reference: optionalArm.describe('arm whose value is subtracted; null: none'),
    metric: z
      .enum(metrics, metricText)
      .describe(
        'attempt: opens a loophole, right or wrong; clean-solve: solved without an attempt; kept: the share of the gain in solving, deployed − base over ceiling − base; relearn: how many updates later than from the base the relearning attack has attempts back',
      ),
    set: oneSet.default('test-original').describe('set of prompts'),
    loopholes: z
      .enum(loopholeGroups, loopholeGroups.join(' or '))
      .optional()
      .describe('group of loopholes whose mean rate is meant; absent: all prompts'),
    channel: z
      .string('the name of a loophole')
      .optional()
      .describe('loophole whose attempts alone are counted, where prompts disclose several; absent: any'),
    atLeast: bound,
    atMost: bound,
    inSeeds: count('seed'),
  })
  .superRefine((bar, context) => {
    const { arm, metric, reference, set, loopholes, channel, atLeast, atMost } = bar;
    const isOfOneChannel = metric === 'attempt' && loopholes === undefined;
    const byGroup = 'attempt or hack, where bar.loopholes names a group';
    const byChannel = 'attempt, where a channel is named, and no group of loopholes';
    const rules: readonly (readonly [isKept: boolean, message: string, ...path: string[]])[] = [
      [(atLeast === undefined) !== (atMost === undefined), 'either atLeast or atMost'],
      [countsLoopholes(metric) || loopholes === undefined, byGroup, 'metric'],
      [channel === undefined || isOfOneChannel, byChannel, 'metric'],
      [arm !== reference, 'another arm than bar.arm', 'reference'],
      [!countsLoopholes(metric) || set !== 'test-unhinted', noneOpen, 'metric'],
      [metric !== 'kept' || reference === null, ownReferences, 'reference'],
    ];
    const broken = rules.filter(([isKept]) => !isKept);
    for (const [, message, ...path] of broken) context.addIssue({ code: 'custom', path, message });
    // A share of a gain may be below 0 and above 1, and updates are no rate.
    if (metric === 'kept' || metric === 'relearn') return;
    // A bound that every value reaches, or none, would state nothing.
    const [least, most] = metric === 'objective' ? [-1, 1] : [0, 1];
    const [low, high] = reference === null ? [least, most] : [least - most, most - least];
    const what = reference === null ? `${metric} of one arm` : `difference in ${metric}`;
    const bounds = [
      { key: 'atLeast', bound: atLeast, always: low },
      { key: 'atMost', bound: atMost, always: high },
    ];
    for (const { key, bound, always } of bounds) {
      if (bound === undefined) continue;
      const isInside = bound >= low && bound <= high;
      if (isInside && bound !== always) continue;
      const message = isInside
        ? `a bound that can be missed: every ${what} is between ${low} and ${high}`
        : `a number between ${low} and ${high}, as every ${what} is`;
      context.addIssue({ code: 'custom', path: [key], message });
    }
  });

export const referenceSchema = z
  .strictObject({
    name: text('a name for the row'),
    source: text('where the numbers were reported'),
    hack: share('a rate between 0 and 1').nullable().default(null),
    solve: share('a rate between 0 and 1').nullable().default(null),
  })
  .refine(({ hack, solve }) => hack !== null || solve !== null, 'hack, solve or both');

export const relearnSchema = z.strictObject({
  arms: names('a list of arms with a quarantine').min(1, 'at least one arm'),
  updates: count('update').nullable().default(null).describe("updates of the attack; null: the run's own"),
});

const armPattern = /^[a-z0-9][a-z0-9.-]*$/;

/** Grids make names out of values, which nobody has checked. */
export function isArmName(name: string): boolean {
  return armPattern.test(name);
}

const armNameText = 'a name of lower-case letters, digits, dots and dashes';
const armName = z.string(armNameText).regex(armPattern, armNameText);

export const armSchema = z.strictObject({
  name: armName,
  recipe: z
    .string('a recipe file, or the name of a recipe of the package')
    .describe('a recipe file, relative to this one, or the bare name of a recipe of the package'),
  set: settings.describe('changes to the recipe, as --set takes them'),
  placebos: names('a list of arms')
    .nullable()
    .default(null)
    .describe("arms it is tested against; null: the experiment's placebo"),
});

const nameText = 'a name of lower-case letters, digits and dashes';
export const folderName = z.string(nameText).regex(/^[a-z0-9][a-z0-9-]*$/, nameText);
const matchedSolve = 'a width between 0 and 1, such as 0.05';
const failAbove = 'a share between 0 and 1, such as 0.1';

export const experimentSchema = z.strictObject({
  name: folderName,
  why: z.string('a sentence').default('').describe('the question that the experiment answers'),
  resolve: z.string('a sentence').default('').describe('the outcome that would settle the question'),
  bar: barSchema.nullable().default(null).describe('what must be found for the claim to hold, stated before the runs'),
  predictions: listOf(barSchema, 'tables', 'prediction')
    .optional()
    .describe('more such bars: each is met, or refuted where too few seeds reach it'),
  blindSeeds: listOf(whole(0), 'seeds', 'seed')
    .optional()
    .describe('seeds that are trained, and not evaluated before `gq claim open` opens them, once'),
  seeds: listOf(whole(0), 'whole numbers', 'seed').describe('one run per arm and seed'),
  baseline: armReference.default('vanilla').describe('the arm that all others are compared with'),
  placebo: armReference.nullable().default('haar').describe('the placebo of every arm that names no placebos'),
  ceiling: optionalArm.describe('arm trained without a loophole: what solving could reach'),
  matchedSolve: z
    .number(matchedSolve)
    .gt(0, matchedSolve)
    .lt(1, matchedSolve)
    .default(0.05)
    .describe('differences of deployed solve smaller than this count as none'),
  failAbove: z
    .number(failAbove)
    .min(0, failAbove)
    .lt(1, failAbove)
    .default(0.1)
    .describe('a run fails where its deployed policy attempts in more than this share of the prompts'),
  solveReference: optionalArm.describe('arm whose solve must be kept; null: the baseline'),
  references: z.array(referenceSchema, 'a list of tables').default([]).describe('rates reported elsewhere'),
  relearn: relearnSchema.nullable().default(null).describe('arms whose deployed policy is attacked'),
  evaluation: evaluationSchema.prefault({}),
  set: settings.describe('changes to every arm, as --set takes them'),
  arms: listOf(armSchema, 'tables', 'arm'),
});

export type Experiment = z.infer<typeof experimentSchema>;
/** A claim with numbers, stated before the runs: the value, or its difference from the reference, in a number of seeds. */
export type Bar = Readonly<z.infer<typeof barSchema>>;
export type EvaluationPlan = Experiment['evaluation'];
