/**
 * The rotary settings of a `config.json`: θ, and the llama3 rule that slows low frequencies for long contexts. Read
 * from `rope_parameters` or from `rope_theta` and `rope_scaling`; where a file has both they must agree.
 */
import { type Fields, type JsonObject, show } from './json.ts';

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

export function parseRope(fields: Fields, maxPositions: number): Rope {
  const today = fields.nested('rope_parameters');
  const older = fields.nested('rope_scaling');
  const olderTheta = fields.value('rope_theta');
  const theta = fields.number('rope_theta', defaultTheta, { least: 1 });
  if (today === undefined) return { theta, scaling: parseScaling(older, maxPositions) };
  const rope = {
    theta: today.number('rope_theta', theta, { least: 1 }),
    scaling: parseScaling(today, maxPositions),
  };
  if (olderTheta !== undefined && theta !== rope.theta) {
    throw fields.complain('rope_theta', `${rope.theta}, as in rope_parameters`, show(olderTheta));
  }
  if (older !== undefined && JSON.stringify(parseScaling(older, maxPositions)) !== JSON.stringify(rope.scaling)) {
    throw fields.complain('rope_scaling', 'the same settings as rope_parameters', show(older.object));
  }
  return rope;
}

function parseScaling(fields: Fields | undefined, maxPositions: number): RopeScaling {
  if (fields === undefined) return { kind: 'none' };
  const typeKey = fields.value('rope_type') === undefined ? 'type' : 'rope_type';
  const kind = fields.text(typeKey) ?? 'default';
  fields.only('partial_rotary_factor', 1);
  if (kind === 'default') return { kind: 'none' };
  if (kind !== 'llama3') throw fields.complain(typeKey, '"default" or "llama3"', show(kind));
  const scaling = {
    kind,
    factor: fields.number('factor', undefined, { least: 1 }),
    lowFrequencyFactor: fields.number('low_freq_factor', undefined, { least: Number.MIN_VALUE }),
    highFrequencyFactor: fields.number('high_freq_factor', undefined, { least: Number.MIN_VALUE }),
    originalMaxPositions: fields.integer('original_max_position_embeddings', undefined, {
      least: 1,
      most: maxPositions,
    }),
  } as const;
  if (scaling.highFrequencyFactor > scaling.lowFrequencyFactor) return scaling;
  const expected = `more than low_freq_factor ${scaling.lowFrequencyFactor}`;
  throw fields.complain('high_freq_factor', expected, `${scaling.highFrequencyFactor}`);
}

export function ropeJson({ theta, scaling }: Rope): JsonObject {
  const settings: JsonObject | null =
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
    rope_parameters: { ...(settings ?? { rope_type: 'default' }), rope_theta: theta },
    rope_scaling: settings,
    rope_theta: theta,
  };
}
