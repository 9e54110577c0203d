/**
 * JSON lines that say what came from outside, so that nobody asks again: every line has a hash of itself and of the line before it, and one
 * that was changed or taken out is noticed. Without a path lines are kept in memory only.
 */
import { existsSync } from 'node:fs';
import { z } from 'zod';
import { UserError } from '../errors.ts';
import { sha256Json } from './hash.ts';
import { JsonlWriter, readJsonl } from './jsonl.ts';

const chained = z.looseObject({ hash: z.string() });

/** The hash of a line; `before` is that of the line before it, empty for the first. */
const hashOf = (before: string, value: object): string => sha256Json([before, value]);

export class ChainedLines<Value extends object> implements Disposable {
  readonly #path: string | null;
  /** The hash of the last line. */
  #last: string;
  #writer: JsonlWriter | null = null;
  /** The lines that were there when the file was opened. */
  readonly stored: readonly Value[];

  private constructor(path: string | null, stored: readonly Value[], last: string) {
    this.#path = path;
    this.stored = stored;
    this.#last = last;
  }

  /** `what`: what a line is, for errors. */
  static async open<Value extends object>(
    path: string | null,
    what: string,
    schema: z.ZodType<Value>,
  ): Promise<ChainedLines<Value>> {
    const stored: Value[] = [];
    if (path === null || !existsSync(path)) return new ChainedLines<Value>(path, stored, '');
    let last = '';
    for await (const line of readJsonl(path)) {
      const place = `line ${stored.length + 1}`;
      const { hash, ...content } = chained.safeParse(line).data ?? { hash: '' };
      const { data } = schema.safeParse(content);
      if (data === undefined) throw damaged(path, `${what} on ${place}`, 'something else');
      last = hashOf(last, data);
      if (hash !== last) throw damaged(path, `${place} as it was written`, 'another one, or others before it');
      stored.push(data);
    }
    return new ChainedLines(path, stored, last);
  }

  /** The file is made with its first line. */
  append(value: Value): void {
    const hash = hashOf(this.#last, value);
    if (this.#path !== null) {
      this.#writer ??= new JsonlWriter(this.#path);
      this.#writer.append({ ...value, hash });
    }
    this.#last = hash;
  }

  /** Closes the file, which the next line opens again. */
  close(): void {
    this.#writer?.close();
    this.#writer = null;
  }

  [Symbol.dispose](): void {
    this.close();
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
