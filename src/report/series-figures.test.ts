import { describe, expect, it } from 'vitest';
import { evaluationRows, type MadeRollout } from '../../test/lab/hand-made.ts';
import { madeRun, tenPrompts } from '../../test/lab/made-results.ts';
import { EvaluationStore } from '../evaluate/store.ts';
import { averageSeries } from './chart.ts';
import { readRunResult } from './run-result.ts';
import { curveSeries, seriesMarks, trainingSeries } from './series-figures.ts';
import { armStyle } from './svg.ts';

/** One letter per rollout. Unhinted prompts, samples of the deployed state and demonstrations have letters of their own. */
const kinds: Readonly<Record<string, Partial<MadeRollout>>> = {
  h: { hack: true },
  s: { solve: true },
  '-': {},
  S: { hackable: false, solve: true },
  u: { hackable: false },
  D: { sampled: 'deployed', hack: true },
  T: { source: 'teacher-hack', hack: true },
};
const rolloutsOf = (updates: readonly string[]): MadeRollout[] =>
  updates.flatMap((letters, i) => [...letters].map((letter) => ({ ...kinds[letter], update: i + 1 })));

const over = (values: readonly (readonly [number, number])[], first = 1) =>
  values.map(([count, of], i) => ({ x: first + i, y: count / of }));

describe('hack and solve while training', async () => {
  const run = await madeRun({ rollouts: rolloutsOf(['h-u', 's-DT', 'hhS', '--', 'hs', 'hhss', '-']) });

  it('hack: over the hinted prompts of the last five updates', () => {
    // Hacks of hinted prompts, one entry per update: 1/2, 0/2, 2/2, 0/2, 1/2, 2/4, 0/1.
    const expected = over([[1, 2], [1, 4], [3, 6], [3, 8], [4, 10], [5, 12], [5, 11]]); // biome-ignore format: one line
    expect(trainingSeries(run, 'hack')).toEqual(expected);
  });

  it('solve: over all prompts of the last five updates', () => {
    // Solves of all prompts, one entry per update: 0/3, 1/2, 1/3, 0/2, 1/2, 2/4, 0/1.
    const expected = over([[0, 3], [1, 5], [2, 8], [2, 10], [3, 12], [5, 13], [4, 12]]); // biome-ignore format: one line
    expect(trainingSeries(run, 'solve')).toEqual(expected);
  });

  it('hack has no point before the first hinted prompt; solve has', async () => {
    const late = await madeRun({ rollouts: rolloutsOf(['Su', 'h-']) });
    expect(trainingSeries(late, 'hack')).toEqual(over([[1, 2]], 2));
    expect(trainingSeries(late, 'solve')).toEqual(over([[1, 2], [1, 4]])); // biome-ignore format: one line
  });
});

describe('the curve set over updates', () => {
  const evaluations = [
    { update: 10, set: 'curve', state: 'full', outcomes: tenPrompts(6, 1) },
    { update: 10, set: 'curve', state: 'deployed', outcomes: tenPrompts(2, 4) },
    { update: 0, set: 'curve', state: 'base', outcomes: tenPrompts(0, 3) },
    { update: 5, set: 'curve', state: 'full', outcomes: tenPrompts(3, 2) },
    { update: 5, set: 'curve', state: 'deployed', outcomes: tenPrompts(1, 5) },
    { update: 10, set: 'test-original', state: 'full', outcomes: tenPrompts(9) },
  ] as const;
  const points = (values: readonly number[]) => values.map((y, i) => ({ x: 5 * i, y }));

  it.each([
    ['full', 'hack', [0, 0.3, 0.6]],
    ['full', 'solve', [0.3, 0.2, 0.1]],
    ['deployed', 'hack', [0, 0.1, 0.2]],
    ['deployed', 'solve', [0.3, 0.5, 0.4]],
  ] as const)('%s, %s: the base at 0, then every checkpoint in order', async (state, metric, expected) => {
    const run = await madeRun({ arm: { kind: 'activation' }, evaluations });
    expect(curveSeries(run, state, metric)).toEqual(points(expected));
  });

  it('an arm without a quarantine deploys what it trained', async () => {
    const run = await madeRun({ arm: { kind: 'vanilla' }, evaluations });
    expect(curveSeries(run, 'deployed', 'hack')).toEqual(points([0, 0.3, 0.6]));
  });
});

describe('a curve with evaluations on the first prompts too', () => {
  it('has one point an update, on the whole set', async () => {
    const whole = { update: 10, set: 'curve' as const, state: 'full' as const, outcomes: tenPrompts(3) };
    const run = await madeRun({ evaluations: [whole] });
    const store = new EvaluationStore(run.path);
    const rows = evaluationRows({ ...whole, outcomes: 'hh' });
    await store.save({ update: 10, set: 'curve', state: 'full', limit: 2, seed: 1, key: 'key', problems: null, rows });
    expect(curveSeries(await readRunResult(run.path), 'full', 'hack')).toEqual([{ x: 10, y: 0.3 }]);
  });
});

describe('series over seeds', () => {
  const line = (...ys: number[]) => ys.map((y, i) => ({ x: 10 * i, y }));

  it('are a mean with its standard error; one seed has none', () => {
    // The standard error is the deviation of 0.5, 1 and 1.5, which is 0.5, over √3.
    const [point] = averageSeries([line(0.5), line(1), line(1.5)]);
    expect(point).toMatchObject({ x: 0, y: 1, n: 3 });
    expect(point.sem).toBeCloseTo(0.288675, 6);
    expect(averageSeries([line(0.25, 0.75)])).toEqual([
      { x: 0, y: 0.25, n: 1, sem: null },
      { x: 10, y: 0.75, n: 1, sem: null },
    ]);
    expect(averageSeries([])).toEqual([]);
  });

  it('the band goes one standard error to either side, from three seeds on', () => {
    const [band, middle] = seriesMarks([line(0.5), line(1), line(1.5)], { colour: '#123456' });
    expect(band).toMatchObject({ kind: 'band', colour: '#123456' });
    if (band.kind === 'band') {
      expect(band.points[0].low).toBeCloseTo(1 - 0.288675, 6);
      expect(band.points[0].high).toBeCloseTo(1 + 0.288675, 6);
    }
    expect(middle).toMatchObject({ kind: 'line', points: [{ x: 0, y: 1 }] });
  });

  it('seeds without a point do not count towards a band', () => {
    const marks = seriesMarks([line(0.5), [], line(1)], { colour: '#123456' });
    expect(marks.map(({ kind }) => kind)).toEqual(['line', 'line']);
    expect(seriesMarks([[], []], { colour: '#123456' })).toEqual([]);
  });
});

describe('the look of an arm', () => {
  it('is its own: where a colour comes again, dash and shape differ', () => {
    const looks = Array.from({ length: 36 }, (_, i) => armStyle(i));
    for (const key of ['dash', 'shape'] as const) {
      expect(new Set(looks.map((look) => `${look.colour} ${look[key]}`)).size).toBe(36);
    }
  });
});
