/** How often a page shows what has changed: the longer the last change took to be drawn, the longer the next waits. */

/** The wait after a change, as a multiple of what the change took. */
const restShare = 50;
const longestRestMs = 15_000;

export function refreshPace(show: (ids: readonly string[]) => void) {
  const waiting = new Set<string>();
  let working = 0;
  let shownAt = 0;
  let timer: ReturnType<typeof setTimeout> | null = null;
  const pass = (): void => {
    const ids = [...waiting];
    waiting.clear();
    shownAt = performance.now();
    show(ids);
  };
  return {
    /** Shows a change now, or with those that come until the page has rested. */
    change(ids: readonly string[]): void {
      for (const id of ids) waiting.add(id);
      if (working === 0 && timer === null) pass();
    },
    /** Work for a change begins; the function that is returned ends it. */
    work(): () => void {
      working += 1;
      return () => {
        working -= 1;
        if (working > 0) return;
        if (timer !== null) clearTimeout(timer);
        const rest = Math.min(longestRestMs, restShare * (performance.now() - shownAt));
        timer = setTimeout(() => {
          timer = null;
          if (waiting.size > 0 && working === 0) pass();
        }, rest);
      };
    },
  };
}
