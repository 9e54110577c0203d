/** Makes the manifest of a run. */
import { existsSync } from 'node:fs';
import { targetModules } from '../adapters/index.ts';
import { readVersion } from '../base/node/index.ts';
import type { Device } from '../engine/index.ts';
import { tasksName } from '../env/outside/names.ts';
import { readRecord } from '../env/outside/record.ts';
import { type Manifest, type RunConfig, type RunDirectory, runFormat } from '../run/index.ts';
import { describeDevice, lanesWord, trainedFacts } from './assemble.ts';
import { earlierQuarantine, labelSources } from './labels.ts';
import type { Lab } from './open.ts';
import type { Warn } from './open-parts.ts';
import { pluginRecords } from './plugins.ts';
import type { Assembly } from './trainer.ts';

export async function makeManifest(
  lab: Lab,
  run: RunDirectory,
  parent: Manifest['parent'],
  { generated, arm: { sees } }: Pick<Assembly, 'generated' | 'arm'>,
): Promise<Manifest> {
  const { config, arm, parts, armSettings: settings } = lab;
  const [identity, { folder }, { use }, pairs, device] = await Promise.all([
    lab.identity,
    lab.model,
    lab.problems,
    lab.pairs,
    lab.device,
  ]);
  const facts = trainedFacts(arm, settings, sees, device);
  const modules = targetModules(folder.config, config.adapter.targets).map(({ name }) => name);
  return {
    format: runFormat,
    name: run.path.split(/[\\/]/).at(-1) ?? run.path,
    config,
    version: readVersion(),
    node: process.version,
    command: process.argv.slice(2),
    created: new Date().toISOString(),
    identity,
    problems: use,
    heldOutPairs: [...pairs.heldOutShown],
    generatedPairs:
      generated === null
        ? null
        : { attempted: generated.attempted, kept: generated.pairs.length, hash: generated.hash },
    ...outsideOf(run, config),
    ...facts,
    ...(await earlierQuarantine(config, { ...facts, parent })),
    usesOracle: (await labelSources(config, parts, pairs, parent)).length > 0,
    plugins: pluginRecords(config.plugins),
    features: { modules: modules.sort(), rank: config.adapter.rank },
    parent,
  };
}

function outsideOf(run: RunDirectory, { data }: RunConfig): Pick<Manifest, 'outside'> {
  const path = run.file(tasksName);
  if (!existsSync(path)) return {};
  const { address, name, fingerprint, tasks, hash } = readRecord(path);
  const outcomes = data['labels'] === true ? 'told' : 'unknown';
  return { outside: { address, name, fingerprint, tasks: tasks.length, hash, outcomes } };
}

/** Before hours of training: what this run deploys cannot be certified. */
export async function warnOfEarlierQuarantine(manifest: Manifest, warn: Warn): Promise<void> {
  const { hasQuarantine, earlierQuarantine, config } = manifest;
  if (!hasQuarantine || earlierQuarantine === undefined) return;
  await warn({
    kind: 'warning',
    name: 'earlier-quarantine',
    message: `the base ${config.model} ${earlierQuarantine === 'kept' ? 'carries' : 'may carry'} the quarantine of an earlier run, which this run does not delete: gq export writes nothing of it as deployed`,
    detail: { earlierQuarantine },
  });
}

/** Whether a run began on a GPU without lanes. */
export const beganApart = ({ device }: Manifest): boolean =>
  device.startsWith('cuda') && !device.split(' ').includes(lanesWord);

export async function compareDevices({ device: begun }: Manifest, device: Device, warn: Warn): Promise<void> {
  const now = describeDevice(device);
  if (byteIdentity(begun) === byteIdentity(now)) return;
  await warn({
    kind: 'warning',
    name: 'other-device',
    message: `this run began on ${begun} and goes on with ${now}: its bytes will differ from those of an unbroken run`,
    detail: { begun, now },
  });
}

/** What of a device's description its bytes depend on: not the threads, nor which of two kernels with the same bytes was the faster. */
export const byteIdentity = (device: string): string =>
  device.replace(/ \d+$/, '').replace(/ (?:wide|relaxed)$/, ' wide or relaxed');
