/** One result of a run: what is counted is the same from the columns as from whole rollouts, and what is dear is read when it is asked for. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder, writeEvaluations, writeRun } from '../../test/lab/hand-made.ts';
import { madeResults } from '../../test/lab/made-results.ts';
import { byTarget } from '../evaluate/index.ts';
import { judgeGate, judgeMonitor, judgeReinforced, trainingCurve } from '../measure/index.ts';
import { sealRun } from '../oracle/index.ts';
import { describeMissing, describeUnfinished, missingEvaluations, readRunResult } from './run-result.ts';
import { sideBySide } from './samples.ts';

const set = 'test-original' as const;

/** A run that is over, with a gate by token, a monitor, a demonstration and two evaluations. */
async function gatedRun(): Promise<string> {
  const path = temporaryFolder();
  const rollouts = [1, 2, 3, 4, 5, 6].flatMap((update) =>
    [0, 1, 2, 3].map((member) => ({
      update,
      id: `${update}-0-${member}`,
      member,
      hack: member < 2,
      solve: member === 3,
      source: member === 3 && update === 2 ? 'teacher-solve' : 'student',
      advantage: member - 1.5,
      trained: true,
      score: ((member * 7 + update) % 5) / 3,
      low: 0.1,
      high: 0.9,
      route: ['route', 'keep', 'absorb', 'route'][(member + update) % 4],
      tokenRoutes: ['rra', 'kk', 'a', 'rrr'][(member + update) % 4],
      tokenScores: [1, 2, 3].slice(0, ['rra', 'kk', 'a', 'rrr'][(member + update) % 4].length),
      suspicion: member === 0 ? null : member / 4,
      flagged: member === 1,
    })),
  );
  const config = { seed: 3, updates: 6, arm: { kind: 'activation' } };
  const made = await writeRun(path, { config, rollouts, checkpoints: [6] });
  await writeEvaluations(path, [
    { update: 0, set, state: 'base', outcomes: '----s' },
    { update: 6, set, state: 'full', outcomes: 'hh-ss' },
    { update: 6, set, state: 'deployed', outcomes: 'h--ss' },
  ]);
  await sealRun(made);
  return path;
}

it('counts the same from columns as from whole rollouts, but for the scores of tokens', async () => {
  const run = await readRunResult(await gatedRun());
  const rollouts = await run.rollouts();
  expect(rollouts).toHaveLength(23);
  const [gate, reinforced] = [judgeGate(rollouts), judgeReinforced(rollouts)];
  expect(gate.hacks.tokenSeparation).not.toBeNull();
  const withoutTokens = (judged: typeof gate) => ({
    ...judged,
    ...byTarget((_, target) => ({ ...judged[target], tokenSeparation: null })),
  });
  expect(run.gate).toEqual(withoutTokens(gate));
  expect(run.gateReinforced).toEqual(withoutTokens(reinforced));
  expect(run.monitor).toEqual(judgeMonitor(rollouts));
  expect(run.training).toEqual(trainingCurve(rollouts, 'full'));
  expect(run.isScored).toBe(true);
});

it('reads texts of rollouts and evaluations when they are asked for, and then once', async () => {
  const path = await gatedRun();
  const run = await readRunResult(path);
  expect(run.evaluations[0].rows[0]).not.toHaveProperty('completion');
  expect(sideBySide(run, set)?.full.completion).toEqual(expect.any(String));
  const rollouts = await run.rollouts();
  expect(rollouts[0].completion).toEqual(expect.any(String));
  for (const gone of ['rollouts', 'evaluations']) rmSync(join(path, gone), { recursive: true, force: true });
  for (const gone of ['rollouts.parquet', 'verdicts.parquet']) rmSync(join(path, gone), { force: true });
  expect(await run.rollouts()).toBe(rollouts);
  expect(() => sideBySide(run, set)).toThrow('it is gone');
  const unread = await readRunResult(await gatedRun());
  rmSync(join(unread.path, 'rollouts.parquet'));
  await expect(unread.rollouts()).rejects.toThrow();
});

const stopped = { checkpoints: [0, 8], finished: false, steps: [{ update: 11 }] };

it('tells the updates of a run that stopped from those that are saved', async () => {
  const results = await madeResults([stopped, { ...stopped, seed: 2, steps: [{ update: 8 }] }]);
  const [made, saved] = results.arms[0].runs.map(({ name }) => name);
  expect(describeUnfinished(results)[0]).toContain(
    `Not finished: ${made} (11 of 20 updates made, 8 saved), ${saved} (8 of 20 updates).`,
  );
});

it('goes on with what is not finished by its experiment, and evaluates a run of its own', async () => {
  const arms = [{ name: 'vanilla', recipe: 'x', set: [], placebos: null }];
  const again = { recipe: 'study.toml', set: [], out: null };
  const of = async (design: object) => describeMissing(missingEvaluations(await madeResults([stopped], null, design)));
  const found = await of({ arms, seeds: [1], again });
  expect(found?.commands).toEqual(['gq experiment study.toml --seeds 1']);
  expect(found?.sentence).toMatch(/This command goes on with the experiment, and evaluates it:$/);
  const alone = await of({});
  expect(alone?.commands).toEqual([expect.stringMatching(/^gq eval \S+$/), expect.stringMatching(/ --curve$/)]);
  expect(alone?.sentence).toMatch(/These commands evaluate it:$/);
});
