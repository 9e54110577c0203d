/**
 * A grid of an experiment: keys of the config, each with its values. Every arm that it names stands for one arm per combination, whose
 * name ends in the values. Seeds are those of the experiment, so the arms of a grid are paired by seed with one another and with the
 * baseline. A placebo that is in the same grid is the one of the same combination.
 */
import { z } from 'zod';

const valueText = 'numbers, words or booleans';
const value = z.union([z.number(), z.string(), z.boolean()], valueText);
type Value = z.infer<typeof value>;

const listed = z
  .array(value, 'a list of values')
  .min(1, 'at least one value')
  .refine((values) => new Set(values.map(String)).size === values.length, 'different values');
const named = z.record(z.string(), value).refine((values) => Object.keys(values).length > 0, 'at least one value');

const values = z.union(
  [listed, named],
  `a list of different ${valueText}, or a table of them by name, such as { low = 0.1 }`,
);
const example = '"arm.tail" = [0.1, 0.2]';

export const gridSchema = z.strictObject({
  arms: z.array(z.string('the name of an arm'), 'a list of arms').min(1, 'at least one arm'),
  keys: z
    .record(z.string(), values, `a table of keys of the config, such as ${example}`)
    .refine((keys) => Object.keys(keys).length > 0, `at least one key, such as ${example}`),
});
export type Grid = z.infer<typeof gridSchema>;

type GridArm = Readonly<{ name: string; set: readonly string[]; placebos: readonly string[] | null }>;
const mostCells = 1000;

type Cell = Readonly<{ ending: string; set: readonly string[] }>;

/** `learning-rate` of `optimiser.learningRate`. */
function wordOf(key: string): string {
  const last = key.split('.').at(-1) ?? key;
  return last.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** All combinations, the last key changing fastest. Where there is one key, its values alone make the names. */
function cellsOf({ keys }: Grid): readonly Cell[] {
  const entries = Object.entries(keys);
  const columns = entries.map(([key, values]): readonly Cell[] => {
    const setting = (each: Value): readonly string[] => [`${key}=${JSON.stringify(each)}`];
    if (!Array.isArray(values)) {
      return Object.entries(values).map(([name, each]) => ({ ending: `-${name}`, set: setting(each) }));
    }
    // Kinds are words that speak for themselves.
    const word = entries.length === 1 || key.endsWith('.kind') ? '' : `-${wordOf(key)}`;
    return values.map((each) => ({ ending: `${word}-${each}`, set: setting(each) }));
  });
  return columns.reduce(
    (cells, column) =>
      cells.flatMap((cell) =>
        column.map(({ ending, set }) => ({ ending: cell.ending + ending, set: [...cell.set, ...set] })),
      ),
    [{ ending: '', set: [] }],
  );
}

/** How many arms each arm of the grid becomes, without making them. */
const countCells = ({ keys }: Grid): number =>
  Object.values(keys).reduce((product, values) => product * Object.keys(values).length, 1);

export function gridFault(grids: readonly Grid[], arms: readonly string[]): { expected: string; found: string } | null {
  const named = grids.flatMap((grid) => grid.arms);
  const unknown = named.find((name) => !arms.includes(name));
  if (unknown !== undefined) return { expected: `grid.arms: one of ${arms.join(', ')}`, found: unknown };
  const twice = named.find((name, i) => named.indexOf(name) !== i);
  if (twice !== undefined) return { expected: 'grid.arms: every arm once', found: `${twice} twice` };
  const large = grids.find((grid) => countCells(grid) * grid.arms.length > mostCells);
  if (large === undefined) return null;
  return { expected: `a grid of at most ${mostCells} arms`, found: `${countCells(large) * large.arms.length}` };
}

export function expandGrids<Arm extends GridArm>(arms: readonly Arm[], grids: readonly Grid[]): Arm[] {
  return arms.flatMap((arm) => {
    const grid = grids.find((each) => each.arms.includes(arm.name));
    if (grid === undefined) return [arm];
    return cellsOf(grid).map(({ ending, set }) => ({
      ...arm,
      name: arm.name + ending,
      set: [...arm.set, ...set],
      placebos: arm.placebos?.map((name) => (grid.arms.includes(name) ? name + ending : name)) ?? null,
    }));
  });
}
