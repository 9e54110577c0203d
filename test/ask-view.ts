/** Asks a running viewer as a program does that knows its token. */
import type { RunningView } from '../src/view/index.ts';

export function askView(
  view: Pick<RunningView, 'address' | 'token'>,
  path: string,
  { headers = {}, ...rest }: RequestInit & { readonly headers?: Record<string, string> } = {},
): Promise<Response> {
  const options = { ...rest, headers: { Authorization: `Bearer ${view.token}`, ...headers } };
  return fetch(new URL(path, view.address), options);
}
