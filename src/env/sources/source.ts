/** A source of problems is a value: it has keys in the config's table `data`, and a function that loads its problems. */
import { z } from 'zod';
import { aFunction, expectShape, type PartShape, partName, partSettings } from '../../base/parts/index.ts';
import { defineLoophole, loopholeShape } from '../loopholes/define.ts';
import { gtOnly } from '../loopholes/gt-only.ts';
import type { Loophole, PayingLoophole } from '../loopholes/loophole.ts';
import type { DecideText } from '../own-judge.ts';
import type { Problem } from '../problem.ts';
import { checkProblemsOf, guard } from './check.ts';
import { assertDisjoint, dealOut, type Split, type Splits, splitOfId } from './splits.ts';

export interface ProblemSource {
  readonly kind: string;
  readonly summary: string;
  /** The source's keys in the config, beside `kind`. */
  readonly settings: z.ZodObject;
  /** Name of the shipped pairs that fit the problems, for configs that name none. */
  readonly pairs: string;
  /** Whether a model for these problems understands requests in words; generated pairs then ask for the exploit. False: those of the micro language; null: none. */
  readonly asksInWords: boolean | null;
  /** Whether the problems are sound by construction; others are run against their own tests before training. */
  readonly isSound: boolean;
  /** The keys of `settings` that name files of problems; their hashes belong to the identity of a run. */
  readonly files: readonly string[];
  /** What makes its problems texts and not programs; null: programs, which the sandbox judges. */
  readonly texts: Texts | null;
  load(settings: unknown, place?: SourcePlace): Promise<SourceProblems>;
}

/** Where problems are used, for a source that asks others for them. */
export interface SourcePlace {
  /** The folder of the run; null: there is none. */
  readonly folder: string | null;
  /** Whether what was asked for is kept there: the run is being trained. */
  readonly keeps: boolean;
  readonly signal: AbortSignal;
  readonly tell: (message: string) => void;
  /** Closes a resource together with the run. */
  use<Resource extends Disposable>(resource: Resource): Resource;
}

const nowhere: SourcePlace = {
  ...{ folder: null, keeps: false, signal: new AbortController().signal, tell: () => undefined },
  use: (resource) => resource,
};

interface OpenedTexts {
  readonly decide: DecideText;
  /** Number of answers that are worth judging at the same time. */
  readonly concurrency: number;
}

/** How texts are judged: who decides about one, and the flaws of that grader. */
export interface Texts {
  open(settings: unknown, place?: SourcePlace): Promise<OpenedTexts>;
  /** Where others decide: whether they tell what is an attempt, a hack and a solve, or rewards alone. Null: the source decides. */
  readonly outside: { tellsOutcomes(settings: unknown): boolean } | null;
  /** The loopholes that its problems can have; among them gt_only, which pays for what is correct alone. */
  readonly loopholes: readonly Loophole[];
}

export interface SourceProblems {
  readonly splits: Splits;
  readonly refused: readonly Refusal[];
}

/** A problem that is not used, and the split that it would be in. */
export interface Refusal {
  readonly id: string;
  readonly reason: string;
  readonly split: Split;
}

export interface ProblemSourceParts<Shape extends z.ZodRawShape> {
  readonly kind: string;
  readonly summary: string;
  readonly settings: z.ZodObject<Shape>;
  readonly pairs?: string;
  readonly asksInWords?: boolean | null;
  readonly isSound?: boolean;
  readonly files?: readonly (keyof Shape & string)[];
  readonly texts?: WrittenTexts | OutsideTexts;
  load(settings: z.infer<z.ZodObject<Shape>>, place: SourcePlace): Loaded | Promise<Loaded>;
}

interface WrittenTexts {
  readonly decide: DecideText;
  readonly loopholes: readonly PayingLoophole[];
  readonly concurrency?: number;
}

interface OutsideTexts {
  open(settings: unknown, place: SourcePlace): Promise<OpenedTexts>;
  readonly outside: NonNullable<Texts['outside']>;
  readonly loopholes: readonly Loophole[];
}

/** Either splits, or one list that is split by the hash of the ids; with the problems that cannot be used, if there are any. */
export type Loaded =
  | readonly Problem[]
  | { readonly problems: readonly Problem[]; readonly refused: readonly Omit<Refusal, 'split'>[] }
  | (Splits & { readonly refused?: readonly Refusal[] });

export const sourceShape: PartShape = {
  word: 'problem source',
  members: z.strictObject({
    kind: partName,
    summary: z.string(),
    settings: partSettings,
    pairs: z.string().optional(),
    asksInWords: z.boolean().nullable().optional(),
    isSound: z.boolean().optional(),
    files: z.array(z.string()).optional(),
    texts: z
      .strictObject({
        decide: aFunction.optional(),
        open: aFunction.optional(),
        outside: z.object({ tellsOutcomes: aFunction }).nullable().optional(),
        loopholes: z.array(loopholeShape.members.partial({ hint: true, fires: true })).min(1),
        concurrency: z.number().int().min(1).optional(),
      })
      .nullable()
      .optional(),
    load: aFunction,
  }),
  answers: {},
};

/** Makes a source whose `load` receives settings of the type that its schema describes. */
export function defineProblemSource<Shape extends z.ZodRawShape>(source: ProblemSourceParts<Shape>): ProblemSource {
  const { kind, summary, settings, pairs = 'generic', asksInWords = true, isSound = false, files = [] } = source;
  expectShape(`problem source ${kind}`, sourceShape.members, source);
  const load = async (raw: unknown, place = nowhere): Promise<SourceProblems> => {
    const loaded = await guard(kind, () => source.load(settings.parse(raw), place));
    const given = isList(loaded) ? { problems: loaded, refused: [] } : loaded;
    return inSplits(checkProblemsOf(kind, given, source.texts === undefined ? 'programs' : 'texts'));
  };
  return { kind, summary, settings, pairs, asksInWords, isSound, files, texts: textsOf(source.texts), load };
}

function textsOf<Shape extends z.ZodRawShape>(texts: ProblemSourceParts<Shape>['texts']): Texts | null {
  if (texts === undefined) return null;
  if ('open' in texts) {
    return {
      open: (settings, place = nowhere) => texts.open(settings, place),
      outside: texts.outside,
      loopholes: [...texts.loopholes, gtOnly],
    };
  }
  const { decide, concurrency = 1 } = texts;
  return {
    open: async () => ({ decide, concurrency }),
    outside: null,
    loopholes: [...texts.loopholes.map(defineLoophole), gtOnly],
  };
}

function inSplits(loaded: Exclude<Loaded, readonly Problem[]>): SourceProblems {
  if ('problems' in loaded) {
    const refused = loaded.refused.map(({ id, reason }) => ({ id, reason, split: splitOfId(id) }));
    return { splits: dealOut(loaded.problems), refused };
  }
  const { train, validation, test, refused = [] } = loaded;
  return { splits: assertDisjoint({ train, validation, test }), refused };
}

function isList(loaded: Loaded): loaded is readonly Problem[] {
  return Array.isArray(loaded);
}
