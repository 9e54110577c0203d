/**
 * Evaluations of a run, in its directory: `evaluations/00100-test-novel-deployed.json`; further samples and probes the same way. There is one file per
 * checkpoint, set and state, written whole, with the hash of its content. A file that exists is not made again, so interrupted evaluations go on where they stopped.
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
import type { DamagedFile, FileCheck } from '../run/index.ts';
import { findDamagedFiles, makeAgain, RunDirectory, readStamped, stampedJson } from '../run/index.ts';
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

/** `opening`: how the completion is begun; null: it is not. */
const probe = z.strictObject({
  name: z.string().regex(/^[a-z0-9-]+$/),
  instruction: z.strictObject({ name: z.string(), text: z.string(), place: z.enum(places) }),
  opening: z.enum(openings).nullable(),
});

const nameSchema = z.strictObject({
  /** Updates completed; the base is evaluated at 0. */
  update: z.int().min(0),
  set: z.enum(evaluationSets),
  state: z.custom<PolicyState>((value) => typeof value === 'string' && isPolicyState(value), {
    error: ({ input }) => `expected base, full, deployed or a scale like scale-0.25, received ${JSON.stringify(input)}`,
  }),
  /** Number of prompts, from the start of the set; null: all. */
  limit: z.int().min(1).nullable(),
  /** Number of the sample of each prompt; absent: the first, which tables and comparisons are of. */
  sample: z.int().min(1).optional(),
  /** How the prompts are asked; absent: as they are. */
  probe: probe.optional(),
});
const leftOut = z.array(z.strictObject({ id: z.string(), reason: z.string() }));
const evaluationSchema = nameSchema.extend({
  seed: z.int(),
  /** Hash of model, prompts and sampling: of everything that decides the rows, except the adapter. */
  key: z.string(),
  /** Hash of the config of the run that it is of; absent for the base, which runs share, and in files of earlier versions. */
  run: z.string().optional(),
  /** What became of the problems of the set's split; null: not recorded. */
  problems: z
    .strictObject({ used: z.int().min(0), leftOut })
    .nullable()
    .default(null),
  rows: z.array(rowSchema).min(1),
});

export type EvaluationName = Readonly<z.infer<typeof nameSchema>>;
export type Evaluation = EvaluationName & {
  readonly seed: number;
  readonly key: string;
  readonly run?: string | undefined;
  readonly problems: ProblemUse | null;
  readonly rows: readonly EvaluationRow[];
};
export type EvaluationOutcomes = Omit<Evaluation, 'rows'> & { readonly rows: readonly OutcomeRow[] };
export type Probe = Readonly<z.infer<typeof probe>>;
export type ProbeName = EvaluationName & { readonly probe: Probe };
export type ProbeEvaluation = Evaluation & ProbeName;
export type ProbeOutcomes = EvaluationOutcomes & ProbeName;

/** The folders of a run: the first sample of each prompt as it is, further samples, and probes; `command` makes a file anew. */
const folders = {
  evaluations: { what: 'evaluation', command: (run: string) => `gq eval ${run}` },
  samples: { what: 'evaluation', command: (run: string) => `gq eval ${run} --samples` },
  probes: { what: 'evaluated probe', command: () => 'the command that wrote it' },
} as const;
type Folder = keyof typeof folders;

/** The file of an evaluation, within the folder of its run. */
function fileOf({ update, set, state, limit, sample, probe: asked }: EvaluationName): string {
  const name = `${String(update).padStart(5, '0')}-${set}${limit === null ? '' : `-first${limit}`}-${state}`;
  if (asked !== undefined) return join('probes', `${name}-${asked.name}.json`);
  return sample === undefined ? join('evaluations', `${name}.json`) : join('samples', `${name}-sample${sample}.json`);
}

export class EvaluationStore {
  readonly #path: string;

  #hash: string | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  get #run(): string {
    this.#hash ??= RunDirectory.open(this.#path).readManifest().identity.config;
    return this.#hash;
  }

  has(name: EvaluationName): boolean {
    return existsSync(join(this.#path, fileOf(name)));
  }

  find<Name extends EvaluationName>(name: Name): (Evaluation & Name) | null {
    return this.has(name) ? (this.#read(fileOf(name)) as Evaluation & Name) : null;
  }

  async save(evaluation: Evaluation): Promise<void> {
    await this.#write(fileOf(evaluation), evaluation);
  }

  /** All that is stored of the first samples, sorted by file name: by update, set and state. */
  all(): Evaluation[] {
    return this.#files('evaluations').map((file) => this.#read(file));
  }

  probes(): ProbeEvaluation[] {
    return this.#files('probes').map((file) => this.#read(file) as ProbeEvaluation);
  }

  checks(): FileCheck[] {
    const files = (Object.keys(folders) as Folder[]).flatMap((folder) => this.#files(folder));
    const checks = files.map((file): FileCheck => [join(this.#path, file), () => this.#read(file)]);
    return existsSync(this.#choice) ? [...checks, [this.#choice, () => this.curveChoice()]] : checks;
  }

  get #choice(): string {
    return join(this.#path, 'evaluations', 'curve.json');
  }

  curveChoice(): CurveChoice | null {
    if (!existsSync(this.#choice)) return null;
    const fix = makeAgain(`gq eval --curve ${this.#path}`);
    return readStamped(this.#choice, 'the choice of curve prompts', curveChoiceSchema, fix);
  }

  async saveCurveChoice(choice: CurveChoice): Promise<void> {
    await this.#write(join('evaluations', 'curve.json'), choice);
  }

  async #write(file: string, value: object): Promise<void> {
    makeOwnFolder(join(this.#path, dirname(file)));
    await writeFileAtomic(join(this.#path, file), stampedJson(value));
  }

  #files(folder: Folder): string[] {
    const path = join(this.#path, folder);
    const names = existsSync(path) ? readdirSync(path).filter((name) => /^\d{5,}-.*\.json$/.test(name)) : [];
    return names.sort().map((name) => join(folder, name));
  }

  #read(file: string): Evaluation {
    const { what, command } = folders[dirname(file) as Folder];
    const [path, fix] = [join(this.#path, file), makeAgain(command(this.#path))];
    const stored = readStamped(path, `an ${what}`, evaluationSchema, fix);
    const name = what.split(' ').at(-1);
    const complain = (expected: string, found: string): never => {
      throw new UserError({ call: `read ${path}`, expected: `the ${name} ${expected}`, found, fix });
    };
    if (fileOf(stored) !== file) complain('that the file name says', basename(fileOf(stored)));
    if (stored.run !== undefined && stored.run !== this.#run) complain('of this run', 'one of another run');
    return stored;
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
  return findDamagedFiles(run, [...new EvaluationStore(run.path).checks(), ...files]);
}
