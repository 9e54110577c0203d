/**
 * Follows what changes on the server: the page looks at the stamps of its runs, and rests after a change the longer, the longer that took to be
 * drawn. A tab that is not in sight asks for nothing, and sees by its next look what it missed.
 */
import { signal } from '@preact/signals';
import type { ListedRun } from '../api.ts';

/** The ids that changed last, and how many changes there were. */
export const changed = signal<{ readonly ids: readonly string[]; readonly count: number }>({ ids: [], count: 0 });
export const isLive = signal(false);

const lookEveryMs = 1000;
let changedAt = Number.NEGATIVE_INFINITY;
let drawingMs = 0;

/** The wait after a change: what a page shows costs the machine that trains. */
export const restAfter = (drawing: number): number => Math.min(15_000, Math.max(5000, 50 * drawing));

/** Called when a change has been drawn. */
export function noteDrawing(): void {
  drawingMs = performance.now() - changedAt;
}

type Stamps = Readonly<Record<string, number>>;

export const changedIds = (before: Stamps, now: Stamps): string[] =>
  Object.keys({ ...before, ...now }).filter((id) => before[id] !== now[id]);

export function followChanges(ask: () => Promise<Stamps>): void {
  let seen: Stamps | null = null;
  let isAsking = false;
  const look = async (): Promise<void> => {
    if (document.hidden || isAsking || performance.now() - changedAt < restAfter(drawingMs)) return;
    isAsking = true;
    try {
      const now = await ask();
      const ids = changedIds(seen ?? now, now);
      seen = now;
      isLive.value = true;
      if (ids.length > 0) {
        [changedAt, drawingMs] = [performance.now(), 0];
        changed.value = { ids, count: changed.value.count + 1 };
      }
    } catch {
      isLive.value = false;
    }
    isAsking = false;
  };
  void look();
  setInterval(look, lookEveryMs);
  document.addEventListener('visibilitychange', look);
}

const firstSeen = new Map<string, { readonly at: number; readonly update: number }>();

/** How long a run that trains will take, by what it did while this page looked on; nothing before it did anything. */
export function timeLeft({
  id,
  status,
  update,
  updates,
}: Pick<ListedRun, 'id' | 'status' | 'update' | 'updates'>): string {
  if (status !== 'running') return '';
  const now = performance.now();
  const first = firstSeen.get(id) ?? { at: now, update };
  firstSeen.set(id, first);
  if (update <= first.update) return '';
  const seconds = ((now - first.at) / (update - first.update) / 1000) * (updates - update);
  return `, about ${seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.round(seconds / 60)} min`} left`;
}
