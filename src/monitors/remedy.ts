/**
 * A remedy is what is done about the rollouts that a monitor has scored and a cut has flagged: rewards lowered, rollouts left out, routes.
 * It acts through the hooks of an arm; the step knows only those.
 */
import { z } from 'zod';
import { aFunction, expectShape, type PartShape, partName, partSettings, partWords } from '../base/parts/index.ts';
import type { Arm, GradedRollouts, Routing, ScoredRollouts, Screening, Watched } from '../grpo/index.ts';
import type { Monitor } from './monitor.ts';

export type Told<Rollouts> = Rollouts & { readonly watched: Watched };

export interface Acts {
  reward?(graded: Told<GradedRollouts>): Float32Array;
  screen?(graded: Told<GradedRollouts>): readonly Screening[];
  route?(scored: Told<ScoredRollouts>): Routing;
  /** Makes a term of the loss of what the monitor says about activations. */
  term?(monitor: Monitor): NonNullable<Arm['term']>;
}

/** A remedy as a config can name it, in the table [remedy]. */
export interface RemedyDefinition {
  readonly kind: string;
  readonly summary: string;
  /** The remedy's keys in the config, beside `kind`. */
  readonly settings: z.ZodObject;
  /** Whether deployment deletes a block, which flagged rollouts then train. */
  readonly quarantine: boolean;
  /** What it makes of scores: flags alone by default, probabilities, or slopes, which a probability has too. */
  readonly needs: 'flags' | 'probabilities' | 'slopes';
  /** The values of its key `placebo`, which keep how much is done and forget to whom. */
  readonly placebos: readonly string[];
  /** The arm's name in tables, before the word "by". */
  words(settings: unknown): string;
  /** `seed`: that of the run. */
  act(settings: unknown, seed: number): Acts;
}

export interface RemedySource<Shape extends z.ZodRawShape> {
  readonly kind: string;
  readonly summary: string;
  readonly settings: z.ZodObject<Shape>;
  /** Default: everything that is trained is deployed. */
  readonly quarantine?: boolean;
  readonly needs?: RemedyDefinition['needs'];
  readonly placebos?: readonly string[];
  /** The kind if absent. */
  words?(settings: z.infer<z.ZodObject<Shape>>): string;
  act(settings: z.infer<z.ZodObject<Shape>>, seed: number): Acts;
}

export const remedyShape: PartShape = {
  word: 'remedy',
  members: z.strictObject({
    kind: partName,
    summary: z.string(),
    settings: partSettings,
    quarantine: z.boolean().optional(),
    needs: z.enum(['flags', 'probabilities', 'slopes']).optional(),
    placebos: z.array(z.string()).optional(),
    words: aFunction.optional(),
    act: aFunction,
  }),
  answers: {
    words: partWords,
    act: z.strictObject({
      reward: aFunction.optional(),
      screen: aFunction.optional(),
      route: aFunction.optional(),
      term: aFunction.optional(),
    }),
  },
};

/** Makes a definition whose `act` gets settings of its schema's type. */
export function defineRemedy<Shape extends z.ZodRawShape>(source: RemedySource<Shape>): RemedyDefinition {
  const { kind, summary, settings, quarantine = false, needs = 'flags', placebos = [] } = source;
  expectShape(`remedy ${kind}`, remedyShape.members, source);
  return {
    kind,
    summary,
    settings,
    quarantine,
    needs,
    placebos,
    words: (raw) => (source.words === undefined ? kind : source.words(settings.parse(raw))),
    act: (raw, seed) => source.act(settings.parse(raw), seed),
  };
}
