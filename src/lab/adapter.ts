/** The adapter of a run at its start. */
import {
  type Adapter,
  type AdapterStart,
  createAdapter,
  drawFactors,
  findStart,
  type InitialFactors,
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
import { loadModel, type ModelFiles, type OpenModel } from './model.ts';
import { silent, type Warn } from './problems.ts';
import type { Resources } from './resources.ts';

/** Milliseconds after which it is told that factors are computed, and between two such notices. */
const [firstNoticeMs, nextNoticeMs] = [2_000, 15_000];

/**
 * Makes the adapter at its start. Nothing is computed where `initial`, the stored initial values of a run, is given. The signal
 * ends the computation with its reason. `drawn` are factors that were made already.
 */
export async function openAdapter(
  config: RunConfig,
  model: OpenModel,
  pairs: readonly TokenPair[],
  initial: string | null = null,
  warn: Warn = silent,
  signal?: AbortSignal,
  drawn: ReadonlyMap<string, InitialFactors> | null = null,
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
  const adapter = await createAdapter(model.scope, model.decoder, {
    ...factorOptions(config, starts, signal),
    cacheDirectory: cacheFolder('factors'),
    tell: (message) => damaged.push(message),
    progress,
    ...(drawn === null ? {} : { factors: drawn }),
    ...(differences === undefined ? {} : { differences }),
  });
  for (const message of damaged) await warn({ kind: 'info', name: 'damaged-factors', message });
  return adapter;
}

function factorOptions({ adapter, seed }: RunConfig, starts: readonly AdapterStart[], signal?: AbortSignal) {
  const { family, rank, targets } = adapter;
  const cores = coresLimit();
  return {
    ...{ family, starts, rank, seed, targets },
    ...(cores === null ? {} : { threads: cores }),
    ...(signal === undefined ? {} : { signal }),
  };
}

/** Loads the model and makes its adapter; random factors are drawn while the weights are read, and as briefly: the signal ends neither. */
export async function loadPolicy(
  config: RunConfig,
  files: ModelFiles,
  resources: Resources,
  {
    pairs,
    initial,
    warn,
    signal,
  }: {
    readonly pairs: readonly TokenPair[];
    readonly initial: string | null;
    readonly warn: Warn;
    readonly signal: AbortSignal | undefined;
  },
): Promise<{ readonly model: OpenModel; readonly adapter: Adapter }> {
  const { starts } = await partsOf(config);
  const stop = new AbortController();
  const { device, folder } = files;
  const drawing =
    initial === null ? drawFactors(device, folder.config, factorOptions(config, starts, stop.signal)) : null;
  const loading = loadModel(config, files, resources);
  try {
    const [model, drawn] = await Promise.all([loading, drawing]);
    return { model, adapter: await openAdapter(config, model, pairs, initial, warn, signal, drawn) };
  } catch (error) {
    // Nothing goes on beside what the caller closes.
    stop.abort(error);
    await Promise.allSettled([loading, drawing]);
    throw error;
  }
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
