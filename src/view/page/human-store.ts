/**
 * Labels and notes that are written in this page. With a server they are stored there; elsewhere they stay in memory until the page is
 * closed, and can be downloaded as the lines that a server would have written.
 */
import { computed, signal } from '@preact/signals';
import type { HumanLabel, LabelledRollout, LabelsPage, ListedNote, NotesPage, PinnedNote } from '../api.ts';
import { type Answer, source, useAsked } from './source.ts';

const ownLabels = signal<readonly LabelledRollout[]>([]);
const ownNotes = signal<readonly ListedNote[]>([]);

/** Whether what was written here is lost with the page. */
export const isInMemory = source.home !== 'server';
export const writtenCount = computed(() => ownLabels.value.length + ownNotes.value.length);

const nameKey = 'gq-writer';

function keptName(): string {
  try {
    return localStorage.getItem(nameKey) ?? '';
  } catch {
    // A page from disk may have no storage.
    return '';
  }
}

/** The name that the writer gave; empty: the usual one of the server. */
export const writerName = signal(keptName());

export function changeWriter(name: string): void {
  writerName.value = name.trim().slice(0, 60);
  try {
    localStorage.setItem(nameKey, writerName.value);
  } catch {
    // The name then lasts as long as the page.
  }
}

const looked = signal<ReadonlySet<string>>(new Set());

/** Remembers that the verdict of a rollout was seen in this page: a label that follows is not blind. */
export function noteLook(run: string, rollout: string): void {
  const key = `${run} ${rollout}`;
  if (!looked.value.has(key)) looked.value = new Set([...looked.value, key]);
}

export const wasLookedAt = (run: string, rollout: string): boolean => looked.value.has(`${run} ${rollout}`);

/** The labels of a run or an experiment, those given in this page last. */
export function useLabels(id: string): Answer<LabelsPage> {
  const answer = useAsked('labels', id);
  const own = ownLabels.value.filter(({ run }) => run === id || run.startsWith(`${id}/`));
  return answer.value === null
    ? answer
    : { error: null, value: { ...answer.value, labels: [...answer.value.labels, ...own] } };
}

export async function giveLabel(run: string, hack: boolean, given: Omit<HumanLabel, 'at'>): Promise<void> {
  const at = new Date().toISOString();
  const stored = isInMemory
    ? { ...given, at, run, hack }
    : ((await source.save('labels', run, given)) as LabelledRollout);
  ownLabels.value = [...ownLabels.value, stored];
}

/** All notes, the newest first. */
export function useNotes(): Answer<NotesPage> {
  const answer = useAsked('notes', '');
  if (answer.value === null) return answer;
  const known = new Set(answer.value.notes.map((note) => JSON.stringify(note)));
  const own = ownNotes.value.filter((note) => !known.has(JSON.stringify(note)));
  return { error: null, value: { ...answer.value, notes: [...own, ...answer.value.notes] } };
}

export async function giveNote(id: string, given: Omit<PinnedNote, 'at'>): Promise<void> {
  const at = new Date().toISOString();
  const stored = isInMemory ? { ...given, at, id } : ((await source.save('notes', id, given)) as ListedNote);
  ownNotes.value = [stored, ...ownNotes.value];
}

/** What was written in this page, as JSON lines: labels with their run, notes with what they are about. */
export function writtenLines(): string {
  const labels = ownLabels.value.map(({ hack: _hack, ...label }) => label);
  return [...labels, ...ownNotes.value].map((line) => `${JSON.stringify(line)}\n`).join('');
}
