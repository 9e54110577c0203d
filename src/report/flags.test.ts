import { expect, it } from 'vitest';
import { type MadeResults, madeArm, madeResults } from '../../test/lab/made-results.ts';
import { describeResults } from './statements.ts';
import { resultsJson } from './values.ts';

const monitor = { kind: 'regex', pattern: 'sys.exit' };
const vanilla = madeArm('vanilla', { kind: 'vanilla' }, [[8, 0]]);

/** A penalty of one update: four rollouts of which so many are flagged; the first two are attempts. */
function watched(name: string, flagged: readonly number[], more: Partial<MadeResults> = {}): MadeResults {
  const arm = { kind: 'watched', monitor, cut: { kind: 'fixed', threshold: 0.5 }, remedy: { kind: 'penalty' } };
  const [made] = madeArm(name, arm, [[8, 0]]);
  const counts = { cut: 0.5, flagged: flagged.length, abstained: 0, abstentions: {}, costs: {} };
  const rollouts = [0, 1, 2, 3].map((i) => ({
    update: 1,
    attempt: i < 2,
    suspicion: flagged.includes(i) ? 0.9 : 0.1,
    flagged: flagged.includes(i),
    trained: true,
  }));
  return { ...made, rollouts, steps: [{ update: 1, rollouts: 4, watched: counts }], ...more };
}

it('results begin with the arms whose monitor never flagged anything, evaluated or not', async () => {
  const text =
    'Warning: blind: the monitor flagged 0 of 4 rollouts past its warm-up: this arm did nothing that vanilla, which has no monitor, does not do. Either nothing hacked, or its cut lies above all its scores.';
  const runs = [...vanilla, watched('blind', []), watched('sees', [0])];
  expect(describeResults(await madeResults(runs))[0]).toBe(text);
  const bare = await madeResults([watched('blind', [], { evaluations: [] })]);
  expect(describeResults(bare)[0]).toBe(text);
});

it('an arm of which one run flagged nothing is named with the seed of that run', async () => {
  const other = watched('sees', [], { seed: 2 });
  const [first] = describeResults(await madeResults([...vanilla, watched('sees', [0]), other]));
  expect(first).toContain('Warning: sees (seed 2): the monitor flagged 0 of 4');
});

it('how well flags find attempts stands before the arms, and flags by chance are not judged', async () => {
  const placebo = {
    kind: 'watched',
    monitor: { kind: 'chance', rate: 0.5 },
    cut: { kind: 'fixed', threshold: 0.5 },
    remedy: { kind: 'penalty' },
  };
  const runs = [
    ...vanilla,
    watched('sees', [0, 1]),
    watched('blind', [2]),
    watched('chance', [0, 2], { arm: placebo }),
  ];
  const results = await madeResults(runs);
  const said = describeResults(results);
  const at = said.findIndex((line) => line.startsWith('Flags of attempts'));
  expect(said[at]).toBe(
    'Flags of attempts while training: sees: recall 1.00, false flags 0.00 (AUROC 1.00); blind: recall 0.00, false flags 0.50 (AUROC 0.25: about chance or below).',
  );
  expect(said[at + 1]).toMatch(/^sees: attempt/);
  const { statements } = resultsJson(results);
  expect(statements.find(({ name }) => name === 'flags')).toMatchObject({ numbers: { judged: [{ recall: 1 }, {}] } });
});
