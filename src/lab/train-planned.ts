/** Trains a run of a known config in a directory of its own: starts it, or goes on where it stopped. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { RunConfig, RunEnd } from '../run/index.ts';
import { configHash, parseRunConfig, RunDirectory, runFormat } from '../run/index.ts';
import { type TrainOutput, trainRun } from './train-run.ts';

export async function trainPlanned(config: RunConfig, path: string, output: TrainOutput): Promise<RunEnd> {
  if (existsSync(join(path, 'manifest.json'))) {
    const run = RunDirectory.open(path);
    return (await trainRun(parseRunConfig(run.manifest.config), run, output, null)).end;
  }
  const { end } = await trainRun(config, RunDirectory.create(path), output, (inputs) => ({
    format: runFormat,
    ...inputs,
    config,
    configHash: configHash(config),
    command: process.argv.slice(2),
    usesOracle: config.arm.kind === 'oracle',
    parent: null,
  }));
  return end;
}
