/**
 * One update of the micro lab by phase, and the same updates in PyTorch on the CPU (bench/peers/micro.py): the same model, prompts
 * and completions, a LoRA of two blocks by hooks, a key/value cache. The learning rate is next to nothing, so that the policy
 * stays the base and both sides must find the same log-probabilities; the largest difference is printed.
 *
 * npm run bench micro -- [--updates 12] [--threads 2] [--recipe recipes/micro-activation.toml] [--no-peer] [--json]
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { RolloutRecord } from '../src/grpo/events.ts';
import { assemble, modelDirectory, openInputs, Resources, resolveBuiltin } from '../src/lab/index.ts';
import { VerdictLedger } from '../src/oracle/index.ts';
import { bestOpenBlasCore } from './openblas.ts';

const warmup = 2;

const { values } = parseArgs({
  options: {
    updates: { type: 'string', default: '12' },
    threads: { type: 'string', default: '2' },
    recipe: { type: 'string', default: 'recipes/micro-activation.toml' },
    model: { type: 'string', default: 'micro' },
    peer: { type: 'boolean', default: true },
    json: { type: 'boolean', default: false },
  },
  allowNegative: true,
});
const updates = Number(values.updates);
const { config } = resolveBuiltin(values.recipe, [
  `updates=${updates}`,
  `device.threads=${values.threads}`,
  `model=${JSON.stringify(values.model)}`,
  'optimiser.learningRate=1e-9',
  'arm.warmupRows=1',
]);

interface Batch {
  readonly rollouts: readonly {
    readonly prompt: readonly number[];
    readonly tokens: readonly number[];
    readonly deployed: boolean;
    readonly trained: boolean;
    readonly route: string | null;
    readonly advantage: number;
    readonly logps: readonly number[] | null;
  }[];
}

function batchOf(records: readonly RolloutRecord[]): Batch {
  return {
    rollouts: records.map(({ rollout, trained, route, advantage, logps }) => ({
      prompt: [...rollout.prompt],
      tokens: [...rollout.tokens],
      deployed: rollout.sampled === 'deployed',
      trained,
      route: route,
      advantage,
      logps: logps === null ? null : [...logps],
    })),
  };
}

type Seconds = Readonly<Record<string, number>>;
interface Measured {
  readonly seconds: Seconds;
  readonly total: number;
  readonly tokensPerSecond: number;
}

const folder = mkdtempSync(join(tmpdir(), 'gq-bench-'));
const batches: Batch[] = [];
const timings: Seconds[] = [];
let device = '';
{
  await using resources = new Resources();
  const inputs = await openInputs(config, resources);
  const ledger = resources.use(new VerdictLedger(join(folder, 'verdicts.jsonl')));
  const { trainer, clock } = await assemble(config, inputs, ledger, resources);
  const used = inputs.files.device as { name: string; variant?: string; threads?: number };
  device = [used.name, used.variant, `${used.threads} threads`].join(' ');
  clock.take();
  for await (const event of trainer.train()) {
    if (event.kind === 'rollouts') batches.push(batchOf(event.records));
    if (event.kind === 'step') {
      timings.push(clock.take());
      ledger.forget();
    }
  }
}

function meanOf(rows: readonly Seconds[]): Seconds {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return Object.fromEntries(
    names.map((name) => [name, rows.reduce((sum, row) => sum + (row[name] ?? 0), 0) / rows.length]),
  );
}

function measured(seconds: Seconds, sampled: number): Measured {
  const total = Object.values(seconds).reduce((sum, value) => sum + value, 0);
  return { seconds, total, tokensPerSecond: sampled / total };
}

const counted = batches.slice(warmup);
const sampled =
  counted.reduce((sum, { rollouts }) => sum + rollouts.reduce((own, { tokens }) => own + tokens.length, 0), 0) /
  counted.length;
const ours = measured(meanOf(timings.slice(warmup)), sampled);

interface PeerReport {
  readonly threads: string;
  readonly torch: string;
  /** The library that PyTorch multiplies with. */
  readonly blas: string;
  readonly seconds: Seconds;
  readonly logpDifference: number;
}

/** The first Python that has PyTorch: the one on the PATH, or Debian's own (apt install python3-torch). */
function findPython(): string | undefined {
  const hasTorch = (python: string) => spawnSync(python, ['-c', 'import torch']).status === 0;
  return ['python3', '/usr/bin/python3'].find(hasTorch);
}

/** The peer's report, or the reason why there is none. */
function runPeer(): PeerReport | string {
  const python = findPython();
  if (python === undefined)
    return 'PyTorch was not found: no python3 can import torch (Debian: apt-get install python3-torch libopenblas0-pthread)';
  const path = join(folder, 'batches.json');
  writeFileSync(path, JSON.stringify({ warmup, group: config.sampling.group, rank: config.adapter.rank, batches }));
  const reports = [...new Set(['1', values.threads])].map((threads) => runThreads(python, path, threads));
  const ran = reports.filter((report) => typeof report !== 'string');
  const total = ({ seconds }: PeerReport) => Object.values(seconds).reduce((sum, value) => sum + value, 0);
  return ran.toSorted((a, b) => total(a) - total(b))[0] ?? reports[0];
}

/** On a busy machine PyTorch's threads wait for each other: it is given one thread and as many as we have, and the faster counts. */
function runThreads(python: string, batches: string, threads: string): PeerReport | string {
  const script = join(import.meta.dirname, 'peers', 'micro.py');
  const args = [script, '--model', modelDirectory(config.model), '--batches', batches, '--threads', threads];
  const core = bestOpenBlasCore();
  const env = {
    ...process.env,
    OMP_NUM_THREADS: threads,
    OPENBLAS_NUM_THREADS: threads,
    OMP_WAIT_POLICY: 'passive',
    ...(core === undefined ? {} : { OPENBLAS_CORETYPE: core }),
  };
  const { status, stdout, stderr } = spawnSync(python, args, { encoding: 'utf8', maxBuffer: 1 << 28, env });
  if (status === 0) return { ...(JSON.parse(stdout) as PeerReport), threads };
  return `PyTorch did not run: ${stderr.trim().split('\n').at(-1) ?? `exit status ${status}`}`;
}

const report = values.peer ? runPeer() : 'PyTorch was not asked for';
rmSync(folder, { recursive: true });
const peer = typeof report === 'string' ? null : { ...report, ...measured(report.seconds, sampled) };
/** Our seconds without grading, in which PyTorch has no part. */
const computed = ours.total - (ours.seconds['grade'] ?? 0);
const ratio = peer === null ? null : peer.total / computed;

if (values.json) {
  console.log(
    JSON.stringify({ device, updates: counted.length, tokensPerUpdate: sampled, ours, peer, ratio, report }, null, 2),
  );
} else {
  const phases = ['sample', 'grade', 'score', 'route', 'learn', 'other'];
  const cell = (value: number | undefined) => (value === undefined ? '-' : value.toFixed(3)).padStart(9);
  console.log(
    `seconds per update, mean of ${counted.length} updates after ${warmup}; ${sampled.toFixed(0)} sampled tokens an update`,
  );
  console.log(`${''.padEnd(36)}${[...phases, 'total'].map((name) => name.padStart(9)).join('')}  sampled tokens/s`);
  const row = (name: string, { seconds, total, tokensPerSecond }: Measured) =>
    `${name.padEnd(36)}${[...phases.map((phase) => seconds[phase]), total].map(cell).join('')}  ${tokensPerSecond.toFixed(0)}`;
  console.log(row(device, ours));
  if (peer === null) console.log(report);
  else {
    console.log(row(`PyTorch ${peer.torch}, ${peer.blas}, threads: ${peer.threads}`, peer));
    console.log(
      `without grading: PyTorch takes ${ratio?.toFixed(2)} times our time; log-probabilities differ by at most ${peer.logpDifference.toExponential(1)}`,
    );
  }
}
