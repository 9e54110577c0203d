/**
 * The answers of an endpoint, in a file of the run: a question is asked once, and a run that is resumed gets the answers that it got
 * before. What an endpoint says is no function of the config, so this file is part of what a run was. A failure counts for the update
 * that met it and for no other, since another attempt might have had an answer. Without a folder answers are kept in memory only.
 */
import { z } from 'zod';
import { ChainedLines } from '../../base/node/chained-lines.ts';

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
  /** The model that answered, by the name that the endpoint gave; absent where it gave none. */
  model: z.string().optional(),
});
export type StoredAnswer = Readonly<z.infer<typeof answerShape>>;

export class AnswerFile {
  readonly #lines: ChainedLines<StoredAnswer>;
  readonly #answers: Map<string, StoredAnswer>;

  private constructor(lines: ChainedLines<StoredAnswer>) {
    this.#lines = lines;
    this.#answers = new Map(lines.stored.map((answer) => [placeOf(answer), answer]));
  }

  static async open(path: string | null): Promise<AnswerFile> {
    return new AnswerFile(await ChainedLines.open<StoredAnswer>(path, 'an answer of the judge', answerShape));
  }

  /** The name of the model that answered first; null while none has said its name. */
  get model(): string | null {
    for (const { model } of this.#answers.values()) if (model !== undefined) return model;
    return null;
  }

  /** A failure of the update comes before an answer that a later update got. */
  find(key: string, update: number): StoredAnswer | null {
    return this.#answers.get(`${key} ${update}`) ?? this.#answers.get(key) ?? null;
  }

  /** Does the work with a function that stores an answer at once; the file is open only meanwhile. */
  async storing<Result>(work: (store: (answer: StoredAnswer) => void) => Promise<Result>): Promise<Result> {
    try {
      return await work((answer) => {
        this.#lines.append(answer);
        this.#answers.set(placeOf(answer), answer);
      });
    } finally {
      this.#lines.close();
    }
  }
}

function placeOf({ key, update, transient }: StoredAnswer): string {
  return transient ? `${key} ${update}` : key;
}
