/** Trains a run of a known config in a directory of its own: starts it, or goes on where it stopped. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { RunConfig, RunEnd } from '../run/index.ts';
import { RunDirectory } from '../run/index.ts';
import { type TrainOptions, trainRun } from './train-run.ts';

/** A run that was started goes on with the config it was started with. */
export async function trainPlanned(config: RunConfig, path: string, options: TrainOptions = {}): Promise<RunEnd> {
  const begun = existsSync(join(path, 'manifest.json'));
  const run = begun ? RunDirectory.open(path) : RunDirectory.create(path);
  const { end } = await trainRun(begun ? run.readManifest().config : config, run, options);
  return end;
}
