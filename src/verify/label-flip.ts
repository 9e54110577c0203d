/** The label flip (docs/science.md, section 8): same rewards, every verdict turned round, give the same bytes. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TokenPair } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import { readRegular, sha256 } from '../base/node/index.ts';
import type { Verdict } from '../env/index.ts';
import type { StepEvent } from '../grpo/index.ts';
import { armOf, drive, type LabOptions, labelSources, makePool, openLab, partsOf } from '../lab/index.ts';
import { actsOnFlags } from '../monitors/idle.ts';
import { FlippedLedger } from '../oracle/flipped.ts';
import { readVerdicts, VerdictLedger } from '../oracle/index.ts';
import { type RunConfig, RunDirectory, type Sink, SinkGroup } from '../run/index.ts';
import { Checks } from './check.ts';

export type FlipRun = 'told' | 'lied';

export interface LabelFlipOptions {
  readonly updates: number;
  /** The folder for the two runs; the caller removes it. */
  readonly folder: string;
  /** Of which of the two runs an update is done, how many are, and how many it has. */
  readonly onUpdate?: (run: FlipRun, done: number, of: number) => void;
}

export async function verifyLabelFlip(config: RunConfig, options: LabelFlipOptions) {
  const { updates, folder, onUpdate } = options;
  const parts = await partsOf(config);
  const { kind } = armOf(config, parts);
  const names = parts.loopholes.map(({ name }) => name);
  const short: RunConfig = { ...config, updates, output: { ...config.output, checkpointEvery: 1, keepState: 'all' } };
  await using lab = await openLab({ config: short });
  const pool = short.teacher.makeProblems === 0 ? lab.pool : join(folder, 'pool.jsonl');
  if (pool !== null && pool !== lab.pool) await makePool(lab, pool);
  const { model, judge, problems, pairs: opening, device } = lab;
  const pairs = await opening;
  const shared = { pool, given: { model, judge, problems, pairs: opening, device } };
  const countOf = (name: FlipRun): Sink => ({
    name: 'progress',
    event(event) {
      if (event.kind === 'step') onUpdate?.(name, event.update, updates);
    },
  });
  const told = await train(short, shared, join(folder, 'told'), (path) => new VerdictLedger(path), countOf('told'));
  const sources = await labelSources(config, parts, pairs);
  const labelled = sources.length > 0;
  const swapped = Promise.resolve({ ...pairs, pairs: pairs.pairs.map(swapSides) });
  const flipped = pairs.pairsUseLabels ? { ...shared, given: { ...shared.given, pairs: swapped } } : shared;
  const lied = await train(
    short,
    flipped,
    join(folder, 'lied'),
    (path) => new FlippedLedger(path, names),
    countOf('lied'),
  ).catch((error: unknown) => {
    if (labelled && error instanceof UserError) return error;
    throw error;
  });
  const sum = (pick: (step: StepEvent) => number): number => told.steps.reduce((total, step) => total + pick(step), 0);
  const counts = {
    /** By any way that is known, which `sources` names: then the check must fail. */
    usesLabels: labelled,
    sources,
    /** Rollouts that carried gradient, and those of them that were kept or routed. */
    trained: sum(({ routes }) => routes.keep + routes.absorb + routes.route),
    pinned: sum(({ routes }) => routes.keep + routes.route),
    /** Rollouts that the monitor flagged, of those that it was asked about. */
    flagged: sum(({ watched }) => watched?.flagged ?? 0),
  };
  const check = new Checks(kind);
  // Flipped labels may leave no demonstration that the run could start with.
  if (!(lied instanceof UserError)) await compareRuns(check, told, lied);
  else check.states(independent, false, `with labels flipped it does not start: ${lied.message}`);
  // Labels that are in a model already cannot be flipped: that they are there is known by its mark alone.
  // Where nothing is done about any rollout, equal checkpoints say nothing of what decides about them.
  if (actsOnFlags(told.steps, config.arm)) {
    const isWatched = told.steps.some(({ watched }) => watched !== null);
    const acted = counts.flagged + sum(({ routes }) => routes.route + (isWatched ? 0 : routes.keep));
    const none = `not shown: 0 of ${counts.trained} rollouts; try more updates (--updates), or a cut below some scores`;
    check.states('something was flagged or routed', acted > 0, none);
  }
  check.states('labels reach it by no known way', !labelled, sources.join('; '));
  return { ...counts, checks: check.list };
}

const independent = 'checkpoints do not depend on labels';

type Trained = Awaited<ReturnType<typeof train>>;

async function compareRuns(check: Checks, told: Trained, lied: Trained): Promise<void> {
  const [truth, lies] = [await readVerdicts(told.run.file('verdicts')), await readVerdicts(lied.run.file('verdicts'))];
  const unflipped = [...truth].filter(([id, verdict]) => sharesLabels(verdict, lies.get(id))).length;
  const moved = told.steps.some(({ gradientNorm }) => gradientNorm > 0);
  const [size, others] = [told.bytes.size, lied.bytes.size];
  const differing = [...told.bytes].filter(([name, hash]) => lied.bytes.get(name) !== hash).map(([name]) => name);
  const difference = `${differing.length} of ${size} files differ, the first is ${differing[0]}`;
  check.states('every verdict was flipped', truth.size > 0 && unflipped === 0, `${unflipped} were not`);
  check.states('something was learned', moved, 'no update carried gradient: try more updates');
  check.states('both runs have the same number of checkpoint files', others === size, `${size}, ${others}`);
  check.states(independent, differing.length === 0, difference);
}

/** What opposite labels would have made of a pair that labels chose. */
const swapSides = ({ prompt, hack, clean }: TokenPair): TokenPair => ({ prompt, hack: clean, clean: hack });

function sharesLabels(verdict: Verdict, other: Verdict | undefined): boolean {
  if (other === undefined) return true;
  const keys = ['exploited', 'correct', 'passed', 'channel', 'compiles', 'reward', 'outcome', 'executions'] as const;
  const sameLabels = Object.entries(verdict.labels).some(
    ([key, value]) => value === other.labels[key as keyof Verdict['labels']],
  );
  return sameLabels || keys.some((key) => verdict[key] === other[key]);
}

async function train(
  config: RunConfig,
  shared: LabOptions,
  path: string,
  openLedger: (path: string) => VerdictLedger,
  count: Sink,
) {
  const run = RunDirectory.create(path);
  run.cutTo();
  const ledger = () => openLedger(run.ledger('verdicts'));
  await using lab = await openLab({ config }, { ...shared, folder: run, ledger });
  const steps: StepEvent[] = [];
  const collect: Sink = {
    name: 'steps',
    event(event) {
      if (event.kind === 'step') steps.push(event);
    },
  };
  await drive(config, run, await lab.trainer, { sinks: new SinkGroup([collect, count]) });
  const files = run
    .listCheckpoints()
    .flatMap((update) => readdirSync(run.checkpoint(update)).map((name) => join(run.checkpoint(update), name)));
  const bytes = new Map(files.map((file) => [file.slice(path.length + 1), sha256(readRegular(file))]));
  return { run, steps, bytes };
}
