/** A source of problems is a value: it has keys in the config's table `data`, and a function that loads its problems. */
import type { z } from 'zod';
import type { Problem } from '../problem.ts';
import { checkProblemsOf, guard } from './check.ts';
import type { Splits } from './splits.ts';

export interface ProblemSource {
  readonly kind: string;
  readonly summary: string;
  /** The source's keys in the config, beside `kind`. */
  readonly settings: z.ZodObject;
  /** Name of the shipped pairs that fit the problems, for configs that name none. */
  readonly pairs: string;
  /** Whether a model for these problems understands requests in words; generated pairs then ask for the exploit. */
  readonly asksInWords: boolean;
  /** Whether the problems are sound by construction; others are run against their own tests before training. */
  readonly isSound: boolean;
  load(settings: unknown): Promise<SourceProblems>;
}

/** Either splits, or one list that is split by the hash of the ids, with the problems that could not be used. */
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
  /** Loads the problems. A plain list means that all of them can be used. */
  load(settings: z.infer<z.ZodObject<Shape>>): Loaded | Promise<Loaded>;
}

type Loaded = SourceProblems | readonly Problem[];

/** Makes a source whose `load` receives settings of the type that its schema describes. */
export function defineProblemSource<Shape extends z.ZodRawShape>(source: ProblemSourceParts<Shape>): ProblemSource {
  const { kind, summary, settings, pairs = 'hack', asksInWords = true, isSound = false } = source;
  const load = async (raw: unknown): Promise<SourceProblems> => {
    const loaded = await guard(kind, () => source.load(settings.parse(raw)));
    return checkProblemsOf(kind, isList(loaded) ? { problems: loaded, refused: [] } : loaded);
  };
  return { kind, summary, settings, pairs, asksInWords, isSound, load };
}

function isList(loaded: Loaded): loaded is readonly Problem[] {
  return Array.isArray(loaded);
}
