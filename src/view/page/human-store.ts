/** Labels and notes written in this page: a server stores them, else they are in memory, to be downloaded as lines. */
import { computed, signal } from '@preact/signals';
import type { LabelledRollout, LabelsPage, ListedNote, NotesPage } from '../api.ts';
import type { HumanLabel, PinnedNote } from '../human.ts';
import type { VerdictWord } from '../query.ts';
import { type Answer, source, useAsked } from './source.ts';

const labelsHere = signal<readonly LabelledRollout[]>([]);
const notesHere = signal<readonly ListedNote[]>([]);

export const isInMemory = source.home !== 'server';
export const writtenCount = computed(() => labelsHere.value.length + notesHere.value.length);

const nameKey = 'gq-writer';

function storedName(): string {
  try {
    return localStorage.getItem(nameKey) ?? '';
  } catch {
    // A page from disk may have no storage.
    return '';
  }
}

/** The name that the writer gave; empty: the usual one of the server. */
export const writerName = signal(storedName());

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

export function useLabels(id: string): Answer<LabelsPage> {
  const { value, error } = useAsked('labels', id);
  const here = labelsHere.value.filter(({ run }) => run === id || run.startsWith(`${id}/`));
  return { error, value: value === null ? null : { ...value, labels: [...value.labels, ...here] } };
}

export async function giveLabel(run: string, verdict: VerdictWord, given: Omit<HumanLabel, 'at'>): Promise<void> {
  const stored = { ...given, at: new Date().toISOString(), run, verdict };
  labelsHere.value = [...labelsHere.value, isInMemory ? stored : await save<LabelledRollout>('labels', run, given)];
}

export function useNotes(): Answer<NotesPage> {
  const { value, error } = useAsked('notes', '');
  const known = new Set(value?.notes.map((note) => JSON.stringify(note)));
  const here = notesHere.value.filter((note) => !known.has(JSON.stringify(note)));
  return { error, value: value === null ? null : { ...value, notes: [...here, ...value.notes] } };
}

export async function giveNote(id: string, given: Omit<PinnedNote, 'at'>): Promise<void> {
  const stored = { ...given, at: new Date().toISOString(), id };
  notesHere.value = [isInMemory ? stored : await save<ListedNote>('notes', id, given), ...notesHere.value];
}

const save = <Stored>(kind: 'labels' | 'notes', id: string, given: object) =>
  source.save(kind, id, given) as Promise<Stored>;

export function writtenLines(): string {
  const labels = labelsHere.value.map(({ verdict: _verdict, ...label }) => label);
  return [...labels, ...notesHere.value].map((line) => `${JSON.stringify(line)}\n`).join('');
}
