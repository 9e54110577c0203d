/** The adapter of a run at its start. */
import {
  type Adapter,
  createAdapter,
  findStart,
  pairInputDifferences,
  readCheckpoint,
  restoreStart,
  type TokenPair,
  targetModules,
} from '../adapters/index.ts';
import { cacheFolder } from '../base/node/index.ts';
import { describeDisk, planDisk, type RunConfig } from '../run/index.ts';
import { partsOf } from './config.ts';
import { coresLimit } from './cores.ts';
import type { OpenModel } from './model.ts';
import { silent, type Warn } from './problems.ts';

/** Milliseconds after which it is told that factors are computed, and between two such notices. */
const [firstNoticeMs, nextNoticeMs] = [2_000, 15_000];

/**
 * Makes the adapter at its start. Nothing is computed where `initial`, the stored initial values of a run, is given. The signal
 * ends the computation with its reason.
 */
export async function openAdapter(
  config: RunConfig,
  model: OpenModel,
  pairs: readonly TokenPair[],
  initial: string | null = null,
  warn: Warn = silent,
  signal?: AbortSignal,
): Promise<Adapter> {
  const { family, rank, targets } = config.adapter;
  const { starts } = await partsOf(config);
  const modules = targetModules(model.decoder.config, targets);
  const { needsPairs } = findStart(family, starts);
  if (initial !== null) {
    const kind = { family, rank, modules: modules.map(({ name }) => name) };
    return restoreStart(model.scope, model.decoder.config, await readCheckpoint(initial, kind), starts);
  }
  const differences = needsPairs ? await pairInputDifferences(model.decoder, modules, pairs) : undefined;
  const damaged: string[] = [];
  const progress = factorProgress(family, warn);
  const cores = coresLimit();
  const adapter = await createAdapter(model.scope, model.decoder, {
    family,
    starts,
    rank,
    seed: config.seed,
    targets,
    cacheDirectory: cacheFolder('factors'),
    tell: (message) => damaged.push(message),
    progress,
    ...(cores === null ? {} : { threads: cores }),
    ...(signal === undefined ? {} : { signal }),
    ...(differences === undefined ? {} : { differences }),
  });
  for (const message of damaged) await warn({ kind: 'info', name: 'damaged-factors', message });
  return adapter;
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
export async function tellDisk(config: RunConfig, { family, modules }: Adapter, warn: Warn): Promise<void> {
  const { starts } = await partsOf(config);
  const plan = planDisk(config, findStart(family, starts), modules);
  if (plan.mostBytes < tellingBytes) return;
  await warn({ kind: 'info', name: 'disk-plan', message: describeDisk(plan, config.output) });
}
