/**
 * One update of the micro lab by phase, and the same update in PyTorch on the CPU (bench/peers/micro.py), in turns: the same model,
 * prompts and completions, a LoRA of two blocks by hooks, a key/value cache. The learning rate is next to nothing, so that the policy
 * stays the base and both sides must find the same log-probabilities; the largest difference is printed. On a busy machine
 * PyTorch's threads wait for each other: it is given one thread and as many as we have in every turn, and the faster of the two counts.
 * The peer does what the activation arm asks for (passes in deployed, full and base state): with another recipe the ratio says less.
 * It has no tripwire, the watch over a few fixed completions: ours is off too, unless `--tripwire` asks for an update as a run has it.
 *
 * npm run bench micro -- [--updates 12] [--threads 2] [--recipe recipes/micro-activation.toml] [--model micro] [--tripwire] [--no-peer]
 *   [--json]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { RolloutRecord } from '../src/grpo/events.ts';
import { modelDirectory, openLab, resolveBuiltin } from '../src/lab/index.ts';
import { VerdictLedger } from '../src/oracle/index.ts';
import { median } from '../src/stats/index.ts';
import { findTorch, MicroPeer, type PeerTurn, type Seconds } from './micro-peer.ts';
import { childrenSeconds, ownSeconds } from './processor-time.ts';

const warmup = 2;

const { values } = parseArgs({
  options: {
    updates: { type: 'string', default: '12' },
    threads: { type: 'string', default: '2' },
    recipe: { type: 'string', default: 'recipes/micro-activation.toml' },
    model: { type: 'string', default: 'micro' },
    tripwire: { type: 'boolean', default: false },
    peer: { type: 'boolean', default: true },
    json: { type: 'boolean', default: false },
  },
  allowNegative: true,
});
const { config } = resolveBuiltin(values.recipe, [
  `updates=${values.updates}`,
  `device.threads=${values.threads}`,
  `model=${JSON.stringify(values.model)}`,
  'optimiser.learningRate=1e-9',
  ...(values.tripwire ? [] : ['safety.tripwirePrompts=0']),
  ...(values.recipe.includes('activation') ? ['arm.warmupRows=1'] : []),
]);

if (!(Number(values.updates) > warmup)) {
  throw new Error(`micro: expected --updates above ${warmup}, which warm up, found ${values.updates}`);
}

/** What the peer is given of one update. */
function batchOf(records: readonly RolloutRecord[]) {
  return {
    rollouts: records.map(({ rollout, trained, route, advantage, logps }) => ({
      prompt: [...rollout.prompt],
      tokens: [...rollout.tokens],
      deployed: rollout.sampled === 'deployed',
      trained,
      route,
      advantage,
      logps: logps === null ? null : [...logps],
    })),
  };
}

interface Turn {
  readonly seconds: Seconds;
  /** Processor seconds of this process, and of the processes that grade. */
  readonly processor: number;
  readonly graders: number;
  readonly tokens: number;
  /** The same update by each peer, in the order of the peers. */
  readonly peers: readonly PeerTurn[];
}

const sumOf = (seconds: Seconds): number => Object.values(seconds).reduce((sum, value) => sum + value, 0);
/** Our seconds without grading, in which PyTorch has no part. */
const computed = (seconds: Seconds): number => sumOf(seconds) - (seconds['grade'] ?? 0);

/** The peers, or the reason why there are none. */
async function openPeers(): Promise<{ peers: readonly MicroPeer[]; words: string }> {
  if (!values.peer) return { peers: [], words: 'PyTorch was not asked for' };
  const python = findTorch();
  if (python === undefined) {
    const words =
      'PyTorch was not found: no python3 can import torch (Debian: apt-get install python3-torch libopenblas0-pthread)';
    return { peers: [], words };
  }
  const counts = [...new Set(['1', values.threads])];
  const peers = counts.map(
    (threads) => new MicroPeer(python, modelDirectory(config.model), config.adapter.rank, threads),
  );
  try {
    const [{ torch, blas }] = await Promise.all(peers.map((peer) => peer.ready()));
    return { peers, words: `PyTorch ${torch}, ${blas}` };
  } catch (error) {
    for (const peer of peers) peer.close();
    return { peers: [], words: error instanceof Error ? error.message : String(error) };
  }
}

const { peers, words } = await openPeers();
const peerIds = peers.map(({ id }) => id);

async function measure(): Promise<{ device: string; turns: readonly Turn[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'gq-bench-'));
  await using lab = await openLab({ config }, { ledger: () => new VerdictLedger(join(folder, 'verdicts.jsonl')) });
  const { trainer, clock, ledger } = await lab.trainer;
  const used = (await lab.device) as { name: string; variant?: string; threads?: number };
  const turns: Turn[] = [];
  let batch = batchOf([]);
  clock.take();
  let [spent, graded] = [process.cpuUsage(), childrenSeconds(peerIds)];
  for await (const event of trainer.train()) {
    if (event.kind === 'rollouts') batch = batchOf(event.records);
    if (event.kind !== 'step') continue;
    const [seconds, processor, graders] = [clock.take(), ownSeconds(spent), childrenSeconds(peerIds) - graded];
    ledger.forget();
    const answers: PeerTurn[] = [];
    for (const peer of peers) answers.push(await peer.turn(batch));
    const tokens = batch.rollouts.reduce((sum, rollout) => sum + rollout.tokens.length, 0);
    turns.push({ seconds, processor, graders, tokens, peers: answers });
    clock.take();
    [spent, graded] = [process.cpuUsage(), childrenSeconds(peerIds)];
  }
  rmSync(folder, { recursive: true });
  return { device: [used.name, used.variant, `${used.threads} threads`].join(' '), turns: turns.slice(warmup) };
}

const { device, turns } = await measure();
for (const peer of peers) peer.close();

const middle = (pick: (turn: Turn) => number): number => median(turns.map(pick));
const phases = ['sample', 'grade', 'score', 'route', 'learn', 'other'];
const ours = {
  name: device,
  seconds: Object.fromEntries(phases.map((phase) => [phase, middle(({ seconds }) => seconds[phase] ?? 0)])),
  total: middle(({ seconds }) => sumOf(seconds)),
  processor: middle(({ processor, graders }) => processor + graders),
};
const theirs = peers.map(({ threads }, at) => ({
  name: `${words}, ${threads} thread${threads === '1' ? '' : 's'}`,
  seconds: Object.fromEntries(
    ['sample', 'score', 'learn'].map((phase) => [phase, middle((turn) => turn.peers[at].seconds[phase])]),
  ),
  total: middle((turn) => sumOf(turn.peers[at].seconds)),
  processor: middle((turn) => turn.peers[at].processor),
}));
const fastest = theirs.toSorted((a, b) => a.total - b.total)[0];
const counted = fastest === undefined ? -1 : theirs.indexOf(fastest);
const ratios =
  fastest === undefined ? [] : turns.map((turn) => sumOf(turn.peers[counted].seconds) / computed(turn.seconds));
const ratio = ratios.length === 0 ? null : median(ratios);
const gradedShare = middle(({ seconds }) => (seconds['grade'] ?? 0) / sumOf(seconds));
const graders = middle((turn) => turn.graders);
const difference = Math.max(0, ...turns.flatMap((turn) => turn.peers.map(({ logpDifference }) => logpDifference)));
const tokens = middle((turn) => turn.tokens);
const machine = `Node ${process.version}, ${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores, load ${loadavg()[0].toFixed(1)}`;

if (values.json) {
  const found = { ours, theirs, ratios, ratio, gradedShare, graders, difference };
  console.log(JSON.stringify({ machine, recipe: values.recipe, words, tokens, ...found, turns }, null, 2));
} else {
  console.log(`${machine}; ${values.recipe}`);
  console.log(
    `seconds per update, medians of ${turns.length} updates in turns after ${warmup}; ${tokens} sampled tokens an update`,
  );
  console.log(`${''.padEnd(44)}${[...phases, 'total', 'cpu'].map((name) => name.padStart(9)).join('')}`);
  const cell = (value: number | undefined) => (value === undefined ? '-' : value.toFixed(3)).padStart(9);
  for (const { name, seconds, total, processor } of [ours, ...theirs]) {
    console.log(`${name.padEnd(44)}${[...phases.map((phase) => seconds[phase]), total, processor].map(cell).join('')}`);
  }
  console.log(
    `grading: ${(100 * gradedShare).toFixed(1)}% of an update, its processes ${graders.toFixed(3)} s of processor time`,
  );
  if (ratio === null) console.log(words);
  else {
    console.log(`without grading PyTorch takes, in turns: ${ratios.map((each) => each.toFixed(2)).join(' ')}`);
    console.log(
      `times our time, median ${ratio.toFixed(2)}; log-probabilities differ by at most ${difference.toExponential(1)}`,
    );
  }
}
