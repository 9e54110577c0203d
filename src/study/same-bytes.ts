/** Arms that left the same bytes: what they differ in had no effect, and a comparison of them compares a run with itself. */
import { basename } from 'node:path';
import { groupBy, UserError } from '../base/index.ts';
import { lastCheckpoint } from '../evaluate/index.ts';
import { RunDirectory, readState } from '../run/index.ts';
import { findExperiment } from './directory.ts';

/** A sentence for every group of trained runs of one seed, of different arms, whose last checkpoints hold the same adapter. */
export function describeSameBytes(directory: string): string[] {
  const ends = findExperiment(directory).runs.flatMap(({ path, arm }) => {
    const end = endOf(path);
    return end === null ? [] : [{ arm: arm ?? end.label, name: basename(path), key: `${end.seed} ${end.adapter}` }];
  });
  return [...groupBy(ends, ({ key }) => key).values()].flatMap((runs) => {
    if (new Set(runs.map(({ arm }) => arm)).size < 2) return [];
    const names = runs.map(({ name }) => name);
    return [
      `${names.slice(0, -1).join(', ')} and ${names.at(-1)} left the same bytes: what these arms differ in changed nothing`,
    ];
  });
}

/** What a run left; null for one that is not over, and for one that cannot be read, which is told elsewhere. */
function endOf(path: string) {
  try {
    const run = RunDirectory.open(path);
    const { config, arm: label } = run.readManifest();
    const update = lastCheckpoint(run);
    if (update === 0 || !run.isSealed()) return null;
    return { label, seed: config.seed, adapter: readState(run, update).hashes.adapter };
  } catch (error) {
    if (error instanceof UserError) return null;
    throw error;
  }
}
