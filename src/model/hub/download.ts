/**
 * Downloads one file over HTTP. What has arrived stays in `PATH.incomplete` when a connection breaks, and the next attempt goes on from
 * there; the file gets its name once its size and its hash are those that were announced. Attempts that bring nothing new are counted,
 * others are not, so that a slow line is no failure.
 */
import { createHash, type Hash } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf, UserError } from '../../base/index.ts';
import { streamRegular } from '../../base/node/index.ts';

export interface FileDigest {
  /** `sha256` of the bytes, or `git`: the SHA-1 that git gives the file. */
  readonly kind: 'sha256' | 'git';
  readonly value: string;
}

export interface FileToFetch {
  readonly url: string;
  readonly path: string;
  readonly size: number;
  readonly digest: FileDigest;
}

/** Calls `silent` when nothing has been heard of the address for too long, until it is ended. */
export type SilenceWatch = (
  url: string,
  silent: () => void,
) => { readonly heard: () => void; readonly end: () => void };

export const longestSilenceMs = 30_000;

const byTheClock: SilenceWatch = (_url, silent) => {
  const timer = setTimeout(silent, longestSilenceMs);
  return { heard: () => timer.refresh(), end: () => clearTimeout(timer) };
};

export interface DownloadOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Is told how many bytes of the file are on disk. */
  readonly progress?: (bytes: number) => void;
  /** Most attempts in a row that bring nothing. */
  readonly attempts?: number;
  /** Says when a connection has been silent for too long. */
  readonly silence?: SilenceWatch;
  /** The wait after the first attempt that brought nothing; it doubles with each. */
  readonly waitMs?: number;
}

/** An answer that another attempt would get again. */
function refusal(url: string, status: number, hasToken: boolean): UserError | null {
  if (status < 400 || status === 408 || status === 416 || status === 429 || status >= 500) return null;
  const fix =
    status === 404
      ? 'Check the name and the revision; the hub also answers so for a model that needs a token.'
      : status === 401 || status === 403
        ? hasToken
          ? 'The token in HF_TOKEN may not read this model; a gated one asks for consent on its page first.'
          : 'Set HF_TOKEN to a token that may read this model.'
        : undefined;
  return new UserError({
    call: `fetch ${url}`,
    expected: 'the file',
    found: `status ${status}`,
    ...(fix === undefined ? {} : { fix }),
  });
}

/** Asks for an address; an answer that never changes is thrown as a UserError, one that may change as an Error. */
export async function request(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Response> {
  const response = await fetch(url, { headers, signal });
  const refused = refusal(url, response.status, 'authorization' in headers);
  if (refused === null && (response.ok || response.status === 416)) return response;
  await response.body?.cancel();
  throw refused ?? new Error(`status ${response.status}`);
}

/** Calls `attempt` until it succeeds, or has brought nothing `attempts` times in a row. It returns whether it brought something. */
export async function persist<Result>(
  what: string,
  attempt: (moved: () => void) => Promise<Result>,
  { attempts = 5, waitMs = 1000, signal }: DownloadOptions,
): Promise<Result> {
  for (let fruitless = 0; ; fruitless++) {
    const at = { moved: false };
    try {
      return await attempt(() => {
        at.moved = true;
      });
    } catch (error) {
      signal?.throwIfAborted();
      if (at.moved) fruitless = 0;
      if (error instanceof UserError || isDiskError(error)) throw error;
      if (fruitless + 1 < attempts) {
        await sleep(waitMs * 2 ** fruitless, undefined, signal === undefined ? {} : { signal });
        continue;
      }
      throw new UserError(
        {
          call: `fetch ${what}`,
          expected: 'an answer',
          found: `${describe(error)}, ${attempts} times in a row`,
          fix: 'What has arrived is kept: call it again to go on. Without a network: --set model=DIR takes a folder that was fetched elsewhere, and HF_ENDPOINT names a hub within reach.',
        },
        { cause: error },
      );
    }
  }
}

const isDiskError = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EIO'].includes((error as { code?: string }).code ?? '');

function describe(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return messageOf(cause);
}

/** Downloads a file to `path`, unless it is there already with the right size and hash: a damaged one is replaced. */
export async function download(file: FileToFetch, options: DownloadOptions): Promise<void> {
  if (await isWhole(file)) return;
  const partial = `${file.path}.incomplete`;
  let again = false;
  for (;;) {
    await persist(file.url, (moved) => receive(file, partial, options, moved), options);
    const found = await digestOf(partial, file);
    if (found === file.digest.value) break;
    await rm(partial, { force: true });
    if (again) {
      throw new UserError({
        call: `fetch ${file.url}`,
        expected: `a file with the hash ${file.digest.value}`,
        found: `one with ${found}, twice`,
        fix: 'Nothing of it was kept. The server, or something between, changes what it sends.',
      });
    }
    again = true;
  }
  await rename(partial, file.path);
}

/** Appends what is still missing to the partial file. */
async function receive(
  { url, size }: FileToFetch,
  partial: string,
  { headers, signal, progress, silence: watch = byTheClock }: DownloadOptions,
  moved: () => void,
): Promise<void> {
  const here = statSync(partial, { throwIfNoEntry: false })?.size ?? 0;
  if (here === size && (size > 0 || existsSync(partial))) return;
  using silence = new Silence(url, watch, signal);
  const from = here > size ? 0 : here;
  const range: Record<string, string> = from === 0 ? {} : { range: `bytes=${from}-` };
  const response = await request(url, { ...headers, 'accept-encoding': 'identity', ...range }, silence.signal);
  const start = response.status === 206 ? rangeStart(response) : 0;
  if (response.status === 416 || start > from) {
    await response.body?.cancel();
    await rm(partial, { force: true });
    throw new Error('the server does not go on where the file ended');
  }
  await using output = await open(partial, start > 0 ? 'r+' : 'w');
  let at = start;
  for await (const chunk of response.body ?? []) {
    silence.heard();
    if (at + chunk.length > size) throw new Error(`more than the ${size} bytes that were announced`);
    await output.write(chunk, 0, chunk.length, at);
    at += chunk.length;
    if (at > here) moved();
    progress?.(at);
  }
  await output.truncate(at);
  await output.sync();
  if (at < size) throw new Error(`the connection ended after ${at} of ${size} bytes`);
}

function rangeStart(response: Response): number {
  const [, start] = /^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '') ?? [];
  return start === undefined ? Number.POSITIVE_INFINITY : Number(start);
}

/** A signal that aborts when nothing is heard for a while, or when the caller's does. */
class Silence implements Disposable {
  readonly #controller = new AbortController();
  readonly #watched: ReturnType<SilenceWatch>;
  readonly signal: AbortSignal;

  constructor(url: string, watch: SilenceWatch, outer: AbortSignal | undefined) {
    const words = `silence for ${longestSilenceMs / 1000} seconds`;
    this.#watched = watch(url, () => this.#controller.abort(new Error(words)));
    this.signal = outer === undefined ? this.#controller.signal : AbortSignal.any([this.#controller.signal, outer]);
  }

  heard(): void {
    this.#watched.heard();
  }

  [Symbol.dispose](): void {
    this.#watched.end();
  }
}

async function isWhole(file: FileToFetch): Promise<boolean> {
  const here = statSync(file.path, { throwIfNoEntry: false });
  return here?.isFile() === true && here.size === file.size && (await digestOf(file.path, file)) === file.digest.value;
}

async function digestOf(path: string, { digest, size }: FileToFetch): Promise<string> {
  const hash: Hash = createHash(digest.kind === 'git' ? 'sha1' : 'sha256');
  if (digest.kind === 'git') hash.update(`blob ${size}\0`);
  for await (const chunk of streamRegular(path, 2 ** 20)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
