/**
 * Fetches a model from a hub into the cache of Hugging Face's tools, so that they and this package find it. HF_ENDPOINT names another
 * hub, HF_TOKEN is sent to it and to no other host and is stored nowhere, HF_HUB_OFFLINE forbids the network. The revision points to the new snapshot
 * only when all of it is there and its hashes are right.
 */
import { lstatSync, readlinkSync, symlinkSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../../base/index.ts';
import { makeFolder, takeLock, writeFileAtomic } from '../../base/node/index.ts';
import {
  type HubEnvironment,
  type HubName,
  hubCache,
  hubFolder,
  hubText,
  isCommit,
  missingModelFiles,
} from './cache.ts';
import { type DownloadOptions, download, type FileDigest, longestSilenceMs, persist, request } from './download.ts';

export interface FetchOptions extends Omit<DownloadOptions, 'headers' | 'progress'> {
  readonly environment?: HubEnvironment;
  /** Is told how far all files together are. */
  readonly progress?: (bytes: number, total: number, file: string) => void;
}

export interface FetchedModel {
  readonly directory: string;
  readonly commit: string;
  readonly files: number;
  readonly bytes: number;
}

/** Files at the top of a repository that a model, its tokenizer and its licence are made of; other formats of its weights are not fetched. */
const wanted =
  /^(?!consolidated)[\w.-]+\.(?:json|safetensors|jinja|txt|md|model)$|^(?:LICENSE|NOTICE|USE_POLICY)[\w.-]*$/i;

const digestText = z.string().regex(/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/);
const answerSchema = z.object({
  sha: z.string().refine(isCommit),
  siblings: z.array(
    z.object({
      rfilename: z.string(),
      size: z.number().int().min(0).optional(),
      blobId: digestText.optional(),
      lfs: z.object({ sha256: digestText, size: z.number().int().min(0) }).nullish(),
    }),
  ),
});
type Sibling = z.infer<typeof answerSchema>['siblings'][number];

export async function fetchModel(name: HubName, options: FetchOptions = {}): Promise<FetchedModel> {
  const { environment = process.env, progress: tell, ...line } = options;
  expectOnline(name, environment);
  const endpoint = endpointOf(name, environment);
  const headers = tokenHeader(name, environment);
  const { sha, siblings } = await readListing(name, endpoint, { ...line, headers });
  const files = siblings.filter(({ rfilename }) => wanted.test(rfilename)).map((each) => describeFile(name, each));
  const folder = hubFolder(name, hubCache(environment));
  const snapshot = join(folder, 'snapshots', sha);
  for (const each of [join(folder, 'blobs'), snapshot]) makeFolder(each);
  using _lock = takeLock(join(folder, 'fetching.lock.json'), {
    call: `fetch ${hubText(name)}`,
    expected: 'no other process that fetches it',
  });
  const total = files.reduce((sum, { size }) => sum + size, 0);
  let before = 0;
  for (const { file, size, digest } of files) {
    const url = `${endpoint}/${name.repository}/resolve/${sha}/${encodeURIComponent(file)}`;
    const progress = (bytes: number) => tell?.(before + bytes, total, file);
    await download({ url, path: join(folder, 'blobs', digest.value), size, digest }, { ...line, headers, progress });
    linkFile(join(snapshot, file), join('..', '..', 'blobs', digest.value));
    before += size;
    tell?.(before, total, file);
  }
  expectWhole(name, snapshot, endpoint);
  if (!isCommit(name.revision)) {
    const reference = join(folder, 'refs', name.revision);
    makeFolder(dirname(reference));
    await writeFileAtomic(reference, sha);
  }
  return { directory: snapshot, commit: sha, files: files.length, bytes: total };
}

function expectOnline(name: HubName, environment: HubEnvironment): void {
  const offline = environment['HF_HUB_OFFLINE'] ?? '';
  if (!/^(?:1|true|yes|on)$/i.test(offline)) return;
  throw new UserError({
    call: `fetch ${hubText(name)}`,
    expected: 'leave to use the network',
    found: `HF_HUB_OFFLINE=${offline}`,
    fix: 'Unset it, or fetch the model on another machine and copy the cache.',
  });
}

/** The address of the hub. It may have a path, as mirrors do, but nothing that would swallow what is put behind it. */
function endpointOf(name: HubName, environment: HubEnvironment): string {
  const given = (environment['HF_ENDPOINT'] || 'https://huggingface.co').trim();
  const address = URL.canParse(given) ? new URL(given) : null;
  const isPlain = address !== null && /^https?:\/\/[^/]/i.test(given) && !/[?#]/.test(given) && address.username === '';
  if (isPlain && address.password === '') return given.replace(/\/+$/, '');
  // An address may have a password in it, which is not shown.
  throw new UserError({
    call: `fetch ${hubText(name)}`,
    expected: 'HF_ENDPOINT to be the address of a hub, such as https://huggingface.co',
    found: address === null ? 'no address' : 'one of another kind, or with a name, a password, a query or a fragment',
    fix: 'Unset it, or correct it; a token belongs in HF_TOKEN.',
  });
}

/** The token is never shown, also not when it is wrong. */
function tokenHeader(name: HubName, environment: HubEnvironment): Record<string, string> {
  const token = environment['HF_TOKEN']?.trim();
  if (!token) return {};
  if (/^[!-~]+$/.test(token)) return { authorization: `Bearer ${token}` };
  throw new UserError({
    call: `fetch ${hubText(name)}`,
    expected: 'HF_TOKEN to be a token: ASCII letters, digits and signs, without blanks',
    found: 'other characters, such as a line break',
    fix: 'Set it to the token alone, or unset it.',
  });
}

async function readListing(name: HubName, endpoint: string, options: DownloadOptions) {
  const address = `${endpoint}/api/models/${name.repository}/revision/${encodeURIComponent(name.revision)}?blobs=true`;
  const answer = await persist(
    address,
    async () => {
      const limit = AbortSignal.timeout(longestSilenceMs);
      const signal = options.signal === undefined ? limit : AbortSignal.any([limit, options.signal]);
      return (await request(address, options.headers, signal)).json() as Promise<unknown>;
    },
    options,
  );
  const parsed = answerSchema.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw new UserError({
    call: `fetch ${address}`,
    expected: 'the commit and the list of files of a model',
    found: `other JSON (${parsed.error.issues[0].path.join('.')})`,
    fix: 'Is HF_ENDPOINT the address of a hub?',
  });
}

function describeFile(name: HubName, { rfilename, size, blobId, lfs }: Sibling) {
  const digest: FileDigest | null = lfs
    ? { kind: 'sha256', value: lfs.sha256 }
    : blobId === undefined
      ? null
      : { kind: 'git', value: blobId };
  const bytes = lfs?.size ?? size;
  if (digest !== null && bytes !== undefined) return { file: rfilename, size: bytes, digest };
  throw new UserError({
    call: `fetch ${hubText(name)}`,
    expected: `the size and the hash of ${rfilename}`,
    found: 'none in the list of files',
    fix: 'Without them nothing can be checked; use a hub that gives them.',
  });
}

/** A link that is there already stays: others may be reading through it. */
function linkFile(path: string, target: string): void {
  const here = lstatSync(path, { throwIfNoEntry: false });
  if (here?.isSymbolicLink() && readlinkSync(path) === target) return;
  if (here !== undefined) unlinkSync(path);
  symlinkSync(target, path);
}

function expectWhole(name: HubName, snapshot: string, endpoint: string): void {
  const missing = missingModelFiles(snapshot);
  if (missing.length === 0) return;
  throw new UserError({
    call: `fetch ${hubText(name)}`,
    expected: 'a model with config.json, tokenizer.json and weights as .safetensors',
    found: `a repository without ${missing.join(', ')}`,
    fix: `See what it has: ${endpoint}/${name.repository}/tree/${name.revision}`,
  });
}
