/** The adapter of a run at its start. */
import {
  type Adapter,
  createAdapter,
  drawFactors,
  findStart,
  type InitialFactors,
  pairInputDifferences,
  readCheckpoint,
  restoreStart,
  targetModules,
} from '../adapters/index.ts';
import { cacheFolder } from '../base/node/index.ts';
import type { Device } from '../engine/index.ts';
import type { DecoderConfig } from '../model/index.ts';
import { describeDisk, planDisk } from '../run/index.ts';
import { coresLimit } from './cores.ts';
import type { OpenModel } from './model.ts';
import type { Lab } from './open.ts';
import type { Warn } from './problems.ts';

/** Milliseconds after which it is told that factors are computed, and between two such notices. */
const [firstNoticeMs, nextNoticeMs] = [2_000, 15_000];

/** How the adapter begins: what stands in a file, or was drawn already. */
export interface AdapterBeginning {
  /** The path of the stored initial values of a run, with which nothing is computed; null: there are none. */
  readonly initial: string | null;
  readonly drawn: ReadonlyMap<string, InitialFactors> | null;
}

type AdapterLab = Pick<Lab, 'config' | 'parts' | 'warn' | 'signal' | 'pairs'>;

/** Makes the adapter at its start. The lab's signal ends the computation with its reason. */
export async function openAdapter(
  lab: AdapterLab,
  model: OpenModel,
  { initial, drawn }: AdapterBeginning,
): Promise<Adapter> {
  const { config, parts, warn } = lab;
  const { family, rank, targets } = config.adapter;
  const modules = targetModules(model.decoder.config, targets);
  if (initial !== null) {
    const kind = { family, rank, modules: modules.map(({ name }) => name) };
    return restoreStart(model.scope, model.decoder.config, await readCheckpoint(initial, kind), parts.starts);
  }
  const { needsPairs } = findStart(family, parts.starts);
  const differences = needsPairs
    ? await pairInputDifferences(model.decoder, modules, (await lab.pairs).pairs)
    : undefined;
  const damaged: string[] = [];
  const adapter = await createAdapter(model.scope, model.decoder, {
    ...factorOptions(lab),
    cacheDirectory: cacheFolder('factors'),
    tell: (message) => damaged.push(message),
    progress: factorProgress(family, warn),
    ...(drawn === null ? {} : { factors: drawn }),
    ...(differences === undefined ? {} : { differences }),
  });
  for (const message of damaged) await warn({ kind: 'info', name: 'damaged-factors', message });
  return adapter;
}

function factorOptions({ config, parts, signal }: Pick<AdapterLab, 'config' | 'parts' | 'signal'>) {
  const { family, rank, targets } = config.adapter;
  const cores = coresLimit();
  return {
    ...{ family, starts: parts.starts, rank, seed: config.seed, targets, signal },
    ...(cores === null ? {} : { threads: cores }),
  };
}

/** Draws the factors of an adapter that begins at random, which can be done while the weights are read; null for others. */
export function drawStart(
  lab: AdapterLab,
  device: Device,
  decoder: DecoderConfig,
): Promise<ReadonlyMap<string, InitialFactors> | null> {
  return drawFactors(device, decoder, factorOptions(lab));
}

/** Tells how far the factors are, where they take long. */
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

/** The room on disk from which on it is told. */
const tellingBytes = 1e9;

/** Tells how much room the checkpoints of a run will take, where it is much. */
export async function tellDisk({ config, parts, warn }: AdapterLab, { family, modules }: Adapter): Promise<void> {
  const plan = planDisk(config, findStart(family, parts.starts), modules);
  if (plan.mostBytes < tellingBytes) return;
  await warn({ kind: 'info', name: 'disk-plan', message: describeDisk(plan, config.output) });
}
