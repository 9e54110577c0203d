/** Trains a run of a config in a directory of its own: starts it, or goes on where it stopped. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type RunConfig, RunDirectory } from '../run/index.ts';
import { type TrainOptions, type TrainResult, trainRun } from './train-run.ts';

/** A run goes on only with the config it was started with; another config is refused. */
export async function train(config: RunConfig, path: string, options: TrainOptions = {}): Promise<TrainResult> {
  const begun = existsSync(join(path, 'manifest.json'));
  return trainRun(config, begun ? RunDirectory.open(path) : RunDirectory.create(path), options);
}
