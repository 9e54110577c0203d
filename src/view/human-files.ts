/**
 * Files that people write through the viewer, beside those of the run or the experiment they are about: human-labels.jsonl and notes.jsonl. Lines are only
 * appended, each whole and flushed, with the name of its writer, by one process at a time. Nothing of training reads them, and no seal covers them.
 */
import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { JsonlWriter, readJsonl, waitForLock } from '../base/node/index.ts';
import { checkStored } from '../run/index.ts';
import { type HumanLabel, labelWords, type PinnedNote } from './api.ts';

export const labelsFile = 'human-labels.jsonl';
export const notesFile = 'notes.jsonl';

const writer = z.string().trim().min(1).max(60);
const givenLabel = z.strictObject({
  rollout: z.string().max(400),
  label: z.enum(labelWords).nullable(),
  writer,
  blind: z.boolean(),
});
const givenNote = z.strictObject({
  screen: z.string().max(20),
  parameters: z.string().max(2000),
  text: z.string().trim().min(1).max(4000),
  writer,
});
const at = z.string();
const storedLabel = givenLabel.extend({ at });
const storedNote = givenNote.extend({ at });

/** Checks what a page sent; it gets its time here. */
export function parseLabel(value: unknown): HumanLabel {
  return { ...checkStored(value, 'label', 'a label: rollout, label, writer, blind', givenLabel), at: now() };
}

export function parseNote(value: unknown): PinnedNote {
  return { ...checkStored(value, 'note', 'a note: screen, parameters, text, writer', givenNote), at: now() };
}

const now = (): string => new Date().toISOString();

/** Several viewers may show one folder. A writer cuts off what a crash left of a line, so it must not see half of another's. */
export async function appendLine(folder: string, file: string, value: HumanLabel | PinnedNote): Promise<void> {
  const use = { call: `write ${join(folder, file)}`, expected: 'a file that no other viewer writes' };
  using _held = await waitForLock(join(folder, `.${file}.lock`), use, 10);
  using lines = new JsonlWriter(join(folder, file), { fsync: true });
  lines.append(value);
}

export function readLabels(folder: string): Promise<HumanLabel[]> {
  return readAll(join(folder, labelsFile), 'labels of people', storedLabel);
}

export function readNotes(folder: string): Promise<PinnedNote[]> {
  return readAll(join(folder, notesFile), 'notes', storedNote);
}

async function readAll<Schema extends z.ZodType>(
  path: string,
  what: string,
  schema: Schema,
): Promise<z.infer<Schema>[]> {
  const rows: z.infer<Schema>[] = [];
  if (!existsSync(path)) return rows;
  for await (const value of readJsonl(path)) rows.push(checkStored(value, `read ${path}`, what, schema));
  return rows;
}

/** The name of whoever started this process, where the system knows one. */
export function usualWriter(): string {
  try {
    return userInfo().username.slice(0, 60) || 'someone';
  } catch {
    return 'someone';
  }
}
