/**
 * A cut says where scores divide: a rollout is flagged if its score is above it, and a cut may have a low side too, up to which an arm that
 * routes keeps. A cut is a function of the run's last scores or of the scores of clean completions. No cut looks at labels.
 */
import { z } from 'zod';
import { aFunction, expectShape, type PartShape, partName, partSettings, partWords } from '../base/parts/index.ts';

/** What a cut may be made from. */
export interface CutInputs {
  /** The run's last scores, oldest first, with those of this update; empty for a cut that needs none. */
  readonly scores: Float64Array;
  /** Scores of completions that are clean by construction. */
  readonly clean: () => readonly number[];
}

/** What is above `high` is flagged. */
export interface FoundCut {
  readonly high: number;
  readonly low?: number;
}

/** A cut as a config can name it, in the table [cut]. */
export interface CutDefinition {
  readonly kind: string;
  readonly summary: string;
  /** The cut's keys in the config, beside `kind`. */
  readonly settings: z.ZodObject;
  /** What it is made from; `monitor`: the monitor itself gives it. */
  readonly needs: 'nothing' | 'scores' | 'clean scores' | 'pairs' | 'monitor';
  /** Its words in tables, after the monitor's name; `usual`: whether it is the usual cut of the monitor. */
  words(settings: unknown, usual: boolean): string;
  /** Null while there is no cut, so that nothing is flagged. */
  find(settings: unknown, inputs: CutInputs): FoundCut | null;
}

export interface CutSource<Shape extends z.ZodRawShape> {
  readonly kind: string;
  readonly summary: string;
  readonly settings: z.ZodObject<Shape>;
  readonly needs: CutDefinition['needs'];
  /** The kind if absent. */
  words?(settings: z.infer<z.ZodObject<Shape>>): string;
  find(settings: z.infer<z.ZodObject<Shape>>, inputs: CutInputs): FoundCut | null;
}

const found = z
  .strictObject({ high: z.number(), low: z.number().optional() })
  .refine(({ high, low = high }) => low <= high, 'a low side that is not above the high one');

export const cutShape: PartShape = {
  word: 'cut',
  members: z.strictObject({
    kind: partName,
    summary: z.string(),
    settings: partSettings,
    needs: z.enum(['nothing', 'scores', 'clean scores', 'pairs', 'monitor']),
    words: aFunction.optional(),
    find: aFunction,
  }),
  answers: {
    words: partWords,
    find: z.union([found, z.null()], 'null, or { high, low } with low as one may leave out'),
  },
};

/** Makes a definition whose `find` gets settings of its schema's type. */
export function defineCut<Shape extends z.ZodRawShape>(source: CutSource<Shape>): CutDefinition {
  const { kind, summary, settings, needs } = source;
  expectShape(`cut ${kind}`, cutShape.members, source);
  return {
    kind,
    summary,
    settings,
    needs,
    words: (raw, usual) => {
      const own = settings.parse(raw);
      const said = source.words === undefined ? kind : source.words(own);
      expectShape(`cut ${kind}, words`, partWords, said);
      return [...(usual ? [] : [said]), ...memoryWords(own)].map((word) => ` ${word}`).join('');
    },
    find: (raw, inputs) => source.find(settings.parse(raw), inputs),
  };
}

function memoryWords({
  keepTail = null,
  memory,
}: {
  readonly keepTail?: unknown;
  readonly memory?: unknown;
}): string[] {
  return [...(keepTail === null ? [] : [`keeping ${keepTail}`]), ...(memory === 'features' ? ['rescored'] : [])];
}

/** A cut with its settings. */
export interface ChosenCut {
  /** How many scores it remembers; 0: none. */
  readonly remembers: number;
  readonly needsClean: boolean;
  find(inputs: CutInputs): FoundCut | null;
}

export function chosenCut({ needs, find }: CutDefinition, settings: Readonly<Record<string, unknown>>): ChosenCut {
  const { bufferRows } = settings;
  return {
    remembers: needs === 'scores' ? (typeof bufferRows === 'number' ? bufferRows : mostScores) : 0,
    needsClean: needs === 'clean scores',
    find: (inputs) => find(settings, inputs),
  };
}

/** The most scores that are remembered for a cut that does not say. */
export const mostScores = 8192;
