/**
 * The results of a run, kept in the cache: a run whose files are what they were is not read again, so that the tables of an experiment
 * cost a small file for each run. What is kept says which files of the run and of the program it was made from (see folder-stamp.ts),
 * and carries the hash of its own text; whatever does not fit is read anew from the run.
 */
import { basename, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { cacheFolder, folderStamp, keepInCache, programStamp, readRegularText, sha256 } from '../base/node/index.ts';
import { finalStates } from './final-states.ts';
import { type PackedOutcomes, type PromptList, packOutcomes, unpackOutcomes } from './packed-outcomes.ts';
import { armLabel, type RunResults, readRunResults } from './run-results.ts';

const folderName = 'results';
const mostKept = 2000;

type Packed<One> = Omit<One, 'rows'> & { readonly rows: PackedOutcomes };

/** What is stored: nothing that the place of the run decides, nothing that follows from the rest. */
interface KeptRun extends Omit<RunResults, 'path' | 'name' | 'arm' | 'config' | 'final' | 'evaluations' | 'probes'> {
  readonly prompts: readonly PromptList[];
  readonly evaluations: readonly Packed<RunResults['evaluations'][number]>[];
  readonly probes: readonly Packed<RunResults['probes'][number]>[];
}

/** The results of a run as `readRunResults` gives them. */
export async function readKeptResults(path: string, arm?: string): Promise<RunResults> {
  const stamp = stampOf(path);
  if (stamp === null) return readRunResults(path, arm);
  const file = join(cacheFolder(folderName), `${sha256(resolve(path))}.json`);
  const kept = readKept(file, stamp);
  if (kept !== null) return unpack(kept, path, arm);
  const results = await readRunResults(path, arm);
  await keep(file, stamp, results);
  return results;
}

/** Keeps the results of a run ahead of the question. Returns false if they cannot be kept yet, because files of the run are fresh. */
export async function keepResults(path: string): Promise<boolean> {
  if (stampOf(path) === null) return false;
  try {
    await readKeptResults(path);
  } catch {
    // What is wrong with a run is told to those who ask for its results.
  }
  return true;
}

function stampOf(path: string): string | null {
  const [program, files] = [programStamp(), folderStamp(resolve(path))];
  return program === null || files === null ? null : `${program}-${files}`;
}

function readKept(file: string, stamp: string): KeptRun | null {
  try {
    const text = readRegularText(file);
    const end = text.indexOf('\n');
    const body = text.slice(end + 1);
    return text.slice(0, end) === `${stamp} ${sha256(body)}` ? JSON.parse(body) : null;
  } catch {
    return null;
  }
}

/** What JSON cannot hold is not kept. */
async function keep(file: string, stamp: string, results: RunResults): Promise<void> {
  const body = JSON.stringify(pack(results));
  if (!isDeepStrictEqual(unpack(JSON.parse(body), results.path, results.arm), results)) return;
  await keepInCache(file, `${stamp} ${sha256(body)}\n${body}`, mostKept);
}

function pack({ path: _, name: __, arm: ___, config: ____, final: _____, ...results }: RunResults): KeptRun {
  const prompts: PromptList[] = [];
  const packed = <One extends { readonly rows: RunResults['evaluations'][number]['rows'] }>(one: One): Packed<One> => ({
    ...one,
    rows: packOutcomes(one.rows, prompts),
  });
  return { ...results, evaluations: results.evaluations.map(packed), probes: results.probes.map(packed), prompts };
}

function unpack({ prompts, ...kept }: KeptRun, path: string, arm: string | undefined): RunResults {
  const { manifest, updates, hasQuarantine } = kept;
  const evaluations = kept.evaluations.map((one) => ({ ...one, rows: unpackOutcomes(one.rows, prompts) }));
  return {
    ...kept,
    path,
    name: basename(path),
    arm: arm ?? armLabel(manifest),
    config: manifest.config,
    final: finalStates({ evaluations, updates, hasQuarantine }),
    evaluations,
    probes: kept.probes.map((one) => ({ ...one, rows: unpackOutcomes(one.rows, prompts) })),
  };
}
