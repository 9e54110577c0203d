/** Arms by what watches and what is done, from runs written by hand. */
import { expect, it } from 'vitest';
import { madeArm, madeResults } from '../../test/lab/made-results.ts';
import { plain } from '../../test/lab/plain.ts';
import { allTables } from './all-tables.ts';
import { actionOf, baselineTables } from './baselines.ts';
import type { Figure, Mark } from './chart.ts';
import { allFigures } from './figures.ts';

const some: readonly (readonly [number, number])[] = [[1, 5], [1, 4], [0, 6]]; // biome-ignore format: one line
const monitor = (kind: string, more: object = {}) => ({ monitor: { kind, ...more } });
const references = [
  ...madeArm('vanilla', { kind: 'vanilla' }, [[5, 5], [4, 5], [6, 4]]), // biome-ignore format: one line
  ...madeArm('ceiling', { kind: 'no-loophole' }, [[0, 8], [0, 7], [0, 9]]), // biome-ignore format: one line
];
const gates = [
  ...madeArm('gate', { kind: 'activation' }, some),
  ...madeArm('haar', { kind: 'activation', placebo: 'haar' }, some),
];
const all = await madeResults(
  [
    ...references,
    ...madeArm('penalty-probe', { kind: 'penalty', ...monitor('probe') }, some),
    ...madeArm('penalty-oracle', { kind: 'penalty', ...monitor('oracle', { accuracy: 0.9 }) }, some),
    ...gates,
    ...madeArm('additive', { kind: 'advantage-modification', form: 'additive', ...monitor('direction') }, some),
    ...madeArm('steer', { kind: 'steer' }, some),
    ...madeArm('routed-probe', { kind: 'routed', ...monitor('probe', { layers: 'least' }) }, some),
  ],
  'haar',
  { ceiling: 'ceiling' },
);

const figures = plain(await allFigures(all));
const figureOf = (name: string): Figure | undefined => figures.find((figure) => figure.name === name);

it('names what watches and what is done', () => {
  expect(all.arms.map((arm) => [arm.arm, ...Object.values(actionOf(arm))])).toEqual([
    ['vanilla', null, 'vanilla', 'vanilla'],
    ['ceiling', null, 'ceiling', 'no-loophole'],
    ['penalty-probe', 'probe', 'penalty', 'penalty'],
    ['penalty-oracle', 'oracle 0.9', 'penalty', 'penalty'],
    ['gate', 'direction', 'gate', 'gate'],
    ['haar', 'haar direction', 'gate', 'gate'],
    ['additive', 'direction', 'advantage-modification additive', 'advantage-modification'],
    ['steer', null, 'steer', 'steer'],
    ['routed-probe', 'probe by layer, least', 'routed', 'routed'],
  ]);
});

it('an arm of three tables is told by its remedy, as one that is named by it', async () => {
  const tables = { ...monitor('probe'), cut: { kind: 'otsu' } };
  const said = await madeResults(
    [...references, ...madeArm('said', { kind: 'watched', ...tables, remedy: { kind: 'route', mean: 'own' } }, some)],
    'haar',
    { ceiling: 'ceiling' },
  );
  expect(said.arms.map(actionOf).at(-1)).toEqual({
    monitor: 'probe Otsu',
    action: 'routed, own mean',
    kind: 'routed',
  });
});

it('a single arm with a monitor has its row beside the baseline; gates alone have no such table', () => {
  const rows = (...names: readonly string[]): readonly (string | undefined)[] => {
    const [first] = plain(allTables({ ...all, arms: all.arms.filter(({ arm }) => names.includes(arm)) }));
    return first.title.includes('side by side') ? first.rows.map(([arm]) => arm) : [];
  };
  expect(rows('vanilla', 'ceiling', 'penalty-probe')).toEqual(['vanilla', 'ceiling', 'penalty-probe']);
  expect(rows('vanilla', 'ceiling', 'gate', 'haar')).toEqual([]);
});

it('the table comes first, monitor by monitor, and labels have a table of their own', () => {
  const [blind, labelled, next] = plain(allTables(all));
  expect(blind.rows.map(([arm]) => arm)).toEqual([
    ...['vanilla', 'ceiling', 'steer', 'penalty-probe', 'gate', 'additive', 'haar', 'routed-probe'],
  ]);
  expect(labelled.rows.map(([arm]) => arm)).toEqual(['penalty-oracle']);
  expect(labelled.title).toContain('with labels');
  expect(next.title).not.toContain('side by side');
  // Deployed − base: 0.3, 0.2, 0.4; ceiling − base: 0.6, 0.5, 0.7. Hacks 0.2 of 1.5.
  const row = Object.fromEntries(blind.columns.map((column, i) => [column, blind.rows[3][i]]));
  expect(row).toMatchObject({ 'watched by': 'probe', 'what is done': 'penalty', n: '3', hack: '0.07 ± 0.03' });
  expect(row['hack removed']).toMatch(/^0\.87 \[/);
  expect(row['solve kept']).toMatch(/^0\.50 \[/);
});

it('the picture has a colour a monitor, a shape an action, and panels that never mix labels with none', () => {
  const figure = figureOf('baselines');
  const found = figure?.panels.map(({ title, yLabel, marks }) => [
    ...[title, yLabel, marks.filter(({ kind }) => kind === 'dots').length],
  ]);
  expect(found).toEqual(
    ['attempt removed', 'hack removed'].flatMap((removed) => [
      ['by a monitor, without labels', removed, 5],
      ['without a monitor', removed, 1],
      ['with labels', removed, 1],
    ]),
  );
  const dots = (figure?.panels ?? [])
    .slice(3)
    .flatMap(({ marks }) => marks.filter((mark): mark is Extract<Mark, { kind: 'dots' }> => mark.kind === 'dots'));
  const [penalty, gate, haar, additive, routed, steer, oracle] = dots;
  expect(gate.colour).toBe(additive.colour);
  expect(new Set([penalty, gate, haar, routed, steer, oracle].map(({ colour }) => colour)).size).toBe(6);
  expect(penalty.shape).toBe(oracle.shape);
  expect(new Set([penalty, gate, additive, routed].map(({ shape }) => shape)).size).toBe(4);
  expect(dots.map(({ open }) => open)).toEqual([false, false, true, false, false, false, false]);
  expect(figure?.panels[0].marks.at(-1)).toMatchObject({ kind: 'labels', points: [{ text: 'additive' }] });
  expect(figure?.legend.at(-1)).toMatchObject({ label: '1 steer', newRow: true });
  expect(figure?.data.rows[0].slice(0, 6)).toEqual(['penalty-probe', 'probe', 'penalty', 'false', '3', '0.5000']);
  expect(figure?.panels.every(({ x, y }) => x === figure.panels[0].x && y === figure.panels[0].y)).toBe(true);
  // Means take the place of a point per seed.
  expect(figureOf('kept')).toBeUndefined();
});

it('are not there where nothing but gates is compared', async () => {
  const results = await madeResults([...references, ...gates], null, { ceiling: 'ceiling' });
  expect(plain(await allFigures(results)).map(({ name }) => name)).not.toContain('baselines');
  expect(plain(baselineTables(results))).toEqual([]);
});
