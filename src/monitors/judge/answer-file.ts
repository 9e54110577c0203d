/**
 * The answers of an endpoint, in a file of the run: a question is asked once, and a run that is resumed gets the answers that it got
 * before. What an endpoint says is no function of the config, so this file is part of what a run was. A failure counts for the update
 * that met it and for no other, since another attempt might have had an answer. Every line has a hash of itself and of the line before
 * it, so that an answer that was changed or taken out is noticed. Without a folder answers are kept in memory only.
 */
import { existsSync } from 'node:fs';
import { z } from 'zod';
import { UserError } from '../../base/index.ts';
import { JsonlWriter, readJsonl, sha256Json } from '../../base/node/index.ts';

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
const lineShape = answerShape.extend({ hash: z.string() });

/** The hash of a line; `before` is that of the line before it, empty for the first. */
const hashOf = (before: string, answer: StoredAnswer): string => sha256Json([before, answer]);

export class AnswerFile {
  readonly #path: string | null;
  readonly #answers: Map<string, StoredAnswer>;
  /** The hash of the last line. */
  #last: string;

  private constructor(path: string | null, answers: Map<string, StoredAnswer>, last: string) {
    this.#path = path;
    this.#answers = answers;
    this.#last = last;
  }

  static async open(path: string | null): Promise<AnswerFile> {
    const answers = new Map<string, StoredAnswer>();
    if (path === null || !existsSync(path)) return new AnswerFile(path, answers, '');
    let line = 0;
    let last = '';
    for await (const value of readJsonl(path)) {
      line += 1;
      const { data } = lineShape.safeParse(value);
      if (data === undefined) throw damaged(path, `an answer of the judge on line ${line}`, 'something else');
      const { hash, ...answer } = data;
      last = hashOf(last, answer);
      if (hash !== last) throw damaged(path, `line ${line} as it was written`, 'another one, or others before it');
      answers.set(placeOf(answer), answer);
    }
    return new AnswerFile(path, answers, last);
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
    const writer = this.#path === null ? null : new JsonlWriter(this.#path);
    try {
      return await work((answer) => {
        const hash = hashOf(this.#last, answer);
        writer?.append({ ...answer, hash });
        this.#last = hash;
        this.#answers.set(placeOf(answer), answer);
      });
    } finally {
      writer?.close();
    }
  }
}

function damaged(path: string, expected: string, found: string): UserError {
  return new UserError({
    call: `read ${path}`,
    expected,
    found,
    fix: 'Restore the file: without it the run would ask again, and might be answered otherwise.',
  });
}

function placeOf({ key, update, transient }: StoredAnswer): string {
  return transient ? `${key} ${update}` : key;
}
