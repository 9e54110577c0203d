/** Labels and notes of people, in lines beside the run. Nothing of training reads them, and no seal covers them. */
import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { groupBy, messageOf, UserError } from '../base/index.ts';
import { JsonlWriter, readJsonl, waitForLock } from '../base/node/index.ts';
import { readRecords } from '../env/importers/records.ts';
import { checkStored, isRun } from '../run/index.ts';
import {
  type AnswersPage,
  type LabelledRollout,
  type ListedNote,
  labelWords,
  type NotesPage,
  parseAnswerId,
} from './api.ts';
import type { FoundEntry } from './catalogue.ts';
import type { ViewLibrary } from './library.ts';
import { verdictWordOf } from './query.ts';

const writer = z.string().trim().min(1).max(60);
const label = z.strictObject({
  rollout: z.string().max(400),
  label: z.enum(labelWords).nullable(),
  writer,
  blind: z.boolean(),
});
const note = z.strictObject({
  screen: z.string().max(20),
  parameters: z.string().max(2000),
  text: z.string().trim().min(1).max(4000),
  writer,
});
const at = z.string();

const written = {
  labels: { file: 'human-labels.jsonl', sent: label, stored: label.extend({ at }) },
  notes: { file: 'notes.jsonl', sent: note, stored: note.extend({ at }) },
} as const;
export type WrittenKind = keyof typeof written;
/** What a person said: the last label of each writer counts, null takes it back. It is never a verdict, and nothing trains on it. */
export type HumanLabel = Readonly<z.infer<typeof written.labels.stored>>;
/** A text about a screen of a run or an experiment with its parameters. */
export type PinnedNote = Readonly<z.infer<typeof written.notes.stored>>;
export const writtenKinds = Object.keys(written) as readonly WrittenKind[];

export async function labelsPage(library: ViewLibrary, entry: FoundEntry) {
  const labels: LabelledRollout[] = [];
  const leftOut: { run: string; why: string }[] = [];
  for (const run of library.entries()) {
    const isOwn = run.kind === 'run' && [run.id, run.experiment].includes(entry.id);
    if (!isOwn || !isRun(run.path)) continue;
    try {
      const stored = await readAll(run.path, 'labels');
      if (stored.length > 0) labels.push(...(await withVerdicts(library, run, stored)));
    } catch (error) {
      leftOut.push({ run: run.id, why: messageOf(error) });
    }
  }
  return { writer: usualWriter(), labels, leftOut: leftOut.length === 0 ? undefined : leftOut };
}

async function withVerdicts(
  library: ViewLibrary,
  run: FoundEntry,
  labels: readonly HumanLabel[],
): Promise<LabelledRollout[]> {
  const isOfAnswer = ({ rollout }: HumanLabel): boolean => parseAnswerId(rollout) !== null;
  const rows = labels.every(isOfAnswer)
    ? []
    : await (await library.table(run)).rows(['id', 'attempt', 'hack', 'solve']);
  const trained = new Map(rows.map((row) => [row.id, row]));
  const answers = labels.some(isOfAnswer) ? await library.answer('answers', new URLSearchParams({ id: run.id })) : null;
  return labels.flatMap((one) => {
    const judged = trained.get(one.rollout) ?? answerOf(answers as AnswersPage | null, one.rollout);
    // A run that was resumed may have lost the rollouts after its last checkpoint.
    return judged == null ? [] : [{ ...one, run: run.id, verdict: verdictWordOf(judged) }];
  });
}

function answerOf(page: AnswersPage | null, id: string) {
  const asked = parseAnswerId(id);
  if (page === null || asked === null) return undefined;
  const found = page.sets.find(({ set, update }) => set === asked.set && update === asked.update);
  return found?.prompts.find(({ problem }) => problem === asked.problem)?.[asked.state];
}

export async function notesPage(library: ViewLibrary): Promise<NotesPage> {
  const places = new Map([
    [resolve(library.root), ''],
    ...library.entries().map(({ path, id }) => [path, id] as const),
  ]);
  const notes: ListedNote[] = [];
  const leftOut: { run: string; why: string }[] = [];
  for (const [path, id] of places) {
    try {
      for (const one of await readAll(path, 'notes')) notes.push({ ...one, id });
    } catch (error) {
      leftOut.push({ run: id, why: messageOf(error) });
    }
  }
  const sorted = notes.sort((a, b) => (a.at < b.at ? 1 : -1));
  return { writer: usualWriter(), notes: sorted, leftOut: leftOut.length === 0 ? undefined : leftOut };
}

export async function addWritten(
  library: ViewLibrary,
  kind: WrittenKind,
  id: string,
  body: unknown,
): Promise<LabelledRollout | ListedNote> {
  const now = new Date().toISOString();
  if (kind === 'notes') {
    const added = { ...checkStored(body, 'note', 'a note: screen, parameters, text, writer', note), at: now };
    await append(id === '' ? library.root : library.find(id).path, kind, added);
    return { ...added, id };
  }
  const added = { ...checkStored(body, 'label', 'a label: rollout, label, writer, blind', label), at: now };
  const run = library.find(id);
  const [labelled] = run.kind === 'run' ? await withVerdicts(library, run, [added]) : [];
  if (labelled === undefined) {
    throw new UserError({ call: `label ${added.rollout}`, expected: `a rollout of the run ${id}`, found: 'none' });
  }
  await append(run.path, kind, added);
  return labelled;
}

const imported = z.looseObject({
  run: z.string().optional(),
  writer: writer.optional(),
  blind: z.boolean().default(false),
});

/** Adds labels from lines of another place, as `gq measure labels --json` gives them: all of them, or none where one is wrong. */
export async function importLabels(library: ViewLibrary, file: string): Promise<number> {
  const runs = library.entries().filter(({ kind }) => kind === 'run');
  const added = (await readRecords(file)).map(({ value, line }) => {
    const call = `${file}, line ${line}`;
    const { run: id, rollout, label: word, blind, writer: by = usualWriter() } = checkStored(value, call, 'a label: run, rollout, label, writer, blind', imported); // biome-ignore format: one line
    const stored = { ...checkStored({ rollout, label: word, writer: by, blind }, call, 'a label', label), at: new Date().toISOString() }; // biome-ignore format: one line
    const run = runs.length === 1 && id === undefined ? runs[0] : runs.find((one) => one.id === id);
    const found = `run ${JSON.stringify(id ?? null)}, rollout ${JSON.stringify(rollout)}`;
    const none = new UserError({
      call,
      expected: `a run of the folder (key run, such as ${runs[0]?.id}), and one of its rollouts`,
      found,
    });
    if (run === undefined) throw none;
    return { run, stored, none };
  });
  const byRun = groupBy(added, ({ run }) => run);
  for (const [run, ofRun] of byRun) {
    const labelled = await withVerdicts(library, run, ofRun.map(({ stored }) => stored)); // biome-ignore format: one line
    const known = new Set(labelled.map(({ rollout }) => rollout));
    for (const { stored, none } of ofRun) if (!known.has(stored.rollout)) throw none;
  }
  for (const [run, ofRun] of byRun) await append(run.path, 'labels', ...ofRun.map(({ stored }) => stored));
  return added.length;
}

/** Several viewers may show one folder. A writer cuts off what a crash left of a line, so it must not see half of another's. */
async function append(folder: string, kind: WrittenKind, ...values: readonly object[]): Promise<void> {
  const { file } = written[kind];
  const use = { call: `write ${join(folder, file)}`, expected: 'a file that no other viewer writes' };
  using _lock = await waitForLock(join(folder, `.${file}.lock`), use, 10);
  using lines = new JsonlWriter(join(folder, file), { fsync: true });
  lines.append(...values);
}

async function readAll<Kind extends WrittenKind>(folder: string, kind: Kind) {
  const { file, stored } = written[kind];
  const rows: z.infer<(typeof written)[Kind]['stored']>[] = [];
  const path = join(folder, file);
  if (!existsSync(path)) return rows;
  for await (const value of readJsonl(path)) {
    rows.push(checkStored(value, `read ${path}`, `${kind} of people`, stored) as (typeof rows)[number]);
  }
  return rows;
}

function usualWriter(): string {
  try {
    return userInfo().username.slice(0, 60) || 'someone';
  } catch {
    return 'someone';
  }
}
