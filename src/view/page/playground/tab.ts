/** What the page asks of its browser: threads, a memory that outlives a reload, and the place where what is trained is kept. */

/** Scrolls to one of the elements that a selector names. */
export function bringIntoView(selector: string, index = 0): void {
  const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  document.querySelectorAll(selector)[index]?.scrollIntoView({ behavior: isCalm ? 'auto' : 'smooth' });
}

/** Remembers something until the tab is closed; a browser that may store nothing remembers nothing. */
export function remember(name: string, value: unknown): void {
  try {
    sessionStorage.setItem(name, JSON.stringify(value));
  } catch {}
}

/** Null where nothing, or nothing that can be read, is remembered. */
export function remembered<Value>(name: string): Value | null {
  try {
    return JSON.parse(sessionStorage.getItem(name) ?? 'null');
  } catch {
    return null;
  }
}

/** How long a page that is reloaded may still hold its place. */
const mostWaitMs = 2000;

/** Takes the place in which what is trained is kept, until the tab is closed: two tabs that write to it would mix their updates. False where another has it. */
export function takePlace(): Promise<boolean> {
  if (navigator.locks === undefined) return Promise.resolve(true);
  return new Promise((resolve) => {
    const hold = () => {
      resolve(true);
      return new Promise(() => undefined);
    };
    navigator.locks
      .request('playground', { signal: AbortSignal.timeout(mostWaitMs) }, hold)
      .catch(({ name }: Error) => resolve(!/Timeout|Abort/.test(name)));
  });
}

/** Threads need an isolated page, which the service worker makes of this one when it is loaded again; without it there is one thread. */
export async function isolate(): Promise<void> {
  if (crossOriginIsolated || !('serviceWorker' in navigator) || remembered('isolated') !== null) return;
  remember('isolated', true);
  // Without this it would be loaded again and again.
  if (remembered('isolated') === null) return;
  const { installing, waiting, active } = await navigator.serviceWorker.register('isolate.js');
  const worker = installing ?? waiting ?? active;
  if (worker === null || !(await becomesActive(worker))) return;
  location.reload();
  await new Promise(() => undefined);
}

/** False where it cannot be installed. */
function becomesActive(worker: ServiceWorker): Promise<boolean> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (worker.state === 'activated' || worker.state === 'redundant') resolve(worker.state === 'activated');
    };
    worker.addEventListener('statechange', look);
    look();
  });
}

const headers = 'Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp';

/** How many threads a lane has, and where it is one: why, and what helps. */
export function threadWords(threads: number): string {
  if (threads > 1) return `${threads} threads a lane.`;
  if (!crossOriginIsolated) return `One thread a lane: ${isolationWords()}`;
  return `One thread a lane: the two lanes share the ${navigator.hardwareConcurrency} cores that the browser names.`;
}

/** Why this page is not isolated, and what helps. */
export function isolationWords(): string {
  if (!isSecureContext)
    return 'a page shares memory between threads over https or on localhost only, so open it there.';
  if (!('serviceWorker' in navigator))
    return `this window has no service worker, which would isolate the page; a window that is not private helps, or a server that sends ${headers}.`;
  return `the service worker that isolates the page was not let work; loading the page again without Shift helps, or a window that may store data, or a server that sends ${headers}.`;
}
