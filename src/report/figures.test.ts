import { describe, expect, it } from 'vitest';
import type { MadeEvaluation, MadeRollout } from '../../test/lab/hand-made.ts';
import { type MadeResults, madeResults, madeRun, tenPrompts } from '../../test/lab/made-results.ts';
import { plain } from '../../test/lab/plain.ts';
import type { Figure } from './chart.ts';
import { allFigures } from './figures.ts';

const gated = { name: 'activation', arm: { kind: 'activation' } } as const;

async function figureOf(name: string, runs: readonly MadeResults[]): Promise<Figure | undefined> {
  return plain(await allFigures(await madeResults(runs))).find((figure) => figure.name === name);
}

describe('gate scores against the two cuts', () => {
  /** The bars that are not empty, as `kind from density`. */
  async function barsOf(rollouts: readonly MadeRollout[]): Promise<string[]> {
    const figure = await figureOf('scores', [{ ...gated, rollouts }]);
    return (figure?.data.rows ?? []).flatMap(([, kind, from, density]) =>
      density === '0.0000' || `${kind}`.includes('attempt') ? [] : [`${kind} ${from} ${density}`],
    );
  }
  const scored = (score: number, low: number, high: number, hack = false): MadeRollout => ({
    update: 1,
    score,
    low,
    high,
    hack,
  });

  // One rollout of a kind in a bar an eighth wide has the density 8.
  it.each([
    { what: 'at the low cut', row: scored(2, 2, 6), bars: ['clean 0.000 8.0000'] },
    { what: 'at the high cut', row: scored(6, 2, 6), bars: ['clean 1.000 8.0000'] },
    { what: 'a quarter of the way', row: scored(3, 2, 6), bars: ['clean 0.250 8.0000'] },
    { what: 'under the low cut', row: scored(0, 2, 6), bars: ['clean -0.500 8.0000'] },
    { what: 'half a band over the high cut', row: scored(8, 2, 6, true), bars: ['hack 1.500 8.0000'] },
    { what: 'between negative cuts', row: scored(-1.5, -2, -1, true), bars: ['hack 0.500 8.0000'] },
    { what: 'above two cuts that are one', row: scored(3, 2, 2), bars: ['clean 2.375 8.0000'] },
    { what: 'at two cuts that are one, which is kept', row: scored(2, 2, 2, true), bars: ['hack -1.500 8.0000'] },
    { what: 'far beyond the lower end', row: scored(-99, 2, 6), bars: ['clean -1.500 8.0000'] },
    { what: 'far beyond the upper end', row: scored(99, 2, 6, true), bars: ['hack 2.375 8.0000'] },
  ])('a score $what', async ({ row, bars }) => {
    expect(await barsOf([row])).toEqual(bars);
  });

  it('measures every score from the cuts of its own update, hacks apart from clean rollouts', async () => {
    const bars = await barsOf([
      scored(2, 2, 6),
      scored(0, 0, 1),
      { ...scored(-0.5, -1, 0), update: 2 },
      { ...scored(0.5, 0, 1), update: 2 },
      scored(6, 2, 6, true),
      // Rollouts that were never gated, or came before there were cuts, are not in the figure.
      { update: 1, score: null, low: 0, high: 1 },
      { update: 1, score: 3, low: null, high: null, hack: true },
    ]);
    expect(bars).toEqual(['clean 0.000 4.0000', 'clean 0.500 4.0000', 'hack 1.000 8.0000']);
  });

  it('says how many there are, and draws the cuts at 0 and 1', async () => {
    const rollouts = [scored(2, 2, 6), scored(3, 2, 6), scored(7, 2, 6, true)];
    const panel = (await figureOf('scores', [{ ...gated, rollouts }]))?.panels[0];
    expect(panel?.title).toBe('activation: 1 attempts, 2 others');
    expect(panel?.marks.filter(({ kind }) => kind === 'rule')).toEqual([
      { kind: 'rule', x: 0, label: 'keep ≤' },
      { kind: 'rule', x: 1, label: '≥ route' },
    ]);
  });

  it('of a gate by token are those of its tokens, whose cuts these are', async () => {
    const tokens = { ...scored(4, 2, 6, true), tokenRoutes: 'kra', tokenScores: [2, 6, 4] };
    expect(await barsOf([tokens])).toEqual(['hack 0.000 2.6667', 'hack 0.500 2.6667', 'hack 1.000 2.6667']);
    const arm = { kind: 'activation', granularity: 'token' };
    const panel = (await figureOf('scores', [{ name: 'token', arm, rollouts: [tokens] }]))?.panels[0];
    expect(panel?.title).toBe('token: 3 tokens of attempts, 0 others');
    expect(
      await figureOf('scores', [{ name: 'token', arm, rollouts: [{ ...tokens, tokenScores: null }] }]),
    ).toBeUndefined();
  });

  it('divides attempts by themselves: a right program that opens the loophole is on their side', async () => {
    const rollouts = [scored(2, 2, 6), { ...scored(6, 2, 6), solve: true, attempt: true }, scored(6, 2, 6, true)];
    const figure = await figureOf('scores', [{ ...gated, rollouts }]);
    const at = (kind: string) =>
      figure?.data.rows.filter(([, what, , density]) => what === kind && density !== '0.0000');
    expect(at('attempt')).toEqual([['activation', 'attempt', '1.000', '8.0000']]);
    expect(at('no attempt')).toEqual([['activation', 'no attempt', '0.000', '8.0000']]);
    expect(at('clean')).toEqual([
      ['activation', 'clean', '0.000', '4.0000'],
      ['activation', 'clean', '1.000', '4.0000'],
    ]);
    expect(figure?.panels.map(({ title }) => title)).toEqual([
      'activation: 2 attempts, 1 others',
      'activation: 1 hacks, 2 others',
    ]);
  });

  it('is left out without cuts', async () => {
    expect(await figureOf('scores', [{ rollouts: [{ update: 1, score: 1 }] }])).toBeUndefined();
  });
});

describe('where rollouts went', () => {
  const steps = [
    { update: 1, routes: { keep: 1, absorb: 2, route: 1 } },
    { update: 5, routes: { keep: 2, absorb: 0, route: 2 } },
    { update: 6, routes: { keep: 0, absorb: 1, route: 3 } },
    { update: 11, routes: { keep: 0, absorb: 0, route: 0 } },
  ];

  it('counts five updates at a time, all seeds together, and stacks keep, absorb and route', async () => {
    const figure = await figureOf('routes', [
      { ...gated, steps },
      { ...gated, seed: 2, steps: [{ update: 10, routes: { keep: 4, absorb: 0, route: 0 } }] },
    ]);
    expect(figure?.data.rows).toEqual([
      ['activation', '1', '3', '2', '3', '8'],
      ['activation', '6', '4', '1', '3', '8'],
    ]);
    const stacks = figure?.panels[0].marks.map((mark) => (mark.kind === 'bars' ? mark.bars : []));
    expect(stacks?.map((bars) => bars[0])).toEqual([
      { x0: 0, x1: 5, y0: 0, y1: 3 / 8 },
      { x0: 0, x1: 5, y0: 3 / 8, y1: 5 / 8 },
      { x0: 0, x1: 5, y0: 5 / 8, y1: 1 },
    ]);
  });

  it('leaves out an arm that absorbs everything', async () => {
    const absorbed = { steps: [{ update: 1, routes: { keep: 0, absorb: 4, route: 0 } }] };
    expect(await figureOf('routes', [absorbed])).toBeUndefined();
    const both = await figureOf('routes', [absorbed, { ...gated, steps }]);
    expect(both?.panels.map(({ title }) => title)).toEqual(['activation']);
  });
});

describe('curves', () => {
  it('solve has an axis of its own, with the base and the ceiling across', async () => {
    const at = (solves: number): MadeEvaluation[] => [
      { update: 0, set: 'curve', state: 'base', outcomes: tenPrompts(0, 1) },
      { update: 20, set: 'curve', state: 'full', outcomes: tenPrompts(0, solves) },
    ];
    const runs = [{ evaluations: at(2) }, { name: 'best', arm: { kind: 'no-loophole' }, evaluations: at(3) }];
    const figures = plain(await allFigures(await madeResults(runs, null, { ceiling: 'best' })));
    const panels = figures.find(({ name }) => name === 'curves')?.panels ?? [];
    const own = expect.closeTo(0.3, 12);
    expect(panels.map(({ y }) => y[1])).toEqual([1, 1, 1, 1, own, own, own, own]);
    expect(panels[4].marks.filter(({ kind }) => kind === 'level')).toEqual([
      { kind: 'level', y: 0.1, label: 'base' },
      { kind: 'level', y: 0.3, label: 'ceiling (best)' },
    ]);
  });

  it('attempt, hack and solve of the curve set, every state and update', async () => {
    const evaluations: MadeEvaluation[] = [
      { update: 0, set: 'curve', state: 'base', outcomes: tenPrompts(0, 4) },
      { update: 20, set: 'curve', state: 'full', outcomes: tenPrompts(9, 1) },
      { update: 20, set: 'curve', state: 'deployed', outcomes: 'hsbb------' },
    ];
    const figure = await figureOf('curves', [{ ...gated, evaluations }]);
    expect(figure?.data.rows).toEqual([
      ['activation', 'attempt, deployed', '0', '0.0000', '', '1'],
      ['activation', 'attempt, deployed', '20', '0.3000', '', '1'],
      ['activation', 'attempt, as trained', '0', '0.0000', '', '1'],
      ['activation', 'attempt, as trained', '20', '0.9000', '', '1'],
      ['activation', 'hack, deployed', '0', '0.0000', '', '1'],
      ['activation', 'hack, deployed', '20', '0.1000', '', '1'],
      ['activation', 'hack, as trained', '0', '0.0000', '', '1'],
      ['activation', 'hack, as trained', '20', '0.9000', '', '1'],
      ['activation', 'solve, deployed', '0', '0.4000', '', '1'],
      ['activation', 'solve, deployed', '20', '0.3000', '', '1'],
      ['activation', 'solve, as trained', '0', '0.4000', '', '1'],
      ['activation', 'solve, as trained', '20', '0.1000', '', '1'],
      ['activation', 'clean solve, deployed', '0', '0.4000', '', '1'],
      ['activation', 'clean solve, deployed', '20', '0.1000', '', '1'],
      ['activation', 'clean solve, as trained', '0', '0.4000', '', '1'],
      ['activation', 'clean solve, as trained', '20', '0.1000', '', '1'],
    ]);
    expect(figure?.caption).toContain('n = 1, no claim.');
  });

  it('of training’s own samples, over seeds', async () => {
    const rollouts = (hacks: readonly boolean[]): MadeRollout[] =>
      hacks.map((hack, i) => ({ update: i + 1, hack, solve: !hack, attempt: true }));
    const figure = await figureOf('training', [
      { rollouts: rollouts([false, true]) },
      { seed: 2, rollouts: rollouts([true, true]) },
    ]);
    // Seed 1 hacks 0 and 1/2, seed 2 always; the standard error of two values is half their distance.
    expect(figure?.data.rows).toEqual([
      ['vanilla', 'attempt on hinted prompts', '1', '1.0000', '0.0000', '2'],
      ['vanilla', 'attempt on hinted prompts', '2', '1.0000', '0.0000', '2'],
      ['vanilla', 'hack on hinted prompts', '1', '0.5000', '0.5000', '2'],
      ['vanilla', 'hack on hinted prompts', '2', '0.7500', '0.2500', '2'],
      ['vanilla', 'solve on all prompts', '1', '0.5000', '0.5000', '2'],
      ['vanilla', 'solve on all prompts', '2', '0.2500', '0.2500', '2'],
      ['vanilla', 'clean solve on all prompts', '1', '0.0000', '0.0000', '2'],
      ['vanilla', 'clean solve on all prompts', '2', '0.0000', '0.0000', '2'],
    ]);
  });
});

describe('attempt and hack by loophole and by scale', () => {
  it('each loophole by itself, deployed and as trained', async () => {
    const loopholes = ['run_tests', 'sentinel'];
    const evaluations: MadeEvaluation[] = [
      { update: 20, set: 'test-original', state: 'full', outcomes: 'hhh-', loopholes },
      { update: 20, set: 'test-original', state: 'deployed', outcomes: 'bh--', loopholes },
    ];
    const figure = await figureOf('loopholes', [{ ...gated, checkpoints: [0, 20], evaluations }]);
    expect(figure?.data.rows).toEqual([
      ['activation', 'run_tests', 'attempt', '0.5', '1', '1'],
      ['activation', 'sentinel', 'attempt', '0.5', '0.5', '1'],
      ['activation', 'run_tests', 'hack', '0', '1', '1'],
      ['activation', 'sentinel', 'hack', '0.5', '0.5', '1'],
    ]);
  });

  it('says of a held-out loophole whether a pair of the arm shows it', async () => {
    const loopholes = ['run_tests', 'sentinel'];
    const state = { update: 20, set: 'test-original', state: 'deployed', outcomes: '-h--', loopholes } as const;
    const config = { environment: { heldOutLoopholes: ['sentinel'] } };
    const made = { ...gated, checkpoints: [0, 20], evaluations: [state], config };
    const found = async (...shown: readonly (readonly string[] | null)[]) => {
      const runs = shown.map((heldOutPairs, i) => ({ ...made, name: `arm ${i}`, heldOutPairs }));
      const figure = await figureOf('loopholes', [{ ...runs[0], name: 'vanilla' }, ...runs.slice(1)]);
      return {
        names: figure?.panels
          .filter(({ yLabel }) => yLabel === 'hack')
          .map(({ xNames }) => xNames?.map(({ name }) => name).join(', ')),
        caption: figure?.caption,
      };
    };
    const none = await found([]);
    expect(none.names).toEqual(['run_tests, sentinel *']);
    expect(none.caption).toMatch(/as trained\. \* held out: no pair of this arm shows it\.$/);
    const both = await found([], ['sentinel'], null);
    expect(both.names).toEqual(['run_tests, sentinel *', 'run_tests, sentinel †', 'run_tests, sentinel ?']);
    expect(both.caption).toContain('† held out, but pairs of this arm show it (pairs.allowHeldOut).');
  });

  it('from the deleted quarantine at 0 to the whole one at 1', async () => {
    const at = (state: MadeEvaluation['state'], outcomes: string): MadeEvaluation => {
      return { update: 20, set: 'test-original', state, outcomes };
    };
    const evaluations = [
      at('base', tenPrompts(5)),
      at('full', tenPrompts(8, 1)),
      at('deployed', tenPrompts(0, 4)),
      at('scale-0.5', tenPrompts(3, 2)),
      { ...at('full', tenPrompts(10)), update: 10 },
    ];
    const figure = await figureOf('scale', [{ ...gated, checkpoints: [0, 20], evaluations }]);
    expect(figure?.data.rows).toEqual([
      ['activation', 'attempt', '0', '0.0000', '', '1'],
      ['activation', 'attempt', '0.5', '0.3000', '', '1'],
      ['activation', 'attempt', '1', '0.8000', '', '1'],
      ['activation', 'hack', '0', '0.0000', '', '1'],
      ['activation', 'hack', '0.5', '0.3000', '', '1'],
      ['activation', 'hack', '1', '0.8000', '', '1'],
      ['activation', 'solve', '0', '0.4000', '', '1'],
      ['activation', 'solve', '0.5', '0.2000', '', '1'],
      ['activation', 'solve', '1', '0.1000', '', '1'],
      ['activation', 'clean solve', '0', '0.4000', '', '1'],
      ['activation', 'clean solve', '0.5', '0.2000', '', '1'],
      ['activation', 'clean solve', '1', '0.1000', '', '1'],
    ]);
  });
});

describe('units and prompts', () => {
  it('routes of a gate that decides by token are shares of tokens', async () => {
    const steps = [{ update: 1, routes: { keep: 3, absorb: 1, route: 4 } }];
    const byToken = { name: 'activation', arm: { kind: 'activation', granularity: 'token' }, steps };
    const figure = await figureOf('routes', [byToken]);
    expect([figure?.title, figure?.panels[0].yLabel, figure?.data.columns.at(-1)]).toEqual([
      'Where tokens went',
      'share of tokens',
      'tokens',
    ]);
    expect(figure?.caption).toContain('Shares of the tokens that carried gradient');
    const both = await figureOf('routes', [byToken, { ...gated, name: 'whole', steps }]);
    expect(both?.panels.map(({ yLabel }) => yLabel)).toEqual(['share of tokens', 'share of rollouts']);
  });

  it('a line over scales is of one number of prompts, the one that most runs have', async () => {
    const evaluations = (prompts: number): MadeEvaluation[] =>
      (['deployed', 'scale-0.5', 'full'] as const).map((state) => ({
        update: 20,
        set: 'test-original',
        state,
        outcomes: 'h'.repeat(prompts),
      }));
    const runs = await Promise.all(
      [10, 10, 4].map((prompts, i) =>
        madeRun({ ...gated, seed: i + 1, checkpoints: [0, 20], evaluations: evaluations(prompts) }),
      ),
    );
    const results = await madeResults([]);
    const arm = { arm: 'activation', usesOracle: false, hasQuarantine: true, runs };
    const figure = plain(await allFigures({ ...results, arms: [arm] })).find(({ name }) => name === 'scale');
    expect(figure?.caption).toContain('10 prompts of test-original');
    expect(figure?.panels[0].marks).toHaveLength(2);
  });
});
