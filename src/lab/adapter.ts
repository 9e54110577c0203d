/** The adapter of a run at its start. */
import type { Adapter, InitialFactors } from '../adapters/index.ts';
import {
  createAdapter,
  deployedScaleOf,
  drawFactors,
  findStart,
  pairInputDifferences,
  readCheckpoint,
  restoreStart,
  targetModules,
} from '../adapters/index.ts';
import { cacheFolder } from '../base/node/index.ts';
import type { Policy } from '../grpo/index.ts';
import { expectedTensors, readDecoderConfig } from '../model/index.ts';
import { computeTable, type DiskPlan, describeDisk, planDisk, type RunConfig } from '../run/index.ts';
import { partsOf } from './config.ts';
import { coresLimit } from './device.ts';
import { modelDirectory, type OpenModel } from './model.ts';
import type { Lab } from './open.ts';
import type { Warn } from './open-parts.ts';

const [firstNoticeMs, nextNoticeMs] = [2_000, 15_000];

type AdapterLab = Pick<Lab, 'config' | 'parts' | 'warn' | 'signal' | 'pairs'>;

export async function policyAtStart(lab: Lab): Promise<Policy> {
  const [model, drawn] = await Promise.all([lab.weights, lab.factors]);
  const adapter = await openAdapter(lab, model, { initial: lab.initial, drawn });
  const { recompute } = computeTable(lab.config);
  const deployedScale = deployedScaleOf(lab.hasQuarantine);
  return { decoder: model.decoder, adapter, deployedScale, recompute, work: lab.options.policyWork };
}

/** `initial`: stored initial values, with which nothing is computed; `drawn`: factors that were drawn already. */
export async function openAdapter(
  lab: AdapterLab,
  { scope, decoder }: OpenModel,
  { initial, drawn }: Pick<Lab, 'initial'> & { readonly drawn: Awaited<Lab['factors']> },
): Promise<Adapter> {
  const { config, parts, warn } = lab;
  const { family, rank, targets } = config.adapter;
  const modules = targetModules(decoder.config, targets);
  if (initial !== null) {
    const kind = { family, rank, modules: modules.map(({ name }) => name) };
    return restoreStart(scope, decoder.config, await readCheckpoint(initial, kind), parts.starts);
  }
  const { needsPairs } = findStart(family, parts.starts);
  const damaged: string[] = [];
  const adapter = await createAdapter(scope, decoder, {
    ...factorOptions(lab),
    cacheDirectory: cacheFolder('factors'),
    tell: (message) => damaged.push(message),
    progress: factorProgress(family, warn),
    factors: drawn ?? undefined,
    differences: needsPairs ? await pairInputDifferences(decoder, modules, (await lab.pairs).pairs) : undefined,
  });
  for (const message of damaged) await warn({ kind: 'info', name: 'damaged-factors', message });
  return adapter;
}

function factorOptions({ config, parts, signal }: Pick<AdapterLab, 'config' | 'parts' | 'signal'>) {
  const { family, rank, targets } = config.adapter;
  return { family, starts: parts.starts, rank, seed: config.seed, targets, signal, threads: coresLimit() ?? undefined };
}

/** Draws the factors of an adapter that begins at random, which can be done while the weights are read; null for others. */
export async function drawStart(lab: Lab): Promise<ReadonlyMap<string, InitialFactors> | null> {
  const [{ folder }, device] = await Promise.all([lab.model, lab.device]);
  return drawFactors(device, folder.config, factorOptions(lab));
}

function factorProgress(family: string, warn: Warn): (done: number, modules: number) => Promise<void> {
  const start = performance.now();
  let next = start + firstNoticeMs;
  return async (done, modules) => {
    const now = performance.now();
    if (now < next || done === modules) return;
    next = now + nextNoticeMs;
    const left = Math.ceil((((now - start) / done) * (modules - done)) / 1000);
    const message = `makes the ${family} factors of the adapter: ${done} of ${modules} layers, about ${left} s left`;
    await warn({ kind: 'info', name: 'making-factors', message });
  };
}

const tellingBytes = 1e9;

export async function planCheckpoints(config: RunConfig): Promise<DiskPlan & { readonly deployedBytes: number }> {
  const { config: decoder } = await readDecoderConfig(modelDirectory(config.model));
  const { family, targets } = config.adapter;
  const start = findStart(family, (await partsOf(config)).starts);
  const numbers = [...expectedTensors(decoder).values()].map((shape) => shape.reduce((size, axis) => size * axis));
  const deployedBytes = 4 * numbers.reduce((total, count) => total + count);
  return { ...planDisk(config, start, targetModules(decoder, targets)), deployedBytes };
}

export async function tellDisk({ config, parts, warn }: AdapterLab, { family, modules }: Adapter): Promise<void> {
  const plan = planDisk(config, findStart(family, parts.starts), modules);
  if (plan.mostBytes < tellingBytes) return;
  await warn({ kind: 'info', name: 'disk-plan', message: describeDisk(plan, config.output) });
}
