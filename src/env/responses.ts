/** Files of responses to grade: JSON lines of `{id, completion, loophole?}`, where id names a problem; other fields are ignored. */
import { z } from 'zod';
import { UserError } from '../base/index.ts';
import { parseRecord, readRecords } from './importers/records.ts';
import type { Loophole, LoopholeName } from './loopholes/loophole.ts';
import { builtinLoopholes, namesOf, openLoopholes } from './loopholes/registry.ts';

const shape = z.looseObject({
  id: z.union([z.string().min(1), z.int()]).transform(String),
  completion: z.string(),
  loophole: z.string().optional(),
});

export interface Response {
  readonly line: number;
  readonly problemId: string;
  readonly completion: string;
  readonly loophole: LoopholeName;
}

/** Reads the responses; `usualLoophole` is for those that name no loophole. */
export async function readResponses(
  path: string,
  usualLoophole: LoopholeName | undefined,
  loopholes: readonly Loophole[] = builtinLoopholes,
): Promise<readonly Response[]> {
  return (await readRecords(path)).map((record) => {
    const { id, completion, loophole = usualLoophole } = parseRecord(shape, record, path);
    const call = `read ${path}, line ${record.line}`;
    if (loophole === undefined) {
      throw new UserError({
        call,
        expected: 'a loophole',
        found: 'none',
        fix: `Give each response a "loophole", or name one for all with --loophole (${namesOf(loopholes).join(', ')}).`,
      });
    }
    openLoopholes(loophole, loopholes, call);
    return { line: record.line, problemId: id, completion, loophole };
  });
}
