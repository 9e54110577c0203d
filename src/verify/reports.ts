/** The checks of `gq verify` and `gq smoke`, each with the parts of the lab that it needs and what is shown beside it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UserError, visibleLine } from '../base/index.ts';
import { scratchFolder } from '../base/node/index.ts';
import type { Loophole } from '../env/index.ts';
import { InterpreterJudge } from '../env/interpreter/judge.ts';
import { loadPairs } from '../env/pairs/index.ts';
import { findDamage } from '../evaluate/index.ts';
import { parseRunConfig, resolveBuiltin } from '../lab/config.ts';
import { openDevice } from '../lab/device.ts';
import { modelDirectory } from '../lab/model.ts';
import { openLab } from '../lab/open.ts';
import type { Warn } from '../lab/open-parts.ts';
import { pairSetOf } from '../lab/pairs.ts';
import { openProblems } from '../lab/problems.ts';
import { makeTinyModel } from '../lab/tiny-model.ts';
import { train } from '../lab/train.ts';
import { ModelTokenizer } from '../model/index.ts';
import { partitionOf, type RecordedEvent, type RunConfig, RunDirectory, type Sink } from '../run/index.ts';
import { type Check, Checks } from './check.ts';
import { verifyHints, verifyMarkers, verifyPartition, verifyRewards, verifyTexts } from './environment.ts';
import { verifyAdapters } from './invariants.ts';
import { type LabelFlipOptions, verifyLabelFlip } from './label-flip.ts';
import { verifyParity } from './parity.ts';
import { verifyGeneratedPairs, verifyPairProvenance, verifyRunProvenance } from './provenance.ts';

export interface VerifyReport {
  readonly title: string;
  readonly checks: readonly Check[];
  readonly before?: readonly string[];
  readonly after?: readonly string[];
  readonly table?: {
    readonly title: string;
    readonly columns: readonly string[];
    readonly rows: readonly (readonly string[])[];
  };
  readonly facts?: object;
}

export async function reportRewards(config: RunConfig): Promise<VerifyReport> {
  await using lab = await openLab({ config });
  if ((lab.source.texts?.outside ?? null) !== null) {
    const expected = 'problems with solutions of their own, whose rewards are known beforehand';
    throw new UserError({ call: 'verify rewards', expected, found: `tasks of ${config.data['url']}, which have none` });
  }
  const judge = await lab.judge;
  const [sandbox, interpreter] = judge instanceof InterpreterJudge ? [judge.otherwise, judge] : [judge, null];
  const { checks, loopholes, matrix } =
    lab.source.texts === null
      ? await verifyRewards(sandbox ?? judge, lab.parts.loopholes, interpreter)
      : await verifyTexts(judge, (await lab.problems).splits.train[0], lab.parts.loopholes);
  if (config.data.kind === 'micro') checks.unshift(...(await readableHints(config, lab.parts.loopholes)));
  const table = {
    title: 'reward of each program in each loophole; *: a hack',
    columns: ['program', ...loopholes],
    rows: matrix.map(({ program, cells }) => [program, ...cells]),
  };
  return { title: 'Rewards', checks, table };
}

/** A micro model has few words: a hint in others would end training at its first prompt. */
async function readableHints({ model }: RunConfig, loopholes: readonly Loophole[]): Promise<readonly Check[]> {
  const tokenizer = await ModelTokenizer.open(modelDirectory(model));
  return verifyHints(tokenizer, loopholes);
}

export async function reportMarkers(config: RunConfig): Promise<VerifyReport> {
  await using lab = await openLab({ config });
  return { title: 'Markers', checks: await verifyMarkers(await lab.judge, lab.parts.loopholes) };
}

const noteIn =
  (notes: string[]): Warn =>
  ({ message }) => {
    notes.push(visibleLine(message));
  };

export async function reportPartition(config: RunConfig): Promise<VerifyReport> {
  const leftOut: string[] = [];
  await using lab = await openLab({ config }, { warn: noteIn(leftOut) });
  const { splits } = await openProblems(lab, { anew: true });
  const { loopholes } = lab.parts;
  const partition = await partitionOf(config, splits, loopholes);
  const counts = [...partition.known, ...partition.heldOut].map((loophole) => {
    const shares = Object.entries(splits).map(([split, problems]) => {
      const count = problems.filter(({ id }) => partition.problems[id] === loophole).length;
      return `${split} ${count}`;
    });
    return `${loophole}: ${shares.join(', ')}${partition.heldOut.includes(loophole) ? ' (held out)' : ''}`;
  });
  const checks = verifyPartition(partition, splits, loopholes);
  return { title: 'Partition', checks, before: [...leftOut, ...counts] };
}

/** Files come first: where one is not as it was written, the other checks would stop at it. */
export async function reportScience(subject: RunConfig | RunDirectory): Promise<VerifyReport> {
  const run = subject instanceof RunDirectory ? subject : null;
  const damaged = run === null ? [] : findDamage(run);
  if (damaged.length > 0) {
    const check = new Checks('file');
    for (const { file, problem } of damaged) check.states(file, false, problem);
    return { title: `Files of ${run?.path}`, checks: check.list };
  }
  const config = subject instanceof RunDirectory ? await parseRunConfig(subject.readManifest().config) : subject;
  const before: string[] = [];
  await using lab = await openLab({ config }, { work: 'evaluation', folder: run, warn: noteIn(before) });
  const { loopholes } = lab.parts;
  const [{ splits }, opened] = await Promise.all([lab.problems, lab.pairs]);
  const { pairs } = await loadPairs(await pairSetOf(config), config.pairs.select);
  const checks = verifyPairProvenance(config, pairs, splits, loopholes);
  if (run !== null) {
    checks.push(...verifyGeneratedPairs(run, splits, await lab.partition, loopholes));
    checks.push(...(await verifyRunProvenance(run, await lab.identity, opened)));
  }
  return { title: 'Science', checks, before };
}

export async function reportAdapters(name: string): Promise<VerifyReport> {
  using device = await openDevice(name, { precision: 'f32' });
  const { checks } = await verifyAdapters(device);
  return { title: `Adapter invariants on ${device.name}`, checks, facts: { device: device.name } };
}

export async function reportParity(name: string, directory: string): Promise<VerifyReport> {
  using device = await openDevice(name, { precision: 'f32' });
  const { checks, notes } = await verifyParity(device, directory);
  const after = notes.map(({ case: of, note }) => `note: ${of}: ${note}`);
  return { title: `Parity on ${device.name}`, checks, after, facts: { device: device.name, notes } };
}

export async function reportArm(config: RunConfig, options: Omit<LabelFlipOptions, 'folder'>): Promise<VerifyReport> {
  using folder = scratchFolder('gq-arm-');
  const { checks, ...facts } = await verifyLabelFlip(config, { ...options, folder: folder.path });
  const { usesLabels, sources, trained, pinned, flagged } = facts;
  const after = [`${pinned} of ${trained} rollouts were kept or routed; the others trained both blocks.`];
  if (flagged > 0) after.push(`The monitor flagged ${flagged} rollouts.`);
  if (usesLabels) {
    const ways = sources.join('; ');
    after.push(`Labels reach training: ${ways}. It must fail this check, and the manifests of its runs say so.`);
  } else if (pinned + flagged === 0) {
    after.push('Nothing was kept or routed: a gate may need more updates to show what it reads.');
  }
  return { title: 'Labels flipped', checks, after, facts };
}

const tinySettings = [
  'updates=8',
  'adapter.rank=2',
  'sampling.maxNewTokens=32',
  'sampling.promptsPerStep=4',
  'sampling.group=4',
  'sampling.temperature=0.9',
  'sampling.topK=0',
  'sampling.topP=1',
  'optimiser.learningRate=1e-2',
  'arm.kind=activation',
  'arm.warmupRows=4',
  'arm.tail=0.2',
  'arm.refreshEvery=2',
  'data.problems=32',
];

async function reportTinyRun(
  device: string,
  display: (run: { readonly path: string; readonly updates: number }) => Sink,
): Promise<VerifyReport> {
  using home = scratchFolder('gq-smoke-');
  const model = join(home.path, 'model');
  await makeTinyModel(model, device);
  const { config } = resolveBuiltin(null, [`model=${model}`, `device.kind=${device}`, ...tinySettings]);
  const events: RecordedEvent[] = [];
  const path = join(home.path, 'run');
  const collector: Sink = { name: 'smoke', event: (event) => void events.push(event) };
  const { end } = await train(config, path, { sinks: [display({ path, updates: config.updates }), collector] });
  const steps = events.filter((event) => event.kind === 'step');
  const routes = ['keep', 'absorb', 'route'] as const;
  const unused = routes.filter((route) => steps.every((step) => step.routes[route] === 0));
  const numbers = steps.flatMap(({ gradientNorm, loss, kl, parity }) => [gradientNorm, loss, kl, parity]);
  const moved = steps.some(({ gradientNorm }) => gradientNorm > 0);
  const check = new Checks('run');
  check.states('finished', end === 'finished', end);
  check.states('learned something', moved, 'no update carried gradient');
  check.states('finite numbers', numbers.every(Number.isFinite), numbers.join(', '));
  check.none('every route was used', unused);
  const { checks } = await reportScience(RunDirectory.open(path));
  return { title: 'Run', checks: [...check.list, ...checks] };
}

type Display = Parameters<typeof reportTinyRun>[1];

export function smokeParts(
  device: string,
  golden: string | undefined,
  display: Display,
): Readonly<Record<string, () => Promise<VerifyReport>>> {
  const { config } = resolveBuiltin(null, [
    'environment.loopholes=["run_tests", "sentinel"]',
    'environment.heldOutLoopholes=["exit_code"]',
    'pairs.select=["tag:run_tests,sentinel"]',
  ]);
  const stored = golden ?? fileURLToPath(new URL('../../test/golden', import.meta.url));
  // The stored values are not in the package: without them, the part says that it was left out.
  const without = { title: 'Parity', checks: [], before: ['no stored values here; name a folder with --golden'] };
  return {
    rewards: () => reportRewards(config),
    markers: () => reportMarkers(config),
    partition: () => reportPartition(config),
    science: () => reportScience(config),
    adapters: () => reportAdapters(device),
    parity: async () => (golden === undefined && !existsSync(stored) ? without : await reportParity(device, stored)),
    run: () => reportTinyRun(device, display),
  };
}
