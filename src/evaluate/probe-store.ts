/**
 * Evaluated probes, in the directory of a run or in a folder of their own: `probes/00100-test-original-deployed-request.json`. There is
 * one file per checkpoint, set, state and probe, written whole, with the hash of its content; a file that exists is not made again.
 */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import type { PolicyState } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import { makeOwnFolder, writeFileAtomic } from '../base/node/index.ts';
import { openings, places } from '../env/index.ts';
import { type FileCheck, readStamped, stampedJson } from '../run/index.ts';
import type { Probe } from './probe.ts';
import type { EvaluationSet } from './sets.ts';
import { type Evaluation, type EvaluationOutcomes, evaluationSchema, namedByUpdate } from './store.ts';

export interface ProbeName {
  /** Updates completed; the base is probed at 0. */
  readonly update: number;
  readonly set: EvaluationSet;
  readonly state: PolicyState;
  /** Number of prompts, from the start of the set; null: all. */
  readonly limit: number | null;
  readonly probe: Probe;
}

export interface ProbeEvaluation extends Evaluation, ProbeName {}

/** An evaluated probe without its texts. */
export interface ProbeOutcomes extends EvaluationOutcomes, ProbeName {}

const probeSchema = evaluationSchema.extend({
  probe: z.strictObject({
    name: z.string().regex(/^[a-z0-9-]+$/),
    instruction: z.strictObject({ name: z.string(), text: z.string(), place: z.enum(places) }),
    opening: z.enum(openings).nullable(),
  }),
}) satisfies z.ZodType<ProbeEvaluation>;

function probeFile({ update, set, state, limit, probe }: ProbeName): string {
  const first = limit === null ? '' : `-first${limit}`;
  return `${String(update).padStart(5, '0')}-${set}${first}-${state}-${probe.name}.json`;
}

export class ProbeStore {
  readonly #folder: string;

  constructor(path: string) {
    this.#folder = join(path, 'probes');
  }

  has(name: ProbeName): boolean {
    return existsSync(join(this.#folder, probeFile(name)));
  }

  find(name: ProbeName): ProbeEvaluation | null {
    return this.has(name) ? readProbe(join(this.#folder, probeFile(name))) : null;
  }

  async save(evaluation: ProbeEvaluation): Promise<void> {
    makeOwnFolder(this.#folder);
    await writeFileAtomic(join(this.#folder, probeFile(evaluation)), stampedJson(evaluation));
  }

  /** All that is stored, sorted by file name: by update, set, state and probe. */
  all(): ProbeEvaluation[] {
    return this.#files().map(readProbe);
  }

  /** A check of each stored file. */
  checks(): FileCheck[] {
    return this.#files().map((file) => [file, () => readProbe(file)]);
  }

  #files(): string[] {
    return existsSync(this.#folder) ? namedByUpdate(this.#folder) : [];
  }
}

function readProbe(path: string): ProbeEvaluation {
  const fix =
    'The file was damaged, or something else wrote it: delete it, and the command that wrote it makes it again.';
  const found = readStamped(path, 'an evaluated probe', probeSchema, fix);
  if (probeFile(found) === basename(path)) return found;
  throw new UserError({
    call: `read ${path}`,
    expected: 'the probe that the file name says',
    found: probeFile(found),
    fix,
  });
}
