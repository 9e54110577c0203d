/** Reads the complete lines that were added to a log since the last look. A log that does not exist yet has none. */
import { JsonlFollower } from '../../base/node/index.ts';

/** `lastBytes`: how much of what is there already is told, from its end; default: all. */
export function followLog(path: string, lastBytes?: number): () => string[] {
  const lines = new JsonlFollower(path, (line) => line.toString('utf8'), lastBytes);
  return () => lines.read().values.map(String);
}

export function lastLine(path: string): string | null {
  const lines = followLog(path, 16_384)().filter((line) => line.trim() !== '');
  return lines.at(-1)?.trim() ?? null;
}
