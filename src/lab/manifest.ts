/** Makes the manifest of a run and, when a run is resumed, checks that its inputs are still the same. */
import { targetModules } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import { readVersion } from '../base/node/index.ts';
import type { Device } from '../engine/index.ts';
import type { ArmDefinition } from '../grpo/index.ts';
import { configHash, type Manifest, problemsHash, type RunConfig, type RunDirectory, runFormat } from '../run/index.ts';
import type { RunInputs } from './assemble.ts';
import { partsOf } from './config.ts';
import { inheritsLabels } from './fork.ts';
import { armOf } from './parts.ts';
import { pluginRecords } from './plugins.ts';
import type { Warn } from './problems.ts';

export async function makeManifest(
  config: RunConfig,
  { path }: RunDirectory,
  { files, problems, pairsHash }: RunInputs,
  parent: Manifest['parent'],
): Promise<Manifest> {
  const arm = armOf(config, await partsOf(config));
  const { kind: _kind, ...settings } = config.arm;
  const modules = targetModules(files.folder.config, config.adapter.targets).map(({ name }) => name);
  return {
    format: runFormat,
    name: path.split(/[\\/]/).at(-1) ?? path,
    config,
    configHash: configHash(config),
    version: readVersion(),
    node: process.version,
    command: process.argv.slice(2),
    created: new Date().toISOString(),
    modelHash: files.hash,
    dataHash: problemsHash(Object.values(problems).flat()),
    pairsHash,
    arm: labelOf(arm, settings),
    usesOracle: arm.usesLabels || inheritsLabels(parent),
    hasQuarantine: arm.quarantine,
    plugins: pluginRecords(config.plugins),
    device: describeDevice(files.device),
    features: { modules: modules.sort(), rank: config.adapter.rank },
    parent,
  };
}

/** The name of a device with what its bytes depend on: the kernels of a wasm device, or the GPU and the precision of a cuda one. */
function describeDevice(device: Device): string {
  const { name, variant, threads, facts } = device as Device & {
    variant?: string;
    threads?: number;
    facts?: { name: string };
  };
  const gpu = facts === undefined ? [] : [facts.name, device.floats[0]];
  return [name, ...gpu, variant, threads].filter((part) => part !== undefined).join(' ');
}

/** Refuses to resume a run whose inputs have changed; another device is only a warning. */
export async function checkManifest(path: string, begun: Manifest, now: Manifest, warn: Warn): Promise<void> {
  for (const [what, before, after] of [
    ['config', configHash(begun.config), now.configHash],
    ['model', begun.modelHash, now.modelHash],
    ['problems', begun.dataHash, now.dataHash],
    ['pairs', begun.pairsHash, now.pairsHash],
    ['plugins', hashesOf(begun), hashesOf(now)],
  ]) {
    if (before === after) continue;
    const expected = `the ${what} that the run began with (${before})`;
    throw new UserError({ call: `go on with ${path}`, expected, found: `another hash (${after})` });
  }
  if (withoutThreads(begun.device) === withoutThreads(now.device)) return;
  await warn({
    kind: 'warning',
    name: 'other-device',
    message: `this run began on ${begun.device} and goes on with ${now.device}: its bytes will differ from those of an unbroken run`,
    detail: { begun: begun.device, now: now.device },
  });
}

function hashesOf({ plugins }: Manifest): string {
  return plugins.map(({ hash }) => hash).join(' ');
}

function withoutThreads(device: string): string {
  return device.replace(/ \d+$/, '');
}

function labelOf(arm: ArmDefinition, settings: unknown): string {
  const label: unknown = arm.label(settings);
  if (typeof label === 'string' && label !== '') return label;
  throw new UserError({ call: `arm ${arm.kind}`, expected: 'a label: a text that is not empty', found: String(label) });
}
