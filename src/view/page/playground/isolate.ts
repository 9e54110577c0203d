/**
 * The service worker of the page: it adds the two headers with which a browser lets threads share memory, whatever server the files lie on, and
 * answers from what it has kept where there is no network.
 */

interface FetchEvent extends Event {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
  waitUntil(work: Promise<void>): void;
}

const isolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** Types that a simple server may not know, and without which a browser does not run these files. */
const types = { '.mjs': 'text/javascript', '.wasm': 'application/wasm' };

async function answer(request: Request): Promise<Response> {
  const cache = await caches.open('playground');
  const fresh = await fetch(request).catch(() => null);
  // A browser without room answers all the same. What follows a question mark is for the page alone.
  if (fresh?.ok === true && !request.url.includes('?')) await cache.put(request, fresh.clone()).catch(() => undefined);
  const kept = fresh?.ok === true ? undefined : await cache.match(request, { ignoreSearch: true });
  const found = kept ?? fresh ?? Response.error();
  if (found.status === 0) return found;
  const headers = new Headers(found.headers);
  for (const [name, value] of Object.entries(isolation)) headers.set(name, value);
  const type = Object.entries(types).find(([end]) => new URL(request.url).pathname.endsWith(end))?.[1];
  if (type !== undefined) headers.set('Content-Type', type);
  return new Response(found.body, { status: found.status, statusText: found.statusText, headers });
}

/** Everything that the page may ask for, before it can do without a network. */
async function keepAll(): Promise<void> {
  const names: readonly string[] = await (await fetch('files.json')).json();
  await (await caches.open('playground')).addAll(['./', 'files.json', ...names]);
  await scope.skipWaiting();
}

const scope = globalThis as unknown as {
  skipWaiting(): Promise<void>;
  readonly clients: { claim(): Promise<void> };
};
addEventListener('install', (event) => (event as FetchEvent).waitUntil(keepAll()));
addEventListener('activate', () => void scope.clients.claim());
addEventListener('fetch', (event) => {
  const { request } = event as FetchEvent;
  if (request.method === 'GET' && new URL(request.url).origin === location.origin) {
    (event as FetchEvent).respondWith(answer(request));
  }
});
