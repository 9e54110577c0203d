/** The hook of monitors: what it says is checked, recorded, and shown to the hooks after it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { plainArm, TinyLab } from '../../test/grpo/tiny-lab.ts';
import { checkWatched } from './answers.ts';
import { type Arm, absorbAll, type GradedRollouts, type ScoredRollouts, type Watched } from './arm.ts';
import { rolloutRecords, stepEvent } from './report.ts';
import type { Phase } from './stages.ts';

let lab: TinyLab;
beforeAll(async () => {
  lab = await TinyLab.open();
});
afterAll(() => lab[Symbol.dispose]());

/** Rewards of two groups of four; the first has nothing to learn. */
const rewards = [1, 1, 1, 1, 0, 2, 0, 0];
const notes = { update: 1, direction: null, directionAge: null, tripwireLogp: null };

const said: Watched = {
  scores: [0.1, 0.2, null, 0.4, 0.5, 0.6, 0.7, 0.8],
  flagged: [false, false, true, false, true, true, true, true],
  cut: 0.45,
  abstentions: { late: 1 },
  costs: { passes: 8 },
};

describe('what a watch hook says', () => {
  it('reaches reward and screen whole, route for the trained rollouts, and the records', async () => {
    const shown: { reward?: GradedRollouts; screen?: GradedRollouts; route?: ScoredRollouts } = {};
    const arm: Arm = {
      ...plainArm,
      watch: async ({ rewards: own }) => {
        own.fill(9);
        return said;
      },
      reward(graded) {
        shown.reward = graded;
        return graded.rewards;
      },
      screen(graded) {
        shown.screen = graded;
        return graded.rollouts.map(() => 'train');
      },
      route(scored) {
        shown.route = scored;
        return absorbAll(scored.rollouts.length);
      },
    };
    const { outcome } = await lab.step(arm, { rewards });
    expect(Array.from(outcome.rewards)).toEqual(rewards);
    expect([shown.reward?.watched, shown.screen?.watched]).toEqual([said, said]);
    expect(shown.route?.watched).toEqual({ ...said, scores: [0.5, 0.6, 0.7, 0.8], flagged: [true, true, true, true] });
    const records = rolloutRecords(outcome);
    expect(records.map(({ suspicion }) => suspicion)).toEqual(said.scores);
    expect(records.map(({ flagged }) => flagged)).toEqual(said.flagged);
    expect(stepEvent(outcome, notes).watched).toEqual({
      cut: 0.45,
      flagged: 5,
      abstained: 1,
      abstentions: { late: 1 },
      costs: { passes: 8 },
    });
  });

  it('has features of all rollouts, and one reading is enough where both states are one policy', async () => {
    let rows = 0;
    const arm: Arm = {
      sees: { features: { kind: 'activation', granularity: 'rollout' }, text: false },
      watch({ features }) {
        rows = features?.rows ?? 0;
        return said;
      },
    };
    const states = { sampling: { deployedSampling: 0.5 } };
    const { outcome } = await lab.step(arm, { rewards, changes: states });
    expect(rows).toBe(8);
    // Eight in deployed state, and π_ref of the four that are trained, whose log π_old comes from learning or from the features' pass.
    expect(outcome.scoringPasses).toBe(8 + 4);
    const plain = await lab.step(plainArm, { rewards, changes: states });
    const sampledDeployed = plain.outcome.trained.filter((i) => plain.outcome.rollouts[i].sampled === 'deployed');
    expect(sampledDeployed.length).toBeGreaterThan(0);
    expect(plain.outcome.scoringPasses).toBe(sampledDeployed.length + 4);
  });

  it('is prepared while programs run: features are made before the grader has answered', async () => {
    const arm: Arm = {
      sees: { features: { kind: 'activation', granularity: 'rollout' }, text: false },
      watch: () => said,
    };
    const phases: Phase[] = [];
    let answer = (): void => undefined;
    const graded = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const enter = (phase: Phase): void => {
      phases.push(phase);
      if (phase === 'score') answer();
    };
    const { outcome } = await lab.step(arm, { rewards, enter, grading: () => graded });
    expect(phases.slice(0, 5)).toEqual(['sample', 'grade', 'score', 'grade', 'watch']);
    expect(Array.from(outcome.rewards)).toEqual(rewards);
    await expect(lab.step(arm, { grading: () => Promise.reject(new Error('no sandbox')) })).rejects.toThrow(
      'no sandbox',
    );
  });

  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'expected { scores, flagged, cut, abstentions, costs }'],
    ['too few', { ...said, scores: [1] }, 'expected 8 answers, one per rollout, found 1'],
    ['no number', { ...said, scores: [...said.scores.slice(0, 7), Number.NaN] }, 'finite scores, or null'],
    [
      'no flag',
      { ...said, flagged: Array(8).fill(1) },
      'expected true or false as flags, found number 1 for rollout 0',
    ],
    ['an infinite cut', { ...said, cut: Number.POSITIVE_INFINITY }, 'expected a finite cut, or null'],
  ])('is refused by name: %s', (_, answer, message) => {
    expect(() => checkWatched(answer, 8)).toThrow(`hook watch of the arm`);
    expect(() => checkWatched(answer, 8)).toThrow(message);
  });
});
