/**
 * Kills a run at random moments and resumes it each time, through the real command; what it leaves behind must equal, byte for
 * byte, what an unbroken run leaves. Verdicts must be equal but for durations.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256 } from '../../src/base/node/hash.ts';
import { randomStream } from '../../src/base/rng.ts';
import { runCli } from '../../src/cli/program.ts';
import { readVerdicts } from '../../src/oracle/index.ts';
import { gqProgram } from '../gq-command.ts';
import { tinyModel, tinyWith } from '../smoke/lab.ts';

const command = gqProgram();
const silent = { stdout: { write: () => true }, stderr: { write: () => true } };

export interface KillReport {
  readonly kills: number;
  /** The update of the last checkpoint at each kill. */
  readonly resumedFrom: readonly number[];
  readonly differences: readonly string[];
  /** Runs that began anew, the unbroken one and those that were over before their kills too, and the kills of all of them. */
  readonly begun: number;
  readonly allKills: number;
}

export interface KillOptions {
  readonly kills: number;
  readonly updates: number;
  readonly checkpointEvery: number;
  readonly seed: number;
  readonly settings: readonly string[];
}

/** A gate, two epochs and healing, killed at twenty moments. */
export const gatedKills: KillOptions = {
  kills: 20,
  updates: 12,
  checkpointEvery: 2,
  seed: 3,
  settings: [
    'arm.kind=activation',
    'arm.warmupRows=4',
    'arm.tail=0.2',
    'arm.refreshEvery=3',
    'safety.healSteps=1',
    'loss.epochs=2',
  ],
};

/** An adapter that starts from singular vectors, and a step that makes the deletion last, killed three times. */
export const singularKills: KillOptions = {
  kills: 3,
  updates: 6,
  checkpointEvery: 2,
  seed: 5,
  settings: [
    'arm.kind=gradient',
    'arm.warmupRows=4',
    'arm.refreshEvery=3',
    'adapter.family=scorda',
    'lasting.kind=collapse',
    'lasting.components=1',
    'lasting.steps=2',
  ],
};

function start(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [command, 'train', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
}

interface Life {
  /** Exit code; null if the process was killed. */
  readonly code: number | null;
  readonly text: string;
  /** When each update was done, in milliseconds since the process started. */
  readonly stepsAtMs: readonly number[];
}

/** Watches a process to its end; `onStep` is told how many updates it has done. */
async function live(child: ChildProcess, onStep: (steps: number) => void = () => undefined): Promise<Life> {
  const began = performance.now();
  const stepsAtMs: number[] = [];
  let text = '';
  let line = '';
  child.stdout?.on('data', (chunk) => {
    const lines = `${line}${chunk}`.split('\n');
    line = lines.pop() ?? '';
    for (const each of lines) {
      if (!each.startsWith('{"kind":"step"')) continue;
      stepsAtMs.push(performance.now() - began);
      onStep(stepsAtMs.length);
    }
  });
  child.stderr?.on('data', (chunk) => {
    text += chunk;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, text, stepsAtMs }));
  });
}

async function liveToTheEnd(child: ChildProcess): Promise<Life> {
  const life = await live(child);
  if (life.code !== 0) throw new Error(`gq train ended with ${life.code}:\n${life.text}`);
  return life;
}

interface Death {
  /** The kill comes so many updates, then so many milliseconds after the start; at the latest with the next update. */
  readonly steps: number;
  readonly delayMs: number;
}

/** Returns true if the process was killed, false if it came to its own end first. */
async function liveUntil(child: ChildProcess, { steps, delayMs }: Death): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const watch = (done: number): void => {
    if (done === steps) timer = setTimeout(() => child.kill('SIGKILL'), delayMs);
    else if (done > steps) child.kill('SIGKILL');
  };
  watch(0);
  const { code, text } = await live(child, watch);
  clearTimeout(timer);
  if (code !== null && code !== 0) throw new Error(`gq train ended with ${code}:\n${text}`);
  return code === null;
}

function resumeArguments(run: string, fresh: readonly string[]): readonly string[] {
  return existsSync(join(run, 'manifest.json')) ? ['--json', '--resume', run] : fresh;
}

function checkpointsOf(run: string): string[] {
  const folder = join(run, 'checkpoints');
  return existsSync(folder) ? readdirSync(folder).filter((name) => /^\d+$/.test(name)) : [];
}

/** Every file whose bytes follow from the config, and the verdicts without their durations. */
export async function fingerprint(run: string): Promise<Map<string, string>> {
  const files = ['initial.safetensors', 'events.jsonl', 'rollouts.parquet', 'features.f32', 'directions.f32'];
  for (const update of checkpointsOf(run)) {
    for (const name of readdirSync(join(run, 'checkpoints', update))) files.push(join('checkpoints', update, name));
  }
  const prints = new Map(files.map((name) => [name, sha256(readFileSync(join(run, name)))]));
  const verdicts = [...(await readVerdicts(join(run, 'verdicts'))).values()];
  const lasting = verdicts.map(({ durationMs, cpuMs, executions, retried, ...verdict }) => verdict);
  return prints.set('verdicts', sha256(JSON.stringify(lasting)));
}

function compare(found: ReadonlyMap<string, string>, expected: ReadonlyMap<string, string>): string[] {
  const names = new Set([...found.keys(), ...expected.keys()]);
  return [...names].filter((name) => found.get(name) !== expected.get(name));
}

export async function killAndCompare(options: KillOptions): Promise<KillReport> {
  const { kills, updates, checkpointEvery, seed, settings } = options;
  const home = mkdtempSync(join(tmpdir(), 'gq-kill-'));
  try {
    // On a busy machine two processes may time the kernels differently and choose others; plain ones are the same for all.
    const own = [
      'device.variant=plain',
      `updates=${updates}`,
      `output.checkpointEvery=${checkpointEvery}`,
      ...settings,
    ];
    const set = [`model=${await tinyModel()}`, ...tinyWith(...own)].flatMap((setting) => ['--set', setting]);
    const fresh = ['--json', ...set];
    const { stepsAtMs } = await liveToTheEnd(start([...fresh, '--out', join(home, 'whole')]));
    const stepMs = (stepsAtMs[stepsAtMs.length - 1] - stepsAtMs[0]) / (updates - 1);
    /** Kills a run that begins anew; kills come the sooner after an update, the lower the pace. */
    const killRun = async (run: string, pace: number): Promise<number[]> => {
      const stream = randomStream(seed, 'kills');
      const resumedFrom: number[] = [];
      for (let kill = 0; kill <= kills; kill++) {
        const last = Math.max(-1, ...checkpointsOf(run).map(Number));
        const [kind, when] = [stream.uniformAt(2 * kill), stream.uniformAt(2 * kill + 1)];
        // Some kills come during the start, some in an update, some after a checkpoint, and the very last one at the end of the run.
        // Checkpoints are just frequent enough for the kills to spread over the whole run. One is whole for sure when the next begins.
        const behind = last < (kill / kills) * (updates - 2 * checkpointEvery);
        const starting = kill < kills && !behind && kind < 0.6;
        const early = starting ? 0 : behind ? 2 * checkpointEvery : 1;
        const steps = kill === kills ? updates - Math.max(0, last) : early;
        const delayMs = pace * when * (starting ? stepsAtMs[0] : 1.5 * stepMs);
        const child = start(resumeArguments(run, [...fresh, '--out', run]));
        if (await liveUntil(child, { steps, delayMs })) resumedFrom.push(last);
      }
      return resumedFrom;
    };
    let [pace, run] = [1, join(home, 'killed-1')];
    let resumedFrom = await killRun(run, pace);
    let [begun, allKills] = [2, resumedFrom.length];
    // A machine that was busy while the whole run was timed may be faster now, so that a run is over before its kills.
    while (resumedFrom.length < kills) {
      pace /= 2;
      run = join(home, `killed-${pace}`);
      resumedFrom = await killRun(run, pace);
      begun++;
      allKills += resumedFrom.length;
    }
    // The last life needs no process of its own: nobody kills it.
    const ended = await runCli(['train', ...resumeArguments(run, [...fresh, '--out', run])], silent);
    if (ended !== 0) throw new Error(`gq train ended with ${ended} after the last kill`);
    const differences = compare(await fingerprint(run), await fingerprint(join(home, 'whole')));
    return { kills: resumedFrom.length, resumedFrom, differences, begun, allKills };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
