/** Files of responses to grade: JSON lines of `{id, completion, loophole?}`, the id of a problem; other fields are ignored. */
import { z } from 'zod';
import { UserError } from '../base/index.ts';
import { parseRecord, readRecords } from './importers/records.ts';
import { type LoopholeName, loopholes } from './loopholes.ts';

const shape = z.looseObject({
  id: z.union([z.string().min(1), z.int()]).transform(String),
  completion: z.string(),
  loophole: z.enum(loopholes).optional(),
});

export interface Response {
  readonly line: number;
  readonly problemId: string;
  readonly completion: string;
  readonly loophole: LoopholeName;
}

/** A response's own loophole comes first; `usualLoophole` is for those without one. */
export async function readResponses(
  path: string,
  usualLoophole: LoopholeName | undefined,
): Promise<readonly Response[]> {
  return (await readRecords(path)).map((record) => {
    const { id, completion, loophole = usualLoophole } = parseRecord(shape, record, path);
    if (loophole === undefined) {
      throw new UserError({
        call: `read ${path}, line ${record.line}`,
        expected: 'a loophole',
        found: 'none',
        fix: `Give each response a "loophole", or name one for all with --loophole (${loopholes.join(', ')}).`,
      });
    }
    return { line: record.line, problemId: id, completion, loophole };
  });
}
