/** The labels and notes that people wrote about what a library holds, and how a page adds to them. */
import { UserError } from '../base/index.ts';
import {
  type AnswersPage,
  type HumanLabel,
  type LabelledRollout,
  type LabelsPage,
  type ListedNote,
  type NotesPage,
  parseAnswerId,
} from './api.ts';
import { existsManifest, type FoundEntry } from './catalogue.ts';
import {
  appendLine,
  labelsFile,
  notesFile,
  parseLabel,
  parseNote,
  readLabels,
  readNotes,
  usualWriter,
} from './human-files.ts';
import type { ViewLibrary } from './library.ts';

/** What a page may add, by the path that it posts to. */
export const writtenKinds = ['labels', 'notes'] as const;
export type WrittenKind = (typeof writtenKinds)[number];

/** Labels of a run, or of all runs of an experiment, each with the verdict of its rollout. */
export async function labelsPage(library: ViewLibrary, entry: FoundEntry): Promise<LabelsPage> {
  const own = library
    .entries()
    .filter(({ kind, id, experiment }) => kind === 'run' && [id, experiment].includes(entry.id));
  const labels: LabelledRollout[] = [];
  for (const run of own.filter(({ path }) => existsManifest(path))) {
    const stored = await readLabels(run.path);
    if (stored.length > 0) labels.push(...(await withVerdicts(library, run, stored)));
  }
  return { writer: usualWriter(), labels };
}

async function withVerdicts(
  library: ViewLibrary,
  run: FoundEntry,
  labels: readonly HumanLabel[],
): Promise<LabelledRollout[]> {
  const isOfAnswer = ({ rollout }: HumanLabel): boolean => parseAnswerId(rollout) !== null;
  const rows = labels.every(isOfAnswer) ? [] : await (await library.table(run)).rows(['id', 'hack']);
  const hacks = new Map(rows.map(({ id, hack }) => [id, hack]));
  const answers = labels.some(isOfAnswer) ? await library.answer('answers', new URLSearchParams({ id: run.id })) : null;
  return labels.flatMap((label) => {
    const hack = hacks.get(label.rollout) ?? verdictOf(answers as AnswersPage | null, label.rollout);
    // A run that was resumed may have lost the rollouts after its last checkpoint.
    return hack === undefined ? [] : [{ ...label, run: run.id, hack }];
  });
}

/** Whether an answer is a hack; undefined where there is no such answer. */
function verdictOf(page: AnswersPage | null, id: string): boolean | undefined {
  const asked = parseAnswerId(id);
  if (page === null || asked === null) return undefined;
  const found = page.sets.find(({ set, update }) => set === asked.set && update === asked.update);
  return found?.prompts.find(({ problem }) => problem === asked.problem)?.[asked.state]?.hack;
}

/** The notes of a folder, the newest first. */
export async function notesPage(library: ViewLibrary): Promise<NotesPage> {
  const places = new Map([
    [library.root, ''],
    ...library.entries().map(({ path, id }): [string, string] => [path, id]),
  ]);
  const notes: ListedNote[] = [];
  for (const [path, id] of places) for (const note of await readNotes(path)) notes.push({ ...note, id });
  return { writer: usualWriter(), notes: notes.sort((a, b) => (a.at < b.at ? 1 : -1)) };
}

/** Stores a label or a note about a run or an experiment; an empty id is the folder itself. */
export async function addWritten(
  library: ViewLibrary,
  kind: WrittenKind,
  id: string,
  body: unknown,
): Promise<LabelledRollout | ListedNote> {
  if (kind === 'notes') {
    const note = parseNote(body);
    await appendLine(id === '' ? library.root : library.find(id).path, notesFile, note);
    return { ...note, id };
  }
  const label = parseLabel(body);
  const run = library.find(id);
  const [labelled] = run.kind === 'run' ? await withVerdicts(library, run, [label]) : [];
  if (labelled === undefined) {
    throw new UserError({ call: `label ${label.rollout}`, expected: `a rollout of the run ${id}`, found: 'none' });
  }
  await appendLine(run.path, labelsFile, label);
  return labelled;
}
