/**
 * Ranks that fail: killed at random moments, stopped so that they hang, started with another config, without a usable setting. Every
 * time all ranks must end within a minute with a message that names the rank, leave a run that goes on, and end in the same bytes.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { randomStream } from '../../src/base/index.ts';
import { gqProgram } from '../gq-command.ts';
import { tinySettings } from '../smoke/lab.ts';
import { fingerprint } from './fingerprint.ts';
import { type Ended, runMpirun, startMpirun } from './mpirun.ts';

const mostSeconds = 60;
const updates = 24;

const settings = [
  ...tinySettings,
  'parallel.shards=8',
  `updates=${updates}`,
  'sampling.promptsPerStep=8',
  'sampling.maxNewTokens=24',
  'device.variant=plain',
  'output.checkpointEvery=2',
  'arm.kind=activation',
  'arm.warmupRows=4',
];

export interface Home {
  readonly model: string;
  readonly folder: string;
}

export const begin = ({ model }: Home, path: string, others: readonly string[] = []): string[] => [
  'train',
  ...['--model', model, '--out', path, '--json'],
  ...[...settings, ...others].flatMap((setting) => ['--set', setting]),
];

/** The command that begins the run, or goes on with it. */
function command(home: Home, path: string): string[] {
  return existsSync(join(path, 'manifest.json')) ? ['train', '--resume', path, '--json'] : begin(home, path);
}

const sleep = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

const program = gqProgram();

/** The bytes of the run when nothing fails. */
export async function unbroken(home: Home): Promise<string> {
  const path = join(home.folder, 'unbroken');
  const { code, err } = await runMpirun({ ranks: 1, program, argv: begin(home, path) });
  if (code !== 0) throw new Error(`the unbroken run ended with ${code}: ${err}`);
  return fingerprint(path);
}

export interface Kills {
  readonly kills: number;
  /** Which rank of how many each kill met. */
  readonly ranks: readonly string[];
  /** Seconds from a kill to the end of all ranks. */
  readonly slowest: number;
  readonly faults: readonly string[];
  readonly bytes: string;
}

/** Kills each rank in turn at random moments, and goes on every time with another number of ranks, until the run is finished. */
export async function killRanks(home: Home, wanted: number, seed: number): Promise<Kills> {
  const path = join(home.folder, `killed-${seed}`);
  const stream = randomStream(seed, 'kills', 0);
  const faults: string[] = [];
  const met: string[] = [];
  let [kills, slowest] = [0, 0];
  for (let i = 0; kills < wanted && i < 3 * wanted; i++) {
    const ranks = [2, 4, 2, 8][i % 4];
    const started = startMpirun({ ranks, program, argv: command(home, path) });
    const rank = i % ranks;
    await sleep(1000 + stream.uniformAt(i) * 1500 * ranks);
    const pid = started.pids().get(rank);
    if (pid === undefined) {
      const { code, err } = await started.ended;
      if (code === 0) break;
      faults.push(`ended by itself with ${code}: ${err.slice(-400)}`);
      continue;
    }
    process.kill(pid, 'SIGKILL');
    const at = performance.now();
    const { code, err } = await started.ended;
    const seconds = (performance.now() - at) / 1000;
    kills++;
    met.push(`${rank} of ${ranks}`);
    slowest = Math.max(slowest, seconds);
    if (seconds > mostSeconds) faults.push(`${seconds} s after rank ${rank} was killed`);
    if (code !== 0 && !new RegExp(`rank ${rank}\\b`).test(err)) faults.push(`no message names rank ${rank}: ${err}`);
  }
  const { code, err } = await runMpirun({ ranks: 4, program, argv: command(home, path) });
  if (code !== 0) faults.push(`the last call ended with ${code}: ${err}`);
  return { kills, ranks: met, slowest, faults, bytes: fingerprint(path) };
}

export interface Stopped {
  readonly name: string;
  readonly ended: Ended;
  /** What is wrong with how it ended; empty if nothing is. */
  readonly faults: readonly string[];
}

export function judge(name: string, ended: Ended, expected: RegExp, seconds = ended.seconds): Stopped {
  const told = ended.err.match(new RegExp(expected, 'g')) ?? [];
  const faults = [
    ...(ended.code === 2 ? [] : [`exit code ${ended.code}`]),
    ...(told.length === 1 ? [] : [`${told.length} messages like ${expected}: ${ended.err}`]),
    ...(seconds <= mostSeconds ? [] : [`${seconds} seconds`]),
  ];
  return { name, ended, faults };
}

/** A rank that stands still is named by the others. */
export async function hangRank(
  home: Home,
  rank: number,
): Promise<Stopped & { readonly bytes: string; readonly seconds: number }> {
  const path = join(home.folder, `hangs-${rank}`);
  const environment = { GQ_PATIENCE: '5' };
  const started = startMpirun({ ranks: 4, program, argv: begin(home, path), environment });
  while (!existsSync(join(path, 'checkpoints', '00002'))) await sleep(100);
  process.kill(started.pids().get(rank) ?? -1, 'SIGSTOP');
  const at = performance.now();
  const ended = await started.ended;
  const seconds = (performance.now() - at) / 1000;
  const stopped = judge(`rank ${rank} hangs`, ended, new RegExp(`rank ${rank} of 4: expected a sign of life`), seconds);
  const { code } = await runMpirun({ ranks: 2, program, argv: command(home, path) });
  return {
    ...stopped,
    seconds,
    faults: code === 0 ? stopped.faults : [...stopped.faults, `resumed: ${code}`],
    bytes: fingerprint(path),
  };
}
