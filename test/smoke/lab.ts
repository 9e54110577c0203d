/**
 * A lab small enough for tests: a one-layer model that has seen a few micro documents, and runs of it through the real
 * composition root. Inputs that no arm changes (sandbox, problems, device) are opened once.
 */
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tryLock } from '../../src/base/node/lock.ts';
import type { Splits } from '../../src/env/sources/index.ts';
import type { StepEvent, TrainEvent } from '../../src/grpo/events.ts';
import type { Assembly, LabOptions as DoorOptions, ModelFiles, Lab as OpenedLab } from '../../src/lab/index.ts';
import { makeTinyModel, openLab, resolveBuiltin } from '../../src/lab/index.ts';
import { drive } from '../../src/lab/train.ts';
import { VerdictLedger } from '../../src/oracle/index.ts';
import { loadCheckpoint } from '../../src/run/checkpoint.ts';
import { checkedInitial } from '../../src/run/checkpoint-files.ts';
import type { RolloutRow } from '../../src/run/columns/index.ts';
import type { RunConfig } from '../../src/run/config/schema.ts';
import { RunDirectory } from '../../src/run/directory.ts';
import { readRollouts } from '../../src/run/read.ts';
import { type RunEnd, type Sink, SinkGroup, type WarningEvent } from '../../src/run/sink.ts';

export const tinySettings = [
  'adapter.rank=2',
  'sampling.maxNewTokens=32',
  'sampling.promptsPerStep=3',
  'sampling.group=4',
  'sampling.temperature=0.9',
  'sampling.topK=0',
  'sampling.topP=1',
  'optimiser.learningRate=1e-2',
  'optimiser.warmupUpdates=0',
  'safety.tripwirePrompts=2',
  'data.problems=32',
  'device.threads=1',
  'device.arenaMiB=64',
];

/** Settings of a small run, but for those of a table whose kind these others choose. */
export function tinyWith(...settings: readonly string[]): string[] {
  const chosen = settings.flatMap((setting) => /^(\w+\.)kind=/.exec(setting)?.[1] ?? []);
  return [...tinySettings.filter((setting) => !chosen.some((table) => setting.startsWith(table))), ...settings];
}

/** Options of a run that is stopped once its first update is done, as by Ctrl-C. */
export function stoppedAfterFirst(): { readonly signal: AbortSignal; readonly sinks: readonly Sink[] } {
  const stop = new AbortController();
  const event: Sink['event'] = ({ kind }) => {
    if (kind === 'step') stop.abort();
  };
  return { signal: stop.signal, sinks: [{ name: 'stop', event }] };
}

type Variant = 'auto' | 'plain';
let madeModel: Promise<string> | undefined;

/**
 * The folder of a tiny model, made once by the kernels that give the same bytes on every machine: by one process of a test run for all
 * (test/temporary.ts), elsewhere by each process, which removes it at its end. All suites share it: whoever changes one, copies it.
 */
export function tinyModel(): Promise<string> {
  const { GQ_TEST_FOLDER: shared } = process.env;
  madeModel ??= shared === undefined ? newTinyModel() : sharedTinyModel(shared);
  return madeModel;
}

async function newTinyModel(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'gq-tiny-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const model = join(folder, 'model');
  await makeTinyModel(model, 'wasm', 'plain');
  return model;
}

/** The model of a test run: whoever comes first makes it, the others wait for it. */
async function sharedTinyModel(folder: string): Promise<string> {
  const model = join(folder, 'tiny-model');
  while (!existsSync(model)) {
    const lock = tryLock(`${model}.lock.json`);
    if (!('holder' in lock)) {
      using _lock = lock;
      if (!existsSync(model)) renameSync(await newTinyModel(), model);
    } else await new Promise((go) => setTimeout(go, 20));
  }
  return model;
}

export interface LabRun {
  readonly run: RunDirectory;
  /** The trainer's events. */
  readonly events: readonly TrainEvent[];
  readonly warnings: readonly WarningEvent[];
  readonly steps: readonly StepEvent[];
  readonly end: RunEnd;
  readonly holds: boolean;
}

export interface LabOptions {
  readonly ledger?: new (path: string) => VerdictLedger;
  /** Changes the assembly before it trains: for planted faults. */
  readonly plant?: (assembly: Assembly) => void;
  /** Sees the assembly after the last update. */
  readonly finished?: (assembly: Assembly) => Promise<void>;
  /** Wraps the config before anything reads it. */
  readonly watch?: (config: RunConfig) => RunConfig;
  /** Whether the run opens its own inputs, because its settings change them. */
  readonly ownInputs?: boolean;
  /** Sinks that are told every event, after the lab itself. */
  readonly sinks?: readonly Sink[];
  /** Stops the run after so many updates; another assembly goes on from the last checkpoint. */
  readonly breakAfter?: number;
}

export class Lab implements AsyncDisposable {
  readonly model: string;
  readonly #home: string;
  readonly #shared: OpenedLab;
  /** What no arm changes. */
  readonly inputs: { readonly problems: Splits; readonly files: ModelFiles };
  #runs = 0;

  private constructor(model: string, home: string, shared: OpenedLab, inputs: Lab['inputs']) {
    this.model = model;
    this.#home = home;
    this.#shared = shared;
    this.inputs = inputs;
  }

  /** `plain` kernels give the same bytes on every machine. */
  static async open(variant: Variant = 'auto'): Promise<Lab> {
    const home = await mkdtemp(join(tmpdir(), 'gq-lab-'));
    const model = await tinyModel();
    const { config } = resolveBuiltin(null, [`model=${model}`, ...tinySettings, `device.variant=${variant}`]);
    const shared = await openLab({ config });
    const [{ splits: problems }, files] = await Promise.all([shared.problems, shared.model, shared.device]);
    return new Lab(model, home, shared, { problems, files });
  }

  /** A lab of this config that shares what no arm changes; it has a device of its own if asked to. */
  open(config: RunConfig, { ownDevice = false, ...options }: DoorOptions & { ownDevice?: boolean } = {}) {
    const { model, judge, problems, pairs, device } = this.#shared;
    const given = { model, judge, problems, pairs, ...(ownDevice ? {} : { device }) };
    return openLab({ config }, { given, ...options });
  }

  path(name: string): string {
    return join(this.#home, name);
  }

  config(settings: readonly string[]) {
    // A quarter of the prompts is sound, where the arm's prompts have hints.
    const sound = settings.includes('arm.kind=no-loophole') ? [] : ['environment.unhackableFraction=0.25'];
    return resolveBuiltin(null, [`model=${this.model}`, ...tinyWith(...sound, ...settings)]).config;
  }

  async rollouts(run: RunDirectory): Promise<RolloutRow[]> {
    const rows: RolloutRow[] = [];
    for await (const row of readRollouts(run)) rows.push(row);
    return rows;
  }

  /** The folder of the run that was trained last, finished or not. */
  get lastRun(): string {
    return `run-${this.#runs - 1}`;
  }

  async train(settings: readonly string[], options: LabOptions = {}): Promise<LabRun> {
    const { breakAfter, ...others } = options;
    const resolved = this.config(settings);
    const config = options.watch?.(resolved) ?? resolved;
    const run = RunDirectory.create(this.path(`run-${this.#runs++}`));
    run.cutTo();
    if (breakAfter === undefined) return this.#live(config, run, others);
    const stop = new AbortController();
    const until: Sink = {
      name: 'break',
      event(event) {
        if (event.kind === 'step' && event.update === breakAfter) stop.abort();
      },
    };
    await this.#live(config, run, { ...others, sinks: [until, ...(others.sinks ?? [])] }, stop.signal);
    return this.#live(config, run, others);
  }

  /** What one process does: the run from its last checkpoint on, or from its beginning. */
  async #live(
    config: RunConfig,
    run: RunDirectory,
    { ledger: Ledger = VerdictLedger, plant, finished, ownInputs = false, sinks = [] }: LabOptions,
    signal?: AbortSignal,
  ): Promise<LabRun> {
    const last = run.listCheckpoints().at(-1);
    const loaded = last === undefined ? null : await loadCheckpoint(run, last);
    if (loaded !== null) run.cutTo(loaded.lengths);
    const options: DoorOptions = {
      folder: run,
      ledger: () => new Ledger(run.ledger('verdicts')),
      ...(loaded === null ? {} : { initial: checkedInitial(run) }),
    };
    await using lab = await (ownInputs ? openLab({ config }, options) : this.open(config, options));
    const assembly = await lab.trainer;
    if (loaded !== null) assembly.trainer.restore(loaded.state);
    plant?.(assembly);
    const events: TrainEvent[] = [];
    const warnings: WarningEvent[] = [];
    const collector: Sink = {
      name: 'test',
      event(event) {
        if (event.kind === 'warning') warnings.push(event);
        else if (event.kind !== 'info') events.push(event);
      },
    };
    const { end, holds } = await drive(config, run, assembly, {
      sinks: new SinkGroup([collector, ...sinks]),
      ...(signal === undefined ? {} : { signal }),
    });
    await finished?.(assembly);
    return { run, events, warnings, steps: events.filter((event) => event.kind === 'step'), end, holds };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#shared[Symbol.asyncDispose]();
    await rm(this.#home, { recursive: true, force: true });
  }
}
