/** What a reader can choose, and how a link says it: a seed, what both lanes share, and for each lane a remedy with its sliders. */
import type { RunConfig } from '../run/index.ts';

export interface Slider {
  /** The key of the config that it sets. */
  readonly path: string;
  readonly name: string;
  readonly least: number;
  readonly most: number;
  readonly step: number;
}

export interface PlaygroundArm {
  readonly name: string;
  readonly group: string;
  /** What decides, within the group. */
  readonly by: string;
  readonly means: string;
  readonly config: RunConfig;
  readonly sliders: readonly Slider[];
}

export interface Plan {
  readonly arms: readonly PlaygroundArm[];
  /** Of both lanes. */
  readonly world: readonly Slider[];
}

/** The values that differ from those of the config, by their keys. */
type Values = Readonly<Record<string, number>>;

export interface PageChoice {
  readonly seed: number;
  readonly world: Values;
  readonly lanes: readonly { readonly arm: string; readonly values: Values }[];
}

const sides = ['left', 'right'];
const usual = ['nothing', 'quarantine'];
const shortName = (path: string): string => path.split('.').at(-1) ?? path;

export const laneArm = ({ arms }: Plan, name: string): PlaygroundArm =>
  arms.find((arm) => arm.name === name) ?? arms[0];

type Table = Readonly<Record<string, unknown>>;

export function numberAt(config: RunConfig, path: string): number {
  return path.split('.').reduce<unknown>((table, key) => (table as Table)[key], config) as number;
}

function withValue<Value>(table: Value, [key, ...rest]: readonly string[], value: number): Value {
  const within = (table as Table)[key];
  return { ...table, [key]: rest.length === 0 ? value : withValue(within, rest, value) };
}

/** The config of a lane: the one that the command line makes of the same keys. */
export function configOf(plan: Plan, { seed, world, lanes }: PageChoice, side: number): RunConfig {
  const { arm, values } = lanes[side];
  const config: RunConfig = { ...laneArm(plan, arm).config, seed };
  return Object.entries({ ...world, ...values }).reduce(
    (made, [path, value]) => withValue(made, path.split('.'), value),
    config,
  );
}

/** What of a link cannot be meant is left out. */
export function readLink(hash: string, plan: Plan): PageChoice {
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  const read = (sliders: readonly Slider[], config: RunConfig, prefix = ''): Values =>
    Object.fromEntries(
      sliders.flatMap(({ path, least, most }) => {
        const text = given.get(`${prefix}${shortName(path)}`);
        const value = Math.min(most, Math.max(least, Number(text)));
        const isMeant = text !== null && Number.isFinite(value) && value !== numberAt(config, path);
        return isMeant ? [[path, value]] : [];
      }),
    );
  const seed = Number(given.get('seed') ?? 1);
  return {
    seed: Number.isSafeInteger(seed) && seed >= 0 ? seed : 1,
    world: read(plan.world, plan.arms[0].config),
    lanes: sides.map((side, i) => {
      const arm = laneArm(plan, given.get(side) ?? usual[i]);
      return { arm: arm.name, values: read(arm.sliders, arm.config, `${side}.`) };
    }),
  };
}

export function linkOf({ seed, world, lanes }: PageChoice): string {
  const link = new URLSearchParams({ seed: String(seed) });
  for (const [path, value] of Object.entries(world)) link.set(shortName(path), String(value));
  for (const [i, { arm, values }] of lanes.entries()) {
    link.set(sides[i], arm);
    for (const [path, value] of Object.entries(values)) link.set(`${sides[i]}.${shortName(path)}`, String(value));
  }
  return `#${link}`;
}
