/**
 * The answers of an endpoint, in a file of the run: a question is asked once, and a run that is resumed gets the answers that it got
 * before. What an endpoint says is no function of the config, so this file is part of what a run was. A failure counts for the update
 * that met it and for no other, since another attempt might have had an answer. Without a folder answers are kept in memory only.
 */
import { existsSync } from 'node:fs';
import { z } from 'zod';
import { UserError } from '../../base/index.ts';
import { JsonlWriter, readJsonl } from '../../base/node/index.ts';

/** The name of the file in the folder of a run. */
export const answersName = 'judge-answers.jsonl';

const answerShape = z.strictObject({
  /** Hash of the model's name, the question and the settings. */
  key: z.string(),
  /** The update and the rollout that asked first. */
  update: z.number().int().min(1),
  rollout: z.string(),
  /** Null where the answer says nothing; `fault` then says why. */
  score: z.number().min(0).max(1).nullable(),
  fault: z.string().nullable(),
  /** Whether the fault lies on the way to the endpoint, and holds for this update only. */
  transient: z.boolean(),
  /** The beginning of what was answered. */
  detail: z.string(),
  requests: z.number().int().min(0),
  tokens: z.number().int().min(0),
});
export type StoredAnswer = Readonly<z.infer<typeof answerShape>>;

export class AnswerFile {
  readonly #path: string | null;
  readonly #answers: Map<string, StoredAnswer>;

  private constructor(path: string | null, answers: Map<string, StoredAnswer>) {
    this.#path = path;
    this.#answers = answers;
  }

  static async open(path: string | null): Promise<AnswerFile> {
    const answers = new Map<string, StoredAnswer>();
    if (path === null || !existsSync(path)) return new AnswerFile(path, answers);
    let line = 0;
    for await (const value of readJsonl(path)) {
      line += 1;
      const { data } = answerShape.safeParse(value);
      if (data === undefined) {
        throw new UserError({
          call: `read ${path}`,
          expected: `an answer of the judge on line ${line}`,
          found: 'something else',
          fix: 'Restore the file: without it the run would ask again, and might be answered otherwise.',
        });
      }
      answers.set(placeOf(data), data);
    }
    return new AnswerFile(path, answers);
  }

  /** A failure of the update comes before an answer that a later update got. */
  find(key: string, update: number): StoredAnswer | null {
    return this.#answers.get(`${key} ${update}`) ?? this.#answers.get(key) ?? null;
  }

  /** Does the work with a function that stores an answer at once; the file is open only meanwhile. */
  async storing<Result>(work: (store: (answer: StoredAnswer) => void) => Promise<Result>): Promise<Result> {
    const writer = this.#path === null ? null : new JsonlWriter(this.#path);
    try {
      return await work((answer) => {
        writer?.append(answer);
        this.#answers.set(placeOf(answer), answer);
      });
    } finally {
      writer?.close();
    }
  }
}

function placeOf({ key, update, transient }: StoredAnswer): string {
  return transient ? `${key} ${update}` : key;
}
