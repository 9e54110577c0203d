/** Files of responses to grade: JSON lines of `{id, completion, mode?}`, the id of a problem; other fields are ignored. */
import { z } from 'zod';
import { UserError } from '../base/errors.ts';
import { parseRecord, readRecords } from './importers/records.ts';
import { type Mode, modes } from './modes.ts';

const shape = z.looseObject({
  id: z.union([z.string().min(1), z.int()]).transform(String),
  completion: z.string(),
  mode: z.enum(modes).optional(),
});

export interface Response {
  readonly line: number;
  readonly problemId: string;
  readonly completion: string;
  readonly mode: Mode;
}

/** A response's own mode comes first; `usualMode` is for those without one. */
export async function readResponses(path: string, usualMode: Mode | undefined): Promise<readonly Response[]> {
  return (await readRecords(path)).map((record) => {
    const { id, completion, mode = usualMode } = parseRecord(shape, record, path);
    if (mode === undefined) {
      throw new UserError({
        call: `read ${path}, line ${record.line}`,
        expected: 'a mode',
        found: 'none',
        fix: `Give each response a "mode", or name one for all with --mode (${modes.join(', ')}).`,
      });
    }
    return { line: record.line, problemId: id, completion, mode };
  });
}
