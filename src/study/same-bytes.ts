/** Arms that left the same adapter, byte for byte: what they differ in had no effect, and a comparison of them compares a run with itself. */
import { basename } from 'node:path';
import { UserError } from '../base/index.ts';
import { lastCheckpoint } from '../evaluate/index.ts';
import { RunDirectory, readState } from '../run/index.ts';
import { findExperiment } from './directory.ts';

/** A sentence for every group of trained runs of one seed, of different arms, whose last checkpoints hold the same adapter. */
export function describeSameBytes(directory: string): string[] {
  const groups = new Map<string, { readonly arm: string; readonly name: string }[]>();
  for (const { path, arm } of findExperiment(directory).runs) {
    const end = endOf(path);
    if (end === null) continue;
    const key = `${end.seed} ${end.adapter}`;
    groups.set(key, [...(groups.get(key) ?? []), { arm: arm ?? end.label, name: basename(path) }]);
  }
  return [...groups.values()].flatMap((runs) => {
    if (new Set(runs.map(({ arm }) => arm)).size < 2) return [];
    const names = runs.map(({ name }) => name).join(' and ');
    return [`${names} left the same bytes: what these arms differ in changed nothing`];
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
