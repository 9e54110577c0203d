/** How far a claim has come: what its study states, what was ever begun in it, what has ended, and what is missing. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ClaimFacts, Table } from '../report/index.ts';
import { isBlind, RunDirectory, trainedStatus } from '../run/index.ts';
import { readRegister, statedRuns } from './claim.ts';
import type { Experiment } from './experiment-schema.ts';

export type BegunRun = Awaited<ReturnType<typeof begunRuns>>[number];

/** Folders of all runs that were ever stated: what a later statement leaves out was stated all the same. */
export function everStated(directory: string, experiment: Experiment): readonly string[] {
  const { stated } = readRegister(directory);
  return stated.length === 0 ? statedRuns(experiment) : [...new Set(stated.flatMap(({ runs }) => runs))];
}

/** Every run that was ever begun in the study: those of the register, and runs in its folder, which earlier versions did not register. */
export async function begunRuns(directory: string, experiment: Experiment) {
  const stated = new Set(everStated(directory, experiment));
  const { begun } = readRegister(directory);
  const found = new Map(begun.map(({ folder, arm, seed, claim }) => [folder, { arm, seed, claim }]));
  for (const folder of readdirSync(directory)) {
    if (found.has(folder) || !existsSync(join(directory, folder, 'manifest.json'))) continue;
    const { config, claim } = RunDirectory.open(join(directory, folder)).readManifest();
    const arm = folder.replace(new RegExp(`-${config.seed}$`), '');
    found.set(folder, { arm, seed: config.seed, claim: claim?.hash ?? null });
  }
  return Promise.all(
    [...found].map(async ([folder, { arm, seed, claim }]) => ({
      ...{ arm, seed, folder, claim },
      /** Again after it had failed, or was deleted. */
      times: Math.max(1, begun.filter((entry) => entry.folder === folder).length),
      state: await stateOf(join(directory, folder)),
      isStated: stated.has(folder),
      isBlind: isBlind(join(directory, folder)),
    })),
  );
}

/** `gone`: there is no run in its folder, since it failed before its first update or was deleted. */
async function stateOf(path: string): Promise<'ended' | 'stopped' | 'gone'> {
  if (!existsSync(join(path, 'manifest.json'))) return 'gone';
  return (await trainedStatus(path)) === null ? 'stopped' : 'ended';
}

export async function claimFacts(directory: string, experiment: Experiment): Promise<ClaimFacts | undefined> {
  const { stated, opened } = readRegister(directory);
  const last = stated.at(-1);
  if (last === undefined) return undefined;
  const begun = await begunRuns(directory, experiment);
  const wanted = everStated(directory, experiment);
  return {
    hash: last.hash,
    changed: stated.some(({ begunBefore }) => begunBefore > 0),
    stated: wanted.length,
    begun: begun.length,
    notStated: begun.filter((run) => !run.isStated).length,
    ended: begun.filter(({ state }) => state === 'ended').length,
    missing: wanted.filter((folder) => begun.every((run) => run.folder !== folder)),
    gone: begun.filter(({ state }) => state === 'gone').map(({ folder }) => folder),
    blind: begun.filter((run) => run.isBlind).map(({ folder }) => folder),
    opened: opened?.at ?? null,
  };
}

export function armTable(experiment: Experiment, stated: readonly string[], begun: readonly BegunRun[]): Table {
  const names = [...new Set([...experiment.arms.map(({ name }) => name), ...begun.map(({ arm }) => arm)])];
  const rows = names.map((arm) => {
    const own = begun.filter((run) => run.arm === arm);
    const seeds = (runs: readonly BegunRun[]): string => runs.map(({ seed }) => seed).join(' ') || '-';
    const wanted = stated.filter((folder) => folder.replace(/-\d+$/, '') === arm);
    const absent = wanted.filter((folder) => own.every((run) => run.folder !== folder));
    return [
      arm,
      `${wanted.length}`,
      `${own.length}`,
      ...(['ended', 'stopped', 'gone'] as const).map((state) => seeds(own.filter((run) => run.state === state))),
      absent.map((folder) => folder.slice(arm.length + 1)).join(' ') || '-',
      seeds(own.filter(({ isStated }) => !isStated)),
    ];
  });
  const columns = ['arm', 'stated', 'begun', 'ended', 'stopped', 'gone', 'not begun', 'not stated'];
  const again = begun.filter(({ times }) => times > 1).map(({ folder, times }) => `${folder} (${times} times)`);
  const blind = begun.filter((run) => run.isBlind).map(({ folder }) => folder);
  return {
    title: 'runs by seed',
    columns,
    rows,
    notes: [
      'ended: trained to the end, or stopped by the tripwire; gone: begun, and no run is in its folder.',
      ...(again.length === 0 ? [] : [`Begun again: ${again.join(', ')}.`]),
      ...(blind.length === 0 ? [] : [`Blind until opened: ${blind.join(', ')}.`]),
    ],
  };
}
