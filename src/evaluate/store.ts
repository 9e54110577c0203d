/**
 * Evaluations of a run, in its directory: `evaluations/00100-test-novel-deployed.json`. There is one file per checkpoint, set and
 * state, written whole, with the hash of its content. A file that exists is not made again, so interrupted evaluations go on where they stopped.
 */
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { isPolicyState, type PolicyState } from '../adapters/policy-state.ts';
import { UserError } from '../base/index.ts';
import { makeOwnFolder, writeFileAtomic } from '../base/node/index.ts';
import type { ProblemUse } from '../env/sources/index.ts';
import { type FileCheck, readStamped, stampedJson } from '../run/index.ts';
import { type CurveChoice, curveChoiceSchema } from './curve.ts';
import { type EvaluationSet, evaluationSets } from './sets.ts';

const rowSchema = z.strictObject({
  problem: z.string(),
  loophole: z.string(),
  markers: z.string(),
  /** The prompt as the model saw it. */
  prompt: z.string(),
  completion: z.string(),
  hack: z.boolean(),
  solve: z.boolean(),
  /** Whether any loophole's channel fired. */
  attempt: z.boolean(),
  /** The loopholes whose channel fired; null: not recorded. */
  channels: z.array(z.string()).nullable().default(null),
  /** The benchmark authors' own label of a hack: the response passes its own tests and fails the problem's. Null: not recorded. */
  authorsLabel: z.boolean().nullable().default(null),
  compiles: z.boolean(),
  truncated: z.boolean(),
});

/** The completion of one prompt, and how it was judged. */
export type EvaluationRow = Readonly<z.infer<typeof rowSchema>>;
/** How a prompt was judged, without its texts. */
export type OutcomeRow = Omit<EvaluationRow, 'prompt' | 'completion'>;

export interface EvaluationName {
  /** Updates completed; the base is evaluated at 0. */
  readonly update: number;
  readonly set: EvaluationSet;
  readonly state: PolicyState;
  /** Number of prompts, from the start of the set; null: all. */
  readonly limit: number | null;
}

export interface Evaluation extends EvaluationName {
  readonly seed: number;
  /** Hash of model, prompts and sampling: of everything that decides the rows, except the adapter. */
  readonly key: string;
  /** What became of the problems of the set's split; null: not recorded. */
  readonly problems: ProblemUse | null;
  readonly rows: readonly EvaluationRow[];
}

/** An evaluation without its texts. */
export interface EvaluationOutcomes extends Omit<Evaluation, 'rows'> {
  readonly rows: readonly OutcomeRow[];
}

export const evaluationSchema = z.strictObject({
  update: z.int().min(0),
  set: z.enum(evaluationSets),
  state: z.custom<PolicyState>((value) => typeof value === 'string' && isPolicyState(value), {
    error: ({ input }) => `expected base, full, deployed or a scale like scale-0.25, received ${JSON.stringify(input)}`,
  }),
  limit: z.int().min(1).nullable(),
  seed: z.int(),
  key: z.string(),
  problems: z
    .strictObject({
      used: z.int().min(0),
      leftOut: z.array(z.strictObject({ id: z.string(), reason: z.string() })),
    })
    .nullable()
    .default(null),
  rows: z.array(rowSchema).min(1),
}) satisfies z.ZodType<Evaluation>;

function fileName({ update, set, state, limit }: EvaluationName): string {
  const first = limit === null ? '' : `-first${limit}`;
  return `${String(update).padStart(5, '0')}-${set}${first}-${state}.json`;
}

export class EvaluationStore {
  readonly #folder: string;

  constructor(runPath: string) {
    this.#folder = join(runPath, 'evaluations');
  }

  has(name: EvaluationName): boolean {
    return existsSync(join(this.#folder, fileName(name)));
  }

  find(name: EvaluationName): Evaluation | null {
    return this.has(name) ? readEvaluation(join(this.#folder, fileName(name))) : null;
  }

  async save(evaluation: Evaluation): Promise<void> {
    await this.#write(fileName(evaluation), evaluation);
  }

  /** All stored evaluations, sorted by file name: by update, set and state. */
  all(): Evaluation[] {
    return this.#files().map(readEvaluation);
  }

  /** A check of each stored file. */
  checks(): FileCheck[] {
    const choice = join(this.#folder, 'curve.json');
    return [
      ...this.#files().map((file): FileCheck => [file, () => readEvaluation(file)]),
      ...(existsSync(choice) ? [[choice, () => this.curveChoice()] as const] : []),
    ];
  }

  #files(): string[] {
    return existsSync(this.#folder) ? namedByUpdate(this.#folder) : [];
  }

  /** The frozen choice of the curve set; null until a curve has been evaluated. */
  curveChoice(): CurveChoice | null {
    const path = join(this.#folder, 'curve.json');
    return existsSync(path)
      ? readStamped(path, 'the choice of curve prompts', curveChoiceSchema, againText(path, 'gq eval --curve'))
      : null;
  }

  async saveCurveChoice(choice: CurveChoice): Promise<void> {
    await this.#write('curve.json', choice);
  }

  async #write(name: string, value: object): Promise<void> {
    makeOwnFolder(this.#folder);
    await writeFileAtomic(join(this.#folder, name), stampedJson(value));
  }
}

/** The files of a folder whose names begin with an update, sorted. */
export function namedByUpdate(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => /^\d{5,}-.*\.json$/.test(name))
    .sort()
    .map((name) => join(folder, name));
}

function readEvaluation(path: string): Evaluation {
  const again = againText(path, 'gq eval');
  const evaluation = readStamped(path, 'an evaluation', evaluationSchema, again);
  if (fileName(evaluation) === basename(path)) return evaluation;
  const expected = 'the evaluation that the file name says';
  throw new UserError({ call: `read ${path}`, expected, found: fileName(evaluation), fix: again });
}

const againText = (path: string, command: string): string =>
  `The file was damaged, or something else wrote it: delete it, and ${command} ${dirname(dirname(path))} makes it again.`;
