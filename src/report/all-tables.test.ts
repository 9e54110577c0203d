/** What `gq results` prints as text without being asked for more, and the order of all tables. */
import { describe, expect, it } from 'vitest';
import type { MadeEvaluation } from '../../test/lab/hand-made.ts';
import { type MadeResults, madeResults, tenPrompts } from '../../test/lab/made-results.ts';
import { plain } from '../../test/lab/plain.ts';
import { allTables, firstTables, reportTables } from './all-tables.ts';
import { compareArms } from './comparisons.ts';
import { renderReport } from './html.ts';

/** A run that is evaluated with novel and original markers, and for which training is recorded. */
function runOf(name: string, seed: number, hacks: number): MadeResults {
  const at = (set: MadeEvaluation['set'], state: 'full' | 'deployed'): MadeEvaluation => ({
    ...{ update: 20, set, state, outcomes: tenPrompts(hacks) },
  });
  return {
    ...{ name, seed, checkpoints: [0, 20] },
    arm: { kind: name === 'vanilla' ? 'vanilla' : 'activation' },
    steps: [{ update: 1 }],
    evaluations: (['test-novel', 'test-original'] as const).flatMap((set) => [at(set, 'full'), at(set, 'deployed')]),
  };
}
const study = (...seeds: readonly number[]) =>
  madeResults(seeds.flatMap((seed) => [runOf('vanilla', seed, 8), runOf('gate', seed, 1)]));

const original = 'held-out problems, original markers';
const novel = 'held-out problems, novel markers';

describe('the tables that come first', () => {
  it('of one seed are its rates, on the claimed set first; the others are named by their kinds', async () => {
    const { tables, others } = firstTables(await study(1));
    expect(tables.map(({ title }) => title)).toEqual([original, novel]);
    expect(others).toEqual([
      'runs that fail',
      'paired differences',
      'while training',
      'what each part buys',
      'solve beside that of the reference',
    ]);
  });

  it('of two seeds have what is about seeds', async () => {
    const { tables, others } = firstTables(await study(1, 2));
    expect(tables.map(({ title }) => title)).toEqual([
      ...[original, novel, `runs that fail, ${original}`, `runs that fail, paired by seed, ${original}`],
    ]);
    // Of two seeds no difference is tested.
    expect(others).toContain('paired differences');
    const { tables: three } = firstTables(await study(1, 2, 3));
    expect(three.map(({ title }) => title)).toContain(`attempt deployed, paired differences, ${original}`);
  });

  it('have no column without a value, and no rates that others stand for', async () => {
    const results = await madeResults([runOf('vanilla', 1, 8)]);
    const [{ columns }] = firstTables(results).tables;
    expect(columns).toEqual([
      'arm',
      'n',
      'attempt deployed',
      'hack deployed',
      'solve deployed',
      'clean solve deployed',
    ]);
    expect(allTables(results)[0].columns).toContain('attempt as trained');
  });

  it('are all that there are where nothing is evaluated', async () => {
    const results = await madeResults([{ steps: [{ update: 1 }] }]);
    const { tables, others } = firstTables(results);
    expect({ tables, others }).toEqual({ tables: allTables(results), others: [] });
    expect(tables.map(({ title }) => title)).toContain('while training');
  });
});

it('every format has all tables, those of the claimed set before those of another', async () => {
  const titles = allTables(await study(1)).map(({ title }) => title);
  expect(titles.indexOf(original)).toBeLessThan(titles.indexOf(novel));
  expect(titles).toContain(`hack deployed, paired differences, ${novel}`);
});

it('two seeds have no test and no interval over seeds, however alike they are', async () => {
  const cells = async (seeds: number) => {
    const hacks = [[10, 1], [9, 1], [10, 0]].slice(0, seeds); // biome-ignore format: one line
    const runs = hacks.flatMap(([vanilla, gate], i) => [runOf('vanilla', i + 1, vanilla), runOf('gate', i + 1, gate)]);
    const results = await madeResults(runs);
    const wanted = [`attempt deployed, paired differences, ${original}`, `runs that fail, paired by seed, ${original}`];
    const said = wanted.map((name) => {
      const [{ columns, rows }] = plain(allTables(results)).filter(({ title }) => title === name);
      return columns.flatMap((column, i) => (/^p($| \((Holm|McNemar)\))|interval/.test(column) ? rows[0][i] : []));
    });
    return { said, detectable: compareArms(results, 'test-original', 'attempt')[0].detectable };
  };
  expect(await cells(2)).toEqual({ said: [['-', '-', '-'], ['-', '-']], detectable: null }); // biome-ignore format: one line
  const { said, detectable } = await cells(3);
  expect(said).toEqual([['[−1.00, −0.65]', '0.004', '0.004'], ['0.250', '0.250']]); // biome-ignore format: one line
  expect(detectable).toBeGreaterThan(0);
});

describe('the tables of a report', () => {
  const isPaired = ({ title }: { readonly title: string }): boolean => title.includes('paired');

  it('leave those of pairs out, and count them, where no two seeds have both arms', async () => {
    const results = await study(1);
    const { tables, unpaired } = reportTables(results);
    expect(tables.filter(isPaired)).toEqual([]);
    expect(unpaired).toBe(allTables(results).filter(isPaired).length);
    expect(unpaired).toBeGreaterThan(3);
    const html = await renderReport(results, { title: 'made', commands: [] });
    expect(html).toContain(
      `<p>${unpaired} tables of paired differences left out: no two arms have two seeds in common.</p>`,
    );
  });

  it('are all of two seeds', async () => {
    const results = await study(1, 2);
    expect(reportTables(results)).toEqual({ tables: allTables(results), unpaired: 0 });
    expect(await renderReport(results, { title: 'made', commands: [] })).not.toContain('left out');
  });
});
