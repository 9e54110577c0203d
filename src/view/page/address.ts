/** Every view is an address after the #, so it works from disk and on any host. The policy state that is shown travels along. */
import { computed, signal } from '@preact/signals';

export const screens = [
  'home',
  'experiment',
  'matrix',
  'run',
  'gate',
  'answers',
  'rollouts',
  'rollout',
  'label',
  'labels',
  'compare',
] as const;
export type ScreenName = (typeof screens)[number] | 'unknown';

export type ShownState = 'full' | 'deployed';

export type Address = { readonly screen: ScreenName; readonly id: string; readonly parameters: URLSearchParams };

function parseAddress(hash: string): Address {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [name = '', id = ''] = path.split('/', 2);
  const screen = screens.find((each) => each === name) ?? (name === '' ? 'home' : 'unknown');
  return { screen, id: decode(id), parameters: new URLSearchParams(search) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const address = signal<Address>(parseAddress(location.hash));

/** What was chosen with q: deployed is what ships, so it comes first. */
export const shownState = computed<ShownState>(() =>
  address.value.parameters.get('state') === 'full' ? 'full' : 'deployed',
);

export const stateWords: Readonly<Record<ShownState, string>> = { full: 'as trained', deployed: 'deployed' };

export function followAddress(): void {
  window.addEventListener('hashchange', () => {
    address.value = parseAddress(location.hash);
  });
}

export type Parameters = Readonly<Record<string, string | number | null>>;

export function linkTo(screen: ScreenName, id = '', parameters: Parameters = {}): string {
  const kept = Object.entries({ ...stateParameter(), ...parameters }).flatMap(([key, value]) =>
    value === null || value === '' ? [] : [[key, `${value}`]],
  );
  const search = kept.length === 0 ? '' : `?${new URLSearchParams(kept)}`;
  return `#/${screen === 'home' ? '' : `${screen}/${encodeURIComponent(id)}`}${search}`;
}

const stateParameter = (): Parameters => (shownState.value === 'full' ? { state: 'full' } : {});

export function goTo(screen: ScreenName, id = '', parameters: Parameters = {}): void {
  location.hash = linkTo(screen, id, parameters);
}

export function changeParameters(changes: Parameters): void {
  const { screen, id, parameters } = address.value;
  const now = Object.fromEntries(parameters);
  history.replaceState(null, '', linkTo(screen, id, { ...now, ...changes }));
  address.value = parseAddress(location.hash);
}

export function chosenSet<Item extends { readonly set: string }>(items: readonly Item[]): Item | undefined {
  const wanted = [address.value.parameters.get('set'), 'test-original'];
  return wanted.flatMap((name) => items.find(({ set }) => set === name) ?? [])[0] ?? items[0];
}
