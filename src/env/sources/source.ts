/** A source of problems is a value: its keys in the config's table `data`, and how its problems are loaded. */
import type { z } from 'zod';
import type { Problem } from '../problem.ts';
import type { Splits } from './splits.ts';

export interface ProblemSource {
  readonly kind: string;
  readonly summary: string;
  /** Its keys in the config, beside `kind`. */
  readonly settings: z.ZodObject;
  /** The shipped set of pairs that fits its problems, for configs that name none. */
  readonly pairs: string;
  /** Whether a model for these problems can be asked in words: generated pairs ask for the exploit. */
  readonly asksInWords: boolean;
  /** Problems that are sound by construction are not run against their own tests before training. */
  readonly isSound: boolean;
  load(settings: unknown): Promise<SourceProblems>;
}

/** Splits, or one list that is dealt out by the hash of the ids, with what could not be used. */
export type SourceProblems = Splits | { readonly problems: readonly Problem[]; readonly refused: readonly Refusal[] };

export interface Refusal {
  readonly id: string;
  readonly reason: string;
}

export interface ProblemSourceParts<Shape extends z.ZodRawShape> {
  readonly kind: string;
  readonly summary: string;
  readonly settings: z.ZodObject<Shape>;
  readonly pairs?: string;
  readonly asksInWords?: boolean;
  readonly isSound?: boolean;
  /** A plain list stands for problems that can all be used. */
  load(settings: z.infer<z.ZodObject<Shape>>): Loaded | Promise<Loaded>;
}

type Loaded = SourceProblems | readonly Problem[];

/** A source whose `load` is given settings of the type that its schema describes. */
export function defineProblemSource<Shape extends z.ZodRawShape>(source: ProblemSourceParts<Shape>): ProblemSource {
  const { kind, summary, settings, pairs = 'hack', asksInWords = true, isSound = false } = source;
  const load = async (raw: unknown): Promise<SourceProblems> => {
    const loaded = await source.load(settings.parse(raw));
    return isList(loaded) ? { problems: loaded, refused: [] } : loaded;
  };
  return { kind, summary, settings, pairs, asksInWords, isSound, load };
}

function isList(loaded: Loaded): loaded is readonly Problem[] {
  return Array.isArray(loaded);
}
