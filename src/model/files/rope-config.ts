/**
 * The rotary settings of a `config.json`: θ, and the llama3 rule that slows low frequencies for long contexts. Read
 * from `rope_parameters` or from `rope_theta` and `rope_scaling`; where a file has both they must agree.
 */
import { z } from 'zod';
import { type JsonObject, show } from './json.ts';
import { keyError, onlyValue, parseFields, plainText, positiveNumber, realNumber, wholeNumber } from './schema.ts';

export type RopeScaling =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'llama3';
      readonly factor: number;
      readonly lowFrequencyFactor: number;
      readonly highFrequencyFactor: number;
      readonly originalMaxPositions: number;
    };

export interface Rope {
  readonly theta: number;
  readonly scaling: RopeScaling;
}

/** What transformers assumes when no key gives θ. */
const defaultTheta = 10_000;

const theta = realNumber({ least: 1 }).optional();
const settings = z.record(z.string(), z.json(), { error: 'an object' }).optional();

/** The keys of `config.json` that speak of rotation. */
export const ropeKeys = { rope_theta: theta, rope_parameters: settings, rope_scaling: settings };
type RopeKeys = z.output<z.ZodObject<typeof ropeKeys>>;

const scalingKind = z.object({
  rope_type: plainText.optional(),
  type: plainText.optional(),
  rope_theta: theta,
  partial_rotary_factor: onlyValue(1),
});

function llama3Keys(maxPositions: number) {
  return z.object({
    factor: realNumber({ least: 1 }),
    low_freq_factor: positiveNumber,
    high_freq_factor: positiveNumber,
    original_max_position_embeddings: wholeNumber({ least: 1, most: maxPositions }),
  });
}

export function parseRope(keys: RopeKeys, maxPositions: number, file: string): Rope {
  const { rope_parameters: today, rope_scaling: older, rope_theta: olderTheta } = keys;
  const before = {
    theta: olderTheta ?? defaultTheta,
    scaling: parseScaling(older, 'rope_scaling', maxPositions, file),
  };
  if (today === undefined) return before;
  const { rope_theta = before.theta } = parseFields(scalingKind, today, file, ['rope_parameters']);
  const rope = { theta: rope_theta, scaling: parseScaling(today, 'rope_parameters', maxPositions, file) };
  if (olderTheta !== undefined && olderTheta !== rope.theta) {
    throw keyError(file, 'rope_theta', `${rope.theta}, as in rope_parameters`, show(olderTheta));
  }
  if (older !== undefined && JSON.stringify(before.scaling) !== JSON.stringify(rope.scaling)) {
    throw keyError(file, 'rope_scaling', 'the same settings as rope_parameters', show(older));
  }
  return rope;
}

function parseScaling(
  given: RopeKeys['rope_scaling'],
  key: 'rope_parameters' | 'rope_scaling',
  maxPositions: number,
  file: string,
): RopeScaling {
  if (given === undefined) return { kind: 'none' };
  const { rope_type, type } = parseFields(scalingKind, given, file, [key]);
  const kind = rope_type ?? type ?? 'default';
  if (kind === 'default') return { kind: 'none' };
  if (kind !== 'llama3') {
    const typeKey = rope_type === undefined ? 'type' : 'rope_type';
    throw keyError(file, `${key}.${typeKey}`, '"default" or "llama3"', show(kind));
  }
  const read = parseFields(llama3Keys(maxPositions), given, file, [key]);
  if (read.high_freq_factor <= read.low_freq_factor) {
    const expected = `more than low_freq_factor ${read.low_freq_factor}`;
    throw keyError(file, `${key}.high_freq_factor`, expected, `${read.high_freq_factor}`);
  }
  return {
    kind,
    factor: read.factor,
    lowFrequencyFactor: read.low_freq_factor,
    highFrequencyFactor: read.high_freq_factor,
    originalMaxPositions: read.original_max_position_embeddings,
  };
}

export function ropeJson({ theta: base, scaling }: Rope): JsonObject {
  const stored: JsonObject | null =
    scaling.kind === 'none'
      ? null
      : {
          factor: scaling.factor,
          high_freq_factor: scaling.highFrequencyFactor,
          low_freq_factor: scaling.lowFrequencyFactor,
          original_max_position_embeddings: scaling.originalMaxPositions,
          rope_type: 'llama3',
        };
  return {
    rope_parameters: { ...(stored ?? { rope_type: 'default' }), rope_theta: base },
    rope_scaling: stored,
    rope_theta: base,
  };
}
