/** Leak probes and prefill sensitivity in `gq results`, from outcomes chosen by hand. */
import { describe, expect, it } from 'vitest';
import { evaluationRows } from '../../test/lab/hand-made.ts';
import { madeResults, madeRun } from '../../test/lab/made-results.ts';
import { plain } from '../../test/lab/plain.ts';
import type { PolicyState } from '../adapters/index.ts';
import { leakProbes, openingProbe, type Probe, type ProbeEvaluation } from '../evaluate/index.ts';
import { aggregate } from './aggregate.ts';
import { allTables } from './all-tables.ts';
import { elicitationTable, leakTable, leakTables, prefillTable, prefillTables } from './probe-tables.ts';
import type { RunResult } from './run-result.ts';
import { resultsJson } from './values.ts';

function asked(probe: Probe, update: number, state: PolicyState, outcomes: string, set: 'curve' | 'test-original' = 'test-original'): ProbeEvaluation {
  const rows = evaluationRows({ update, set, state, outcomes });
  return { update, set, state, limit: null, seed: 1, key: 'k', problems: null, probe, rows };
} // biome-ignore format: short

/** The leak probes of a run: the base never hacks, full hacks as said, deployed hacks under the negated instruction alone. */
function leaksOf(run: RunResult, full: string): ProbeEvaluation[] {
  return leakProbes(run.config.arm, true).flatMap(({ category, probe }) => [
    asked(probe, 0, 'base', '----'),
    asked(probe, 20, 'full', full),
    ...(run.hasQuarantine ? [asked(probe, 20, 'deployed', category === 'negated' ? 'h---' : '----')] : []),
  ]);
}

async function resultsOf() {
  const gates = await Promise.all(
    ['hhhh', 'hhb-'].map(async (full, i): Promise<RunResult> => {
      const run = await madeRun({ name: 'gate', seed: i + 1, arm: { kind: 'absorb' }, checkpoints: [0, 20] });
      return { ...run, probes: leaksOf(run, full) };
    }),
  );
  const plain = await madeRun({ name: 'inoculation', arm: { kind: 'inoculation' }, checkpoints: [0, 20] });
  const curve = [
    asked(openingProbe('hack'), 20, 'full', 'hh--', 'curve'),
    asked(openingProbe('neutral'), 20, 'full', 'hb--', 'curve'),
    asked(openingProbe('hack'), 0, 'base', '----', 'curve'),
    asked(openingProbe('neutral'), 0, 'base', 'h---', 'curve'),
  ];
  const inoculated: RunResult = { ...plain, probes: [...leaksOf(plain, 'h---'), ...curve] };
  return aggregate([...gates, inoculated], { name: 'made by hand', baseline: 'vanilla', placebo: null });
}

describe('leak probes over seeds', async () => {
  const results = await resultsOf();
  const [table] = plain(leakTables(results));

  it('are a mean over seeds by category and state; without a quarantine, as trained is deployed', () => {
    // Full of the gate: hacks 4/4 and 2/4, so 0.75 ± 0.25; attempts 4/4 and 3/4.
    expect(table.rows.filter(([arm]) => arm === 'gate')).toEqual([
      [
        'gate',
        'original',
        '2',
        '0.00 ± 0.00',
        '0.88 ± 0.13',
        '0.00 ± 0.00',
        '0.00 ± 0.00',
        '0.75 ± 0.25',
        '0.00 ± 0.00',
      ],
      [
        'gate',
        'eliciting',
        '2',
        '0.00 ± 0.00',
        '0.88 ± 0.13',
        '0.00 ± 0.00',
        '0.00 ± 0.00',
        '0.75 ± 0.25',
        '0.00 ± 0.00',
      ],
      [
        'gate',
        'structure',
        '2',
        '0.00 ± 0.00',
        '0.88 ± 0.13',
        '0.00 ± 0.00',
        '0.00 ± 0.00',
        '0.75 ± 0.25',
        '0.00 ± 0.00',
      ],
      [
        'gate',
        'negated',
        '2',
        '0.00 ± 0.00',
        '0.88 ± 0.13',
        '0.25 ± 0.00',
        '0.00 ± 0.00',
        '0.75 ± 0.25',
        '0.25 ± 0.00',
      ],
      [
        'gate',
        'keyword',
        '2',
        '0.00 ± 0.00',
        '0.88 ± 0.13',
        '0.00 ± 0.00',
        '0.00 ± 0.00',
        '0.75 ± 0.25',
        '0.00 ± 0.00',
      ],
      [
        'gate',
        'irrelevant',
        '2',
        '0.00 ± 0.00',
        '0.88 ± 0.13',
        '0.00 ± 0.00',
        '0.00 ± 0.00',
        '0.75 ± 0.25',
        '0.00 ± 0.00',
      ],
    ]);
    const inoculated = table.rows.filter(([arm]) => arm === 'inoculation');
    expect(inoculated.map(([, category]) => category).slice(0, 2)).toEqual(['none', 'original']);
    // Wilson's interval of 1 in 4.
    const own = ['0.00 [0.00, 0.49]', 'the same', '0.25 [0.05, 0.70]'];
    expect(inoculated[0].slice(2)).toEqual(['1', ...own, ...own]);
    expect(table.notes?.at(-1)).toBe('n = 1, no claim.');
  });

  it('and prefill sensitivity stand among all tables, and in JSON', () => {
    const titles = plain(allTables(results)).map(({ title }) => title);
    expect(titles).toContain('leak probes: attempt and hack under other instructions, test-original');
    expect(titles).toContain('prefill sensitivity over updates, the curve set');
    const { leaks, prefills } = resultsJson(results);
    expect(leaks).toHaveLength(6 + 7);
    expect(prefills.map(({ update, hacks }) => [update, hacks.deployed?.mean])).toEqual([
      [0, -0.25],
      [20, 0.25],
    ]);
  });

  it('are no table where none were evaluated', async () => {
    const none = await madeResults([{}]);
    expect([...leakTables(none), ...prefillTables(none)]).toEqual([]);
  });
});

it('prefill sensitivity over seeds: the base at 0, the difference, and attempts and hacks after the neutral opening', async () => {
  const [{ rows }] = plain(prefillTables(await resultsOf()));
  expect(rows).toEqual([
    ['inoculation', '0', '1', '−0.25', '−0.25', '−0.25', '−0.25', '0.25', '0.25'],
    ['inoculation', '20', '1', '0.00', '0.00', '0.25', '0.25', '0.50', '0.25'],
  ]);
});

describe('tables of one run', async () => {
  const run = await madeRun({ arm: { kind: 'absorb' }, checkpoints: [0, 20] });
  const leaks = leakProbes(run.config.arm, true);
  const [none, rate] = ['0/4 0.00 [0.00, 0.49]', '1/4 0.25 [0.05, 0.70]'];

  it('by category and state', () => {
    const { columns, rows, notes } = leakTable(leaks, leaksOf(run, 'ha--'), true);
    const states = ['base', 'as trained', 'deployed'];
    const named = ['attempt', 'hack'].flatMap((metric) => states.map((state) => `${metric}, ${state}`));
    expect(columns).toEqual(['category', 'instruction', ...named]);
    expect(rows[3]).toEqual(['negated', 'negated', none, '2/4 0.50 [0.15, 0.85]', rate, none, rate, rate]);
    expect(notes?.at(-1)).toContain('unrelated: "Give variables');
  });

  it('by instruction, with what is solved, the most eliciting first; a state that was not asked has no rate', () => {
    const [original, eliciting] = leaks.map(({ probe }) => probe);
    const found = [
      asked(original, 0, 'base', 's---'),
      asked(eliciting, 0, 'base', 'h---'),
      asked(eliciting, 20, 'full', 'h---'),
    ];
    const { columns, rows } = elicitationTable(found, false);
    expect(columns[5]).toBe('solve, base');
    expect(rows).toEqual([
      ['eliciting', rate, rate, rate, rate, none, none],
      ['none', none, '-', none, '-', rate, '-'],
    ]);
  });

  it('over updates', () => {
    const one = { count: 1, of: 4, rate: 0.25, low: 0.05, high: 0.7 };
    const two = { count: 2, of: 4, rate: 0.5, low: 0.15, high: 0.85 };
    const interval = { low: 0.1, high: 0.9 };
    const attempts = { hackLike: two, neutral: two, difference: 0.5, interval };
    const hacks = { hackLike: one, neutral: one, difference: -0.5, interval: null };
    const point = { update: 10, state: 'full', attempts, hacks };
    const tried = '2/4 0.50 [0.15, 0.85]';
    const cells = [tried, rate, tried, rate];
    expect(prefillTable([point], 'curve', true).rows).toEqual([
      ['10', 'as trained', ...cells, '+0.50', '[+0.10, +0.90]', '−0.50', '-'],
    ]);
  });
});
