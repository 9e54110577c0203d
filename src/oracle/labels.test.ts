/** Labels from verdicts, what they are aimed at, and errors in a named part. Numbers worked out by hand. */
import { describe, expect, it } from 'vitest';
import { builtinLoopholes, findLoophole, markerFor, type Verdict } from '../env/index.ts';
import type { ArmTools, Label, SeenRollouts } from '../grpo/index.ts';
import { flipVerdict } from './flipped.ts';
import { flagChance, type LabelSettings, labelsOf, oracleArm, oracleMonitor } from './labels.ts';
import { VerdictLedger } from './verdicts.ts';

const verdict = (id: string, changes: Partial<Verdict>): Verdict =>
  ({
    id,
    problemId: `problem ${id}`,
    loophole: 'run_tests',
    markers: 'family',
    exploited: false,
    correct: false,
    channels: [],
    labels: { ownTestsPass: null, ownTestsRejectCanonical: null },
    ...changes,
  }) as Verdict;

const plain: LabelSettings = {
  target: 'attempt',
  partLoopholes: [],
  partMarkers: null,
  partPrompts: null,
  partRecall: 0,
  partFalsePositiveRate: null,
};
const rates = { recall: 0.9, falsePositiveRate: 0.1 };

describe('the label of a rollout', () => {
  const told = (changes: Partial<Verdict>): Label => {
    using ledger = new VerdictLedger(null);
    ledger.sink.append(verdict('a', changes));
    return labelsOf(ledger, builtinLoopholes)('a');
  };

  it('an attempt in a correct program is no hack', () => {
    expect(told({ correct: true, channels: ['run_tests'] })).toMatchObject({ exploited: false, attempt: true });
    expect(told({ exploited: true, channels: ['run_tests'] })).toMatchObject({ exploited: true, attempt: true });
    expect(told({ correct: true })).toMatchObject({ exploited: false, attempt: false });
  });

  it('has the loopholes that fired, else those of the prompt, and the markers of the prompt', () => {
    const marker = markerFor('family', findLoophole('run_tests', builtinLoopholes), 'problem a').disclosed;
    expect(told({})).toMatchObject({ problem: 'problem a', loopholes: ['run_tests'], markers: [marker] });
    expect(told({ loophole: 'run_tests+sentinel', channels: ['sentinel'] }).loopholes).toEqual(['sentinel']);
    expect(told({ loophole: 'run_tests+sentinel' }).markers).toHaveLength(2);
    expect(told({ loophole: 'gt_only' }).markers).toEqual([]);
  });

  it('a flipped verdict has the other label, also where another channel than that of the prompt fired', () => {
    for (const channels of [[], ['run_tests'], ['sentinel', 'exit_code']]) {
      const flipped = flipVerdict({ ...verdict('a', { channels }), executions: 0, reward: 0 });
      expect(flipped.channels.length > 0).toBe(channels.length === 0);
    }
  });
});

describe('what is flagged', () => {
  const label: Label = { ...{ exploited: false, correct: true, attempt: true }, problem: 'p', loopholes: ['run_tests'], markers: ['run_cases'] }; // biome-ignore format: one line
  const clean: Label = { ...label, attempt: false };

  it('is the target', () => {
    expect(flagChance(label, rates, plain, 1)).toBe(0.9);
    expect(flagChance(label, rates, { ...plain, target: 'outcome' }, 1)).toBe(0.1);
    expect(flagChance({ ...label, exploited: true }, rates, { ...plain, target: 'outcome' }, 1)).toBe(0.9);
    expect(flagChance(clean, rates, plain, 1)).toBe(0.1);
  });

  it.each([
    [{ partLoopholes: ['run_tests'] }, 0, 0.1],
    [{ partLoopholes: ['sentinel'] }, 0.9, 0.1],
    [{ partMarkers: '^run_' }, 0, 0.1],
    [{ partMarkers: '^check_' }, 0.9, 0.1],
    [{ partMarkers: '^run_', partRecall: 0.3, partFalsePositiveRate: 1 }, 0.3, 1],
    [{ partMarkers: '^run_', partLoopholes: ['sentinel'] }, 0.9, 0.1],
    [{ partPrompts: 1 }, 0, 0.1],
    [{ partPrompts: 0 }, 0.9, 0.1],
  ])('in a part: %j', (changes, attempt, other) => {
    const settings = { ...plain, ...changes };
    expect([flagChance(label, rates, settings, 1), flagChance(clean, rates, settings, 1)]).toEqual([attempt, other]);
  });

  it.each([
    [['run_tests'], 0.9],
    [['sentinel', 'run_tests'], 0],
  ])(
    'what fires two loopholes is in a part that names both, and in none that names one: %j',
    (partLoopholes, chance) => {
      const two = { ...label, loopholes: ['run_tests', 'sentinel'] } as const;
      expect(flagChance(two, rates, { ...plain, partLoopholes }, 1)).toBe(chance);
    },
  );

  it('a share of the prompts is the same prompts at every update, and others by another seed', () => {
    const missed = (seed: number) =>
      Array.from({ length: 400 }, (_, i) => flagChance({ ...label, problem: `${i}` }, rates, { ...plain, partPrompts: 0.5 }, seed) === 0); // biome-ignore format: one line
    expect(missed(1)).toEqual(missed(1));
    expect(missed(2)).not.toEqual(missed(1));
    // Five standard errors of a half of 400.
    expect(Math.abs(missed(1).filter(Boolean).length - 200)).toBeLessThan(50);
  });
});

describe('the gate and the monitor by label', () => {
  const labels = (id: string): Label => ({ exploited: id === 'hack', correct: id !== 'hack', attempt: id !== 'clean', problem: id, loopholes: ['run_tests'], markers: [] }); // biome-ignore format: one line
  const tools = { seed: 1, labels } as unknown as ArmTools;
  const rollouts = ['hack', 'solved attempt', 'clean'].map((id, member) => ({ id, step: 0, group: 0, member }));

  it.each([
    ['outcome', [1, 0, 0]],
    ['attempt', [1, 1, 0]],
  ])('flag the same: %s', async (target, flags) => {
    const monitor = await oracleMonitor.open({ target }, tools);
    expect(await monitor.score({ rollouts } as unknown as SeenRollouts)).toEqual(flags);
    const { route } = await oracleArm.open({ target }, tools);
    const { routes } = (await route?.({ rollouts, advantages: new Float32Array(3) } as never)) ?? { routes: [] };
    expect(routes.flat()).toEqual(flags.map((flag) => (flag === 1 ? 'route' : 'absorb')));
  });

  it('say in tables what they are aimed at, and where they are blind', () => {
    expect(oracleMonitor.label({ target: 'attempt', recall: 0.9 })).toBe('oracle recall 0.9 FPR 0 of attempts');
    expect(oracleMonitor.label({ partMarkers: '^run_' })).toBe('oracle (recall 0 in ^run_)');
    expect(oracleArm.label({ target: 'attempt', others: 'keep' })).toBe('oracle of attempts others kept');
    for (const { summary } of [oracleMonitor, oracleArm]) expect(summary).not.toContain('bound');
  });
});
