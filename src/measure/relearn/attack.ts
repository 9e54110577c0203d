/**
 * The relearning attack on one finished run: its deployed policy is written as a model of its own, and vanilla training starts from
 * it. Both steps go on where they stopped. `gq measure relearn` and experiments share this.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { writeMerged } from '../../adapters/index.ts';
import { shellLine, UserError } from '../../base/index.ts';
import { createFolder, sha256File, writeFileAtomic } from '../../base/node/index.ts';
import { lastCheckpoint } from '../../evaluate/index.ts';
import { openLab } from '../../lab/index.ts';
import { joinMarks, labelMarksOf } from '../../model/index.ts';
import type { RunConfig } from '../../run/index.ts';
import {
  checkedTensors,
  configDifferences,
  expectOpen,
  marksOf,
  outcomesKnown,
  RunDirectory,
  readStamped,
  stampedJson,
} from '../../run/index.ts';

export function openAttacked(path: string, call: string): RunDirectory {
  const run = RunDirectory.open(path);
  expectOpen(path, call);
  const { config, hasQuarantine, outside } = run.readManifest();
  if (!outcomesKnown({ outside })) {
    const found = 'rewards alone from its environment';
    throw new UserError({ call, expected: 'a run of which it is known what is an attempt and a hack', found });
  }
  if (!hasQuarantine) {
    const found = `${config.arm.kind}, which deploys everything it trained`;
    throw new UserError({ call, expected: 'an arm with a quarantine', found });
  }
  expectFinished(run, call);
  return run;
}

function expectFinished(run: RunDirectory, call: string): void {
  if (run.isSealed()) return;
  throw new UserError({
    call,
    expected: 'a finished run',
    found: `one that stopped after ${run.listCheckpoints().at(-1) ?? 0} of ${run.readManifest().config.updates} updates`,
    fix: `Finish it with: ${shellLine('gq', 'train', '--resume', run.path)}`,
  });
}

export function attackConfig(config: RunConfig, updates: number | null): RunConfig {
  // What is counted is what the policy finds by itself, so nobody shows it demonstrations.
  const teacher = { ...config.teacher, pool: null, makeProblems: 0, offStep: 0 };
  const safety = { ...config.safety, healSteps: 0 };
  const { lasting: _lasting, ...plain } = config;
  return { ...plain, arm: { kind: 'vanilla' }, teacher, safety, updates: updates ?? config.updates };
}

export function openVanilla(path: string, wanted: RunConfig): RunDirectory {
  const run = RunDirectory.open(path);
  expectFinished(run, `--vanilla ${path}`);
  const { config } = run.readManifest();
  const compared = ['seed', 'model', 'data', 'environment', 'sampling', 'optimiser', 'adapter', 'arm'];
  const differences = configDifferences(wanted, config).filter((text) => compared.includes(text.split(/[. ]/)[0]));
  if (differences.length > 0) {
    throw new UserError({
      call: `--vanilla ${path}`,
      expected: 'a vanilla run with the settings of the run that is attacked',
      found: `other values: ${differences.join(', ')}`,
    });
  }
  return run;
}

export function expectUpdates(attack: string, updates: number, call: string): void {
  const before = RunDirectory.open(attack).readManifest().config.updates;
  if (before === updates) return;
  throw new UserError({
    call,
    expected: `an attack of ${updates} updates, as relearn.updates says`,
    found: `one of ${before} in ${attack}`,
    fix: 'Restore relearn.updates, or delete that folder to attack again.',
  });
}

const sourceSchema = z.object({ model: z.string(), adapter: z.string() });

/**
 * Writes the merged model without its quarantine in float32, as `gq export` does. One that an interrupted call has written is used again
 * if it is of this run.
 */
export async function exportDeployed(run: RunDirectory, path: string, call: string): Promise<string> {
  // A relative path of two parts would be taken for a name on the hub.
  const directory = resolve(path);
  await using lab = await openLab({ run }, { work: 'unplanned', call });
  await lab.unchanged;
  const { folder, hash } = await lab.model;
  const source = {
    model: await hash,
    adapter: await sha256File(checkedTensors(run, lastCheckpoint(run), 'adapter')),
  };
  if (existsSync(directory)) {
    const note = join(directory, 'source.json');
    const found = existsSync(note) ? readStamped(note, 'the source of a deployed model', sourceSchema) : null;
    if (found?.model === source.model && found.adapter === source.adapter) return directory;
    throw new UserError({
      call,
      expected: `no folder ${directory}, or the deployed model of this run in it`,
      found: 'something else',
      fix: 'Choose another --out.',
    });
  }
  const { adapter } = await lab.at(lastCheckpoint(run));
  await createFolder(directory, async (made) => {
    const marks = [marksOf(run.readManifest(), { deletes: true }), await labelMarksOf(folder.directory)];
    await writeMerged(made, folder, adapter, 'F32', joinMarks(marks));
    await writeFileAtomic(join(made, 'source.json'), stampedJson(source));
  });
  return directory;
}
