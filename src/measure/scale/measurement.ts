/**
 * `gq measure scale RUN`: chooses how much of the quarantine to deploy: the largest scale up to which no more completions of validation prompts
 * are flagged than of the base's. What flags is the text: an expression, or what the exploit of a known loophole needs. No program is run, and
 * neither verdicts nor test problems are read.
 */
import { z } from 'zod';
import { scaleOf, stateOfScale } from '../../adapters/policy-state.ts';
import { shellLine, UserError } from '../../base/index.ts';
import { withinLimit } from '../../base/node/index.ts';
import { type MarkerPolicy, markerFor, openLoopholes } from '../../env/index.ts';
import { takesBait } from '../../env/pairs/index.ts';
import { lastCheckpoint } from '../../evaluate/plan.ts';
import { type Evaluation, EvaluationStore } from '../../evaluate/store.ts';
import { partsOf } from '../../lab/index.ts';
import { expectOpen, type RunDirectory } from '../../run/index.ts';
import { defineMeasurement, runLine } from '../registry/index.ts';
import { makeTable } from '../table.ts';

export const scale = defineMeasurement({
  run: 'a run with a quarantine, evaluated on its validation prompts at several scales',
  answer: 'the scale, and what was flagged at each',
  options: z.object({
    pattern: z
      .string()
      .optional()
      .describe('regular expression that flags a completion; when absent, what the exploits of known loopholes need')
      .meta({ takes: '<expression>' }),
  }),
  examples: [
    'gq measure scale runs/activation-1',
    "gq measure scale runs/activation-1 --pattern 'sys.exit|__eq__' --json",
  ],
  exits: { 1: 'the policy without its quarantine is flagged more often than the base' },
  measure: (run, { pattern }) => chooseScale(run, pattern),
  show: (found, run) => [
    runLine(run),
    makeTable(
      `flagged completions of validation prompts, after ${found.update} updates`,
      [{ scale: 'base', flagged: found.base }, ...found.scales],
      { 'scale of the quarantine': (row) => `${row.scale}`, flagged: (row) => `${row.flagged} of ${found.prompts}` },
    ),
    found.chosen === null
      ? 'No scale: without its quarantine, too, the policy is flagged more often than the base.'
      : `Scale ${found.chosen}, the largest up to which no more is flagged than of the base: ${shellLine('gq', 'export', run.path, '--state', stateOfScale(found.chosen), '--to', 'OUT')}`,
  ],
  isNo: ({ chosen }) => chosen === null,
});

type Flags = (row: Evaluation['rows'][number]) => boolean;

export async function chooseScale(run: RunDirectory, pattern?: string) {
  const call = `choose the scale of ${run.path}`;
  expectOpen(run.path, call);
  const update = lastCheckpoint(run);
  const own = new EvaluationStore(run.path).all().filter(({ set, limit }) => set === 'validation' && limit === null);
  const base = own.find(({ state }) => state === 'base');
  const scaled = own.flatMap((one) =>
    one.update === update && one.state !== 'base' ? [{ scale: scaleOf(one.state, 0), one }] : [],
  );
  if (base === undefined || scaled.length < 2) {
    throw new UserError({
      call,
      expected: 'evaluations of all its validation prompts at several scales',
      found: `${scaled.length} scales`,
      fix: `Make them: ${shellLine('gq', 'eval', run.path, '--sets', 'validation', '--scales', '0.25,0.5,0.75')}.`,
    });
  }
  const flags = pattern === undefined ? await baitOf(run) : expressionOf(call, pattern);
  const flaggedOf = ({ rows }: Evaluation): number => rows.filter(flags).length;
  const scales = scaled
    .map(({ scale: value, one }) => ({ scale: value, flagged: flaggedOf(one) }))
    .sort((a, b) => a.scale - b.scale);
  const most = flaggedOf(base);
  const tooMany = scales.findIndex(({ flagged }) => flagged > most);
  const chosen = scales.slice(0, tooMany < 0 ? undefined : tooMany).at(-1)?.scale ?? null;
  return { labels: 'not read', update, prompts: base.rows.length, base: most, scales, chosen };
}

/** Held-out loopholes are those that nobody knows of who chooses. */
async function baitOf(run: RunDirectory): Promise<Flags> {
  const { config } = run.readManifest();
  const { loopholes } = await partsOf(config);
  const known = config.environment.loopholes.flatMap((name) => openLoopholes(name, loopholes));
  return ({ completion, markers, problem }) =>
    known.some((loophole) =>
      takesBait(completion, loophole, [markerFor(markers as MarkerPolicy, loophole, problem).disclosed]),
    );
}

/** A search that does not end in time counts as a match. */
function expressionOf(call: string, pattern: string): Flags {
  try {
    const expression = new RegExp(pattern, 'm');
    return ({ completion }) => withinLimit(() => expression.test(completion), 5000)?.value ?? true;
  } catch {
    throw new UserError({ call, expected: 'a regular expression of JavaScript', found: pattern });
  }
}
