/** Reads the complete lines that were added to a log since the last look. A log that does not exist yet has none. */
import { JsonlFollower } from '../../base/node/index.ts';

export class LogTail {
  readonly #lines: JsonlFollower;

  /** `lastBytes`: how much of what is there already is told, from its end; default: all. */
  constructor(path: string, lastBytes?: number) {
    this.#lines = new JsonlFollower(path, (line) => line.toString('utf8'), lastBytes);
  }

  read(): string[] {
    return this.#lines.read().values.map(String);
  }
}

export function lastLine(path: string): string | null {
  const lines = new LogTail(path, 16_384).read().filter((line) => line.trim() !== '');
  return lines.at(-1)?.trim() ?? null;
}
