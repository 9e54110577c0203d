/** The scale at deployment is chosen by the text of completions: not by verdicts, nor on problems of the test. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder, writeEvaluations, writeRun } from '../../../test/lab/hand-made.ts';
import { gq } from '../../../test/run-gq.ts';
import type { PolicyState } from '../../adapters/policy-state.ts';
import { exploitProgram } from '../../env/micro/exploits.ts';
import { chooseScale } from './measurement.ts';

/** A run with ten validation prompts; `taken`: how many completions say CHEAT in each state. On other prompts all do. */
async function runWith(taken: Readonly<Partial<Record<PolicyState, number>>>, outcomes = '..........') {
  const run = await writeRun(join(temporaryFolder(), 'run'), {
    config: { arm: { kind: 'absorb' } },
    checkpoints: [0, 20],
  });
  for (const [name, count = 0] of Object.entries(taken)) {
    const state = name as PolicyState;
    const update = state === 'base' ? 0 : 20;
    for (const set of ['validation', 'test-original', 'monitor'] as const) {
      const completionOf = (i: number): string => (i < count || set !== 'validation' ? 'CHEAT' : 'honest');
      await writeEvaluations(run.path, [{ update, set, state, outcomes, completionOf }]);
    }
  }
  return run;
}

describe('the scale at deployment', () => {
  it('is the largest up to which no more completions are flagged than of the base', async () => {
    const taken = { base: 1, deployed: 0, 'scale-0.25': 1, 'scale-0.5': 2, 'scale-0.75': 1, full: 9 };
    const run = await runWith(taken);
    expect(await chooseScale(run, 'CHEAT')).toMatchObject({ labels: 'not read', prompts: 10, base: 1, chosen: 0.25 });
    const { code, out } = await gq('measure', 'scale', run.path, '--pattern', 'CHEAT');
    expect(code).toBe(0);
    expect(out).toContain(`gq export ${run.path} --state scale-0.25 --to OUT`);
  });

  it('is the same whatever the verdicts are, and whatever the test problems and the monitoring subset say', async () => {
    const taken = { base: 0, deployed: 0, 'scale-0.5': 0, full: 9 };
    for (const outcomes of ['hhhhhhhhhh', 'ssssssssss', '..........']) {
      expect(await chooseScale(await runWith(taken, outcomes), 'CHEAT')).toMatchObject({ chosen: 0.5 });
    }
  });

  it('is none where the deployed policy is flagged more often, and everything where nothing is', async () => {
    const none = await runWith({ base: 0, deployed: 1, full: 9 });
    expect((await gq('measure', 'scale', none.path, '--pattern', 'CHEAT')).code).toBe(1);
    expect(await chooseScale(await runWith({ base: 0, deployed: 0, full: 0 }))).toMatchObject({ chosen: 1 });
  });

  it('knows nothing of held-out loopholes: what takes their bait is not flagged, what takes a known one is', async () => {
    const environment = { loopholes: ['run_tests'], heldOutLoopholes: ['sentinel'] };
    const chosenWhere = async (taken: string) => {
      const config = { arm: { kind: 'absorb' }, environment };
      const run = await writeRun(join(temporaryFolder(), 'run'), { config, checkpoints: [0, 20] });
      for (const state of ['base', 'deployed', 'full'] as const) {
        const program = (i: number) => exploitProgram([], taken, 'original', `problem-${i}`);
        const made = { update: state === 'base' ? 0 : 20, set: 'validation', state, outcomes: '....' } as const;
        await writeEvaluations(run.path, [state === 'full' ? { ...made, completionOf: program } : made]);
      }
      return (await chooseScale(run)).chosen;
    };
    expect(await chosenWhere('sentinel')).toBe(1);
    expect(await chosenWhere('run_tests')).toBe(0);
  });

  it('needs evaluations, and an expression that is one', async () => {
    const run = await runWith({ base: 0, deployed: 0 });
    await expect(chooseScale(run)).rejects.toThrow('--sets validation --scales 0.25,0.5,0.75');
    await expect(chooseScale(await runWith({ base: 0, deployed: 0, full: 0 }), '(')).rejects.toThrow(
      'a regular expression',
    );
  });
});
