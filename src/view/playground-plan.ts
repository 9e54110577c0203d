/** What a reader can choose, and how a link says it: a seed, what both lanes share, for each lane a remedy with its sliders, and what is looked at. */
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
  /** Bytes of Python for programs of the reader's own, as they travel; null where `gq playground` had none to copy. */
  readonly pythonBytes: number | null;
}

/** The values that differ from those of the config, by their keys. */
type Values = Readonly<Record<string, number>>;

export interface PageChoice {
  readonly seed: number;
  readonly world: Values;
  readonly lanes: readonly { readonly arm: string; readonly values: Values }[];
}

/** What is looked at; it changes nothing that is trained. */
export interface Look {
  /** Which of the held-out prompts is shown, from 0. */
  readonly prompt: number;
  /** Whether the policy is shown with its quarantine deleted. */
  readonly deleted: boolean;
  /** The updates after which the link was copied: what it was meant to show is there once they are made. */
  readonly at: number;
}

/** Held-out prompts that are sampled in each state after every update. */
export const shownPrompts = 32;

/** The held-out prompt that is shown first, from 0: the first one without a remainder, which would give some wrong programs the right value. */
export const usualPrompt = 3;

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

export interface ReadLink {
  readonly choice: PageChoice;
  readonly look: Look;
  /** What of the link was not taken, a sentence each. */
  readonly faults: readonly string[];
}

const shorten = (text: string): string => (text.length > 40 ? `${text.slice(0, 40)}…` : text);
/** Also as a small number is written in a link: 1e-8. */
const numeral = /^\d+(\.\d+)?(e-\d+)?$/;
/** Values that a key is given, as a sentence names them. */
const mostNamed = 3;

/** What a link says, as `linkOf` writes it. A value that cannot be meant leaves the usual one in its place, and is told of. */
export function readLink(link: string, plan: Plan): ReadLink {
  const given = new URLSearchParams(link.replace(/^[#?]/, ''));
  const faults: string[] = [];
  const take = <Value>(key: string, usually: Value, expected: string, read: (text: string) => Value | null): Value => {
    const texts = given.getAll(key);
    given.delete(key);
    const value = texts.length === 1 ? read(texts[0]) : null;
    if (texts.length > 0 && value === null) {
      const named = texts.slice(0, mostNamed).map((text) => `“${shorten(text)}”`);
      const found = [...named, ...(texts.length > mostNamed ? [`${texts.length - mostNamed} more`] : [])].join(' and ');
      faults.push(`${key} is ${found} in the link, expected ${expected}; “${usually}” is used.`);
    }
    return value ?? usually;
  };
  const sliderValues = (sliders: readonly Slider[], config: RunConfig, prefix = ''): Values =>
    Object.fromEntries(
      sliders.flatMap(({ path, least, most }) => {
        const usually = numberAt(config, path);
        const value = take(`${prefix}${shortName(path)}`, usually, `a number from ${least} to ${most}`, (text) =>
          numeral.test(text) && Number(text) >= least && Number(text) <= most ? Number(text) : null,
        );
        return value === usually ? [] : [[path, value]];
      }),
    );
  const choice: PageChoice = {
    seed: take('seed', 1, 'a whole number from 0', (text) =>
      /^\d+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : null,
    ),
    world: sliderValues(plan.world, plan.arms[0].config),
    lanes: sides.map((side, i) => {
      const isArm = (text: string) => (plan.arms.some(({ name }) => name === text) ? text : null);
      const arm = laneArm(plan, take(side, usual[i], 'a remedy of this page', isArm));
      return { arm: arm.name, values: sliderValues(arm.sliders, arm.config, `${side}.`) };
    }),
  };
  const mostUpdates = plan.arms[0].config.updates;
  const look: Look = {
    prompt:
      take('prompt', usualPrompt + 1, `a whole number from 1 to ${shownPrompts}`, (text) =>
        /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= shownPrompts ? Number(text) : null,
      ) - 1,
    deleted: take('deleted', 'no', 'yes or no', (text) => (/^(yes|no)$/.test(text) ? text : null)) === 'yes',
    at: take('at', 0, `a whole number from 0 to ${mostUpdates}`, (text) =>
      /^\d+$/.test(text) && Number(text) <= mostUpdates ? Number(text) : null,
    ),
  };
  for (const key of new Set(given.keys())) faults.push(`“${shorten(key)}” in the link is no setting here.`);
  return { choice, look, faults };
}

export function linkOf({ seed, world, lanes }: PageChoice, { prompt, deleted, at }: Look): string {
  const link = new URLSearchParams({ seed: String(seed) });
  for (const [path, value] of Object.entries(world)) link.set(shortName(path), String(value));
  for (const [i, { arm, values }] of lanes.entries()) {
    link.set(sides[i], arm);
    for (const [path, value] of Object.entries(values)) link.set(`${sides[i]}.${shortName(path)}`, String(value));
  }
  if (prompt !== usualPrompt) link.set('prompt', String(prompt + 1));
  if (deleted) link.set('deleted', 'yes');
  if (at > 0) link.set('at', String(at));
  return `#${link}`;
}
