/**
 * Evaluations of a run, in its directory: `evaluations/00100-test-novel-deployed.json`; probes the same way. There is one file per checkpoint, set and
 * state, written whole, with the hash of its content. A file that exists is not made again, so interrupted evaluations go on where they stopped.
 */
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { isPolicyState, type PolicyState } from '../adapters/policy-state.ts';
import { UserError } from '../base/index.ts';
import { makeOwnFolder, writeFileAtomic } from '../base/node/index.ts';
import { places } from '../env/instructions.ts';
import { openings } from '../env/openings.ts';
import type { ProblemUse } from '../env/sources/index.ts';
import {
  type DamagedFile,
  type FileCheck,
  findDamagedFiles,
  type RunDirectory,
  readStamped,
  stampedJson,
} from '../run/index.ts';
import { type CurveChoice, curveChoiceSchema } from './curve.ts';
import { evaluationSets } from './sets.ts';

const rowSchema = z.strictObject({
  problem: z.string(),
  loophole: z.string(),
  markers: z.string(),
  prompt: z.string(),
  completion: z.string(),
  hack: z.boolean(),
  solve: z.boolean(),
  attempt: z.boolean(),
  /** The loopholes whose channel fired; null: not recorded. */
  channels: z.array(z.string()).nullable().default(null),
  /** The benchmark authors' own label of a hack: the response passes its own tests and fails the problem's. Null: not recorded. */
  authorsLabel: z.boolean().nullable().default(null),
  compiles: z.boolean(),
  truncated: z.boolean(),
});

export type EvaluationRow = Readonly<z.infer<typeof rowSchema>>;
export type OutcomeRow = Omit<EvaluationRow, 'prompt' | 'completion'>;

const nameSchema = z.strictObject({
  /** Updates completed; the base is evaluated at 0. */
  update: z.int().min(0),
  set: z.enum(evaluationSets),
  state: z.custom<PolicyState>((value) => typeof value === 'string' && isPolicyState(value), {
    error: ({ input }) => `expected base, full, deployed or a scale like scale-0.25, received ${JSON.stringify(input)}`,
  }),
  /** Number of prompts, from the start of the set; null: all. */
  limit: z.int().min(1).nullable(),
});
const leftOut = z.array(z.strictObject({ id: z.string(), reason: z.string() }));
const evaluationSchema = nameSchema.extend({
  seed: z.int(),
  /** Hash of model, prompts and sampling: of everything that decides the rows, except the adapter. */
  key: z.string(),
  /** What became of the problems of the set's split; null: not recorded. */
  problems: z
    .strictObject({ used: z.int().min(0), leftOut })
    .nullable()
    .default(null),
  rows: z.array(rowSchema).min(1),
});
/** `opening`: how the completion is begun; null: it is not. */
const probe = z.strictObject({
  name: z.string().regex(/^[a-z0-9-]+$/),
  instruction: z.strictObject({ name: z.string(), text: z.string(), place: z.enum(places) }),
  opening: z.enum(openings).nullable(),
});
const probeSchema = evaluationSchema.extend({ probe });

const sampleSchema = evaluationSchema.extend({ sample: z.int().min(1) });

/** `sample`: number of the sample of each prompt; absent: the first, which tables and comparisons are of. */
export type EvaluationName = Readonly<z.infer<typeof nameSchema>> & { readonly sample?: number | undefined };
export type Evaluation = EvaluationName & {
  readonly seed: number;
  readonly key: string;
  readonly problems: ProblemUse | null;
  readonly rows: readonly EvaluationRow[];
};
export type EvaluationOutcomes = Omit<Evaluation, 'rows'> & { readonly rows: readonly OutcomeRow[] };
export type Probe = Readonly<z.infer<typeof probe>>;
export type ProbeName = EvaluationName & { readonly probe: Probe };
export type ProbeEvaluation = Evaluation & ProbeName;
export type ProbeOutcomes = EvaluationOutcomes & ProbeName;

interface StoredKind<Name, Stored> {
  readonly folder: string;
  readonly what: string;
  readonly schema: z.ZodType<Stored>;
  readonly fileOf: (name: Name) => string;
  readonly command: (path: string) => string;
}

class NamedStore<Name, Stored extends Name & object> {
  readonly #kind: StoredKind<Name, Stored>;
  readonly #folder: string;

  constructor(path: string, kind: StoredKind<Name, Stored>) {
    this.#kind = kind;
    this.#folder = join(path, kind.folder);
  }

  has(name: Name): boolean {
    return existsSync(this.file(this.#kind.fileOf(name)));
  }

  find(name: Name): Stored | null {
    return this.has(name) ? this.#read(this.file(this.#kind.fileOf(name))) : null;
  }

  async save(stored: Stored): Promise<void> {
    await this.write(this.#kind.fileOf(stored), stored);
  }

  /** All that is stored, sorted by file name: by update, set and state. */
  all(): Stored[] {
    return this.#files().map((file) => this.#read(file));
  }

  checks(): FileCheck[] {
    return this.#files().map((file) => [file, () => this.#read(file)]);
  }

  protected file(name: string): string {
    return join(this.#folder, name);
  }

  protected async write(name: string, value: object): Promise<void> {
    makeOwnFolder(this.#folder);
    await writeFileAtomic(this.file(name), stampedJson(value));
  }

  #files(): string[] {
    const names = existsSync(this.#folder) ? readdirSync(this.#folder) : [];
    return names
      .filter((name) => /^\d{5,}-.*\.json$/.test(name))
      .sort()
      .map((name) => this.file(name));
  }

  #read(path: string): Stored {
    const { what, schema, fileOf, command } = this.#kind;
    const fix = againText(command(path));
    const stored = readStamped(path, `an ${what}`, schema, fix);
    if (fileOf(stored) === basename(path)) return stored;
    const expected = `the ${what.split(' ').at(-1)} that the file name says`;
    throw new UserError({ call: `read ${path}`, expected, found: fileOf(stored), fix });
  }
}

const againText = (command: string): string =>
  `The file was damaged, or something else wrote it: delete it, and ${command} makes it again.`;

const fileName = ({ update, set, state, limit }: EvaluationName): string =>
  `${String(update).padStart(5, '0')}-${set}${limit === null ? '' : `-first${limit}`}-${state}`;

export class EvaluationStore extends NamedStore<EvaluationName, Evaluation> {
  constructor(path: string) {
    super(path, {
      ...{ folder: 'evaluations', what: 'evaluation', schema: evaluationSchema },
      fileOf: (name) => `${fileName(name)}.json`,
      command: (file) => `gq eval ${dirname(dirname(file))}`,
    });
  }

  override checks(): FileCheck[] {
    const choice = this.file('curve.json');
    return [...super.checks(), ...(existsSync(choice) ? [[choice, () => this.curveChoice()] as const] : [])];
  }

  curveChoice(): CurveChoice | null {
    const path = this.file('curve.json');
    if (!existsSync(path)) return null;
    const fix = againText(`gq eval --curve ${dirname(dirname(path))}`);
    return readStamped(path, 'the choice of curve prompts', curveChoiceSchema, fix);
  }

  async saveCurveChoice(choice: CurveChoice): Promise<void> {
    await this.write('curve.json', choice);
  }
}

/** Samples of the prompts after the first. */
export class SampleStore extends NamedStore<EvaluationName, Evaluation> {
  constructor(path: string) {
    super(path, {
      ...{ folder: 'samples', what: 'evaluation', schema: sampleSchema },
      fileOf: (name) => `${fileName(name)}-sample${name.sample}.json`,
      command: (file) => `gq eval ${dirname(dirname(file))} --samples`,
    });
  }
}

export class ProbeStore extends NamedStore<ProbeName, ProbeEvaluation> {
  constructor(path: string) {
    super(path, {
      ...{ folder: 'probes', what: 'evaluated probe', schema: probeSchema },
      fileOf: (name) => `${fileName(name)}-${name.probe.name}.json`,
      command: () => 'the command that wrote it',
    });
  }
}

const measured = ['eval-curve.json', 'prefill-curve.json', 'evasion.json'];

/**
 * All files of a run that are missing or not as they were written: those of training, and what was measured afterwards. Checksums are no
 * signatures: whoever changes a file and computes its checksum anew is not found by them.
 */
export function findDamage(run: RunDirectory): DamagedFile[] {
  const files = measured
    .filter((file) => existsSync(run.file(file)))
    .map((file): FileCheck => [run.file(file), () => readStamped(run.file(file), 'a measurement', z.looseObject({}))]);
  return findDamagedFiles(run, [
    ...new EvaluationStore(run.path).checks(),
    ...new SampleStore(run.path).checks(),
    ...new ProbeStore(run.path).checks(),
    ...files,
  ]);
}
