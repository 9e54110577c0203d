/**
 * Whether labels of the oracle had a part in making a model, as the model itself says. An export marks its weights in two places: in the
 * metadata of the file, which goes wherever the weights go as they are, and in config.json, which goes along when other tools read and
 * write the model again. A model without a mark was not written by an export. Who removes both marks, or merges an adapter with a program that knows
 * neither, has a model that says nothing.
 */
import { join } from 'node:path';
import { isObject, type JsonObject, readJsonObject } from './json.ts';
import { WeightFiles } from './weight-files.ts';

/** `unknown`: nobody knows how the adapter that was merged was trained. */
export type LabelMark = 'none' | 'used' | 'unknown';

const metadataKey = 'gradient-quarantine.labels';
const configKey = 'gradient_quarantine';

export function markMetadata(labels: LabelMark): Readonly<Record<string, string>> {
  return { [metadataKey]: labels };
}

export function markConfig(config: JsonObject, labels: LabelMark): JsonObject {
  return { ...config, [configKey]: { labels } };
}

/** What a model's marks say together: the worst of them counts, and one that cannot be read counts as unknown. */
export async function labelMarkOf(directory: string): Promise<LabelMark> {
  await using weights = await WeightFiles.open(directory);
  const config = (await readJsonObject(join(directory, 'config.json')))[configKey];
  const inConfig = isObject(config) ? config['labels'] : config;
  const marks = [inConfig, ...weights.files.map(({ metadata }) => metadata[metadataKey])].filter(
    (mark) => mark !== undefined,
  );
  return joinMarks(marks.map((mark) => (mark === 'none' || mark === 'used' ? mark : 'unknown')));
}

export function joinMarks(marks: readonly LabelMark[]): LabelMark {
  return marks.find((mark) => mark === 'used') ?? marks.find((mark) => mark === 'unknown') ?? 'none';
}

/** The mark of an adapter's file, by its metadata; one without a mark could be of any arm. */
export function adapterMark(metadata: Readonly<Record<string, string>>): LabelMark {
  const mark = metadata[metadataKey];
  return mark === 'none' || mark === 'used' ? mark : 'unknown';
}
