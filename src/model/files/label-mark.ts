/**
 * What labels of the oracle had to do with making a model, as the model itself says: whether they reached its training, and how the settings of that
 * training were chosen; and whether a quarantine that nothing deleted is in it. An export marks its weights in two places: in the metadata of the file,
 * which goes wherever the weights go as they are, and in config.json, which goes along when other tools read and write the model again. A model without
 * a mark was not written by an export. Who removes both marks, or merges an adapter with a program that knows neither, has a model that says nothing.
 */
import { join } from 'node:path';
import { isObject, type JsonObject, readJsonObject } from './json.ts';
import { WeightFiles } from './weight-files.ts';

/** Of each mark the worst comes first; `unknown`: nobody knows how the adapter was trained, or an earlier version wrote it. */
const values = {
  labels: ['used', 'unknown', 'none'],
  settings: ['labels', 'label-informed', 'unknown', 'label-free', 'fixed'],
  quarantine: ['kept', 'unknown', 'none'],
} as const;

/** `settings`: as `notes.thresholds` of a config says it. `quarantine`: of whatever run, in the weights. */
export type LabelMarks = { readonly [Mark in keyof typeof values]: (typeof values)[Mark][number] };

const configKey = 'gradient_quarantine';
const metadataKeys = {
  labels: 'gradient-quarantine.labels',
  settings: 'gradient-quarantine.settings',
  quarantine: 'gradient-quarantine.quarantine',
} as const;

export function markMetadata({ labels, settings, quarantine }: LabelMarks): Readonly<Record<string, string>> {
  return {
    [metadataKeys.labels]: labels,
    [metadataKeys.settings]: settings,
    [metadataKeys.quarantine]: quarantine,
  };
}

export function markConfig(config: JsonObject, { labels, settings, quarantine }: LabelMarks): JsonObject {
  return { ...config, [configKey]: { labels, settings, quarantine } };
}

/** What a model's marks say together: the worst of them counts, and one that cannot be read counts as unknown. */
export async function labelMarksOf(directory: string): Promise<LabelMarks> {
  await using weights = await WeightFiles.open(directory);
  const config = (await readJsonObject(join(directory, 'config.json')))[configKey];
  const keys = Object.values(metadataKeys);
  const inWeights = weights.files.filter(({ metadata }) => keys.some((key) => key in metadata));
  return joinMarks([
    ...(config === undefined ? [] : [readMarks(isObject(config) ? config : {})]),
    ...inWeights.map(({ metadata }) => adapterMarks(metadata)),
  ]);
}

export function joinMarks(marks: readonly LabelMarks[]): LabelMarks {
  return {
    labels: worst(
      values.labels,
      marks.map(({ labels }) => labels),
    ),
    settings: worst(
      values.settings,
      marks.map(({ settings }) => settings),
    ),
    quarantine: worst(
      values.quarantine,
      marks.map(({ quarantine }) => quarantine),
    ),
  };
}

function worst<Value>(ranked: readonly Value[], said: readonly Value[]): Value {
  return ranked.find((value) => said.includes(value)) ?? ranked[ranked.length - 1];
}

function readMarks(said: Readonly<Record<string, unknown>>): LabelMarks {
  return {
    labels: values.labels.find((value) => value === said['labels']) ?? 'unknown',
    settings: values.settings.find((value) => value === said['settings']) ?? 'unknown',
    quarantine: values.quarantine.find((value) => value === said['quarantine']) ?? 'unknown',
  };
}

/** The marks of a file of weights, by its metadata; an adapter without them could be of any arm. */
export function adapterMarks(metadata: Readonly<Record<string, string>>): LabelMarks {
  const { labels, settings, quarantine } = metadataKeys;
  return readMarks({
    labels: metadata[labels],
    settings: metadata[settings],
    quarantine: metadata[quarantine],
  });
}

/** The marks for whoever has the model and not this lab. */
export function markWords(marks: LabelMarks): Readonly<Record<keyof LabelMarks, string>> {
  const { labels, settings, quarantine } = marks;
  return { labels: labelWords[labels], settings: settingWords[settings], quarantine: quarantineWords[quarantine] };
}

const labelWords = {
  none: 'none: nothing that trained these weights was told which answers are hacks',
  used: 'yes: labels, which say which answers are hacks, had a part in training these weights',
  unknown: 'not known, which counts as yes',
} as const;

const settingWords = {
  fixed: 'fixed: chosen before any run',
  'label-free': 'label-free: chosen by rates that need no label',
  'label-informed': 'label-informed: a rule that reads no label, but was taken from runs whose labels were known',
  labels: 'labels: chosen by labels, which say which answers are hacks',
  unknown: 'not known how they were chosen',
} as const;

const quarantineWords = {
  none: 'none that is known of',
  kept: 'kept: nothing deleted it',
  unknown: 'not known, which counts as yes',
} as const;
