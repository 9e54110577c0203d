/**
 * Models in the cache that Hugging Face's tools share: `models--ORG--NAME/{refs/REVISION, snapshots/COMMIT, blobs}`. Looking here asks no
 * network. A snapshot counts when everything that a model needs is in it; what is missing is named, with the call that fetches it.
 */
import { existsSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { UserError } from '../../base/index.ts';
import { readRegularText } from '../../base/node/index.ts';

export type HubEnvironment = Readonly<Record<string, string | undefined>>;

/** A model on the hub; the revision is a branch, a tag or a commit. */
export interface HubName {
  readonly repository: string;
  readonly revision: string;
}

const namePattern = /^([A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*)(?:@([A-Za-z0-9][\w./-]*))?$/;

/** Parses `ORG/NAME` or `ORG/NAME@REVISION`; null for a text that is neither. */
export function parseHubName(text: string): HubName | null {
  const [, repository, revision = 'main'] = namePattern.exec(text) ?? [];
  return repository === undefined || /\.\.|\/$/.test(text) ? null : { repository, revision };
}

/** The text that names a model on the hub again. */
export function hubText({ repository, revision }: HubName): string {
  return revision === 'main' ? repository : `${repository}@${revision}`;
}

/** The folder of the cache, by the first of these variables that is set. */
export function hubCache(environment: HubEnvironment = process.env): string {
  const named = (key: string): string | undefined => {
    const value = environment[key];
    return value ? value.replace(/^~(?=\/|$)/, homedir()) : undefined;
  };
  const home = named('HF_HOME') ?? join(named('XDG_CACHE_HOME') ?? join(homedir(), '.cache'), 'huggingface');
  return named('HF_HUB_CACHE') ?? named('HUGGINGFACE_HUB_CACHE') ?? join(home, 'hub');
}

/** The folder of one model in the cache. */
export function hubFolder({ repository }: HubName, cache: string): string {
  return join(cache, `models--${repository.replace('/', '--')}`);
}

export const isCommit = (revision: string): boolean => /^[0-9a-f]{40}$/.test(revision);

/** The commit that a revision meant when it was last fetched; null if it never was. */
function commitOf({ revision }: HubName, folder: string): string | null {
  if (isCommit(revision)) return revision;
  const path = join(folder, 'refs', revision);
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  const commit = isFile ? readRegularText(path).trim() : '';
  return isCommit(commit) ? commit : null;
}

/** The files that a model needs and a folder does not have; a link into nothing counts as none. */
export function missingModelFiles(folder: string): string[] {
  const lacks = (name: string): boolean => !existsSync(join(folder, name));
  const needed = ['config.json', 'tokenizer.json'].filter(lacks);
  if (!lacks('model.safetensors')) return needed;
  const index = 'model.safetensors.index.json';
  return [
    ...needed,
    ...(lacks(index) ? [`model.safetensors or ${index}`] : shardsOf(join(folder, index)).filter(lacks)),
  ];
}

/** The names of the shards in an index; an index that says none is left to the reader of weights, which says what is wrong with it. */
function shardsOf(index: string): string[] {
  try {
    const { weight_map: map } = JSON.parse(readRegularText(index)) as { weight_map?: Record<string, unknown> };
    return [...new Set(Object.values(map ?? {}))].filter((name) => typeof name === 'string').sort();
  } catch {
    return [];
  }
}

/** The snapshot folder of a model in the cache. */
export function findSnapshot(name: HubName, environment: HubEnvironment = process.env): string {
  const cache = hubCache(environment);
  const folder = hubFolder(name, cache);
  const commit = commitOf(name, folder);
  const snapshot = commit === null ? null : join(folder, 'snapshots', commit);
  const missing = snapshot !== null && existsSync(snapshot) ? missingModelFiles(snapshot) : null;
  if (snapshot !== null && missing?.length === 0) return snapshot;
  const found =
    missing === null
      ? `${existsSync(folder) ? `no revision ${name.revision} of it` : 'no such model'} there, and no folder of that name here`
      : `${snapshot} without ${missing.join(', ')}`;
  throw new UserError({
    call: `model ${hubText(name)}`,
    expected: `a model folder, or a model in the Hugging Face cache (${cache})`,
    found,
    fix: `Fetch it where there is a network: gq model fetch ${hubText(name)}`,
  });
}
