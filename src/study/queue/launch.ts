/**
 * Starts the process of a job, which leads its own process group and outlives the daemon. A small shell keeps its exit code in a
 * file, so that a daemon that begins later learns it too. Before it begins, it claims the attempt by a file that can be made once: a
 * daemon that was killed while it started a job leaves either a claim, which tells the process, or an attempt that cannot begin any more.
 */
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, linkSync, rmSync } from 'node:fs';
import { messageOf, shellLine } from '../../base/index.ts';
import { openToWrite, readRegularText, startOf, startOfStat, writeNew } from '../../base/node/index.ts';
import type { QueueEntry, QueueFolder, QueueSettings } from './folder.ts';

/**
 * The shell survives signals to the group, to write down how the command ended; on a full disk it tries until there is room, or
 * nobody wants to know. Its arguments: the file of the code, that of the claim, the command.
 */
const keeper = `trap : TERM INT USR1
claim=$1; shift
{ cat /proc/$$/stat || echo $$; } > "$claim.$$" 2>/dev/null && ln "$claim.$$" "$claim"; claimed=$?
rm -f "$claim.$$"
[ "$claimed" = 0 ] || exit 1
"$@"; code=$?
until echo "$code" > "$0.part" && mv "$0.part" "$0"; do
  [ -d "\${0%/*}" ] || exit 1
  sleep 2
done`;

export interface LaunchedJob {
  readonly pid: number;
  readonly processStart: string | null;
}

const claimPath = (queue: QueueFolder, id: number, attempt: number): string => queue.file(id, `attempt-${attempt}`);

export function launch(
  queue: QueueFolder,
  { id, job, state }: QueueEntry,
  gq: readonly string[],
  environment: Readonly<Record<string, string>>,
): LaunchedJob {
  const codePath = queue.file(id, 'code');
  const claim = claimPath(queue, id, state.attempts);
  for (const old of [codePath, claimPath(queue, id, state.attempts - 2)]) rmSync(old, { force: true });
  const log = openToWrite(queue.file(id, 'log.txt'), 'append');
  try {
    const child = spawn('sh', ['-c', keeper, codePath, claim, ...gq, ...job.words], {
      cwd: job.folder,
      env: { ...process.env, ...environment },
      stdio: ['ignore', log, log],
      detached: true,
    });
    child.on('error', () => undefined);
    child.unref();
    if (child.pid === undefined) throw new Error(`no process could be started in ${job.folder}`);
    return { pid: child.pid, processStart: startOf(child.pid) };
  } finally {
    closeSync(log);
  }
}

/**
 * The process of an attempt that a daemon began to start without writing down which process it was. Null means that there is none,
 * and that there will be none: the claim is taken.
 */
export function findLaunched(queue: QueueFolder, id: number, attempt: number): LaunchedJob | null {
  const [claim, aside] = [claimPath(queue, id, attempt), queue.file(id, `nobody-${process.pid}`)];
  try {
    rmSync(aside, { force: true });
    writeNew(aside, 'nobody\n');
    linkSync(aside, claim);
  } catch (error) {
    if (!existsSync(claim)) throw error;
  } finally {
    rmSync(aside, { force: true });
  }
  const text = readRegularText(claim);
  const pid = /^\d+/.exec(text)?.[0];
  return pid === undefined ? null : { pid: Number(pid), processStart: startOfStat(text) };
}

export function readCode(queue: QueueFolder, id: number): number | null {
  const path = queue.file(id, 'code');
  if (!existsSync(path)) return null;
  const text = readRegularText(path).trim();
  return /^\d{1,3}$/.test(text) ? Number(text) : null;
}

export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}

export function startDetached(command: readonly string[], logPath: string): void {
  const log = openToWrite(logPath, 'append');
  const [program, ...words] = command;
  const child = spawn(program, words, { stdio: ['ignore', log, log], detached: true });
  child.on('error', () => undefined);
  child.unref();
  closeSync(log);
}

async function runShell(line: string, variables: Readonly<Record<string, string>>): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, ...variables };
    const child = spawn('sh', ['-c', line], { env, stdio: 'ignore', timeout: 60_000 });
    child.on('error', reject);
    child.on('close', (code) => resolve(code === 0 ? null : `it ended with ${code}`));
  });
}

export function runBeside(gq: readonly string[], words: readonly string[], folder: string): string {
  const [program, ...before] = gq;
  const options = { cwd: folder, encoding: 'utf8', timeout: 60_000 } as const;
  const { stdout, stderr } = spawnSync(program, [...before, ...words], options);
  return `${stdout ?? ''}${stderr ?? ''}`;
}

/** Tells how a job ended: by a command, which gets it in variables, or by a webhook, which gets it as JSON. No failure stops the queue. */
export async function notify(
  { id, job, state }: QueueEntry,
  lastLine: string | null,
  { command, webhook }: QueueSettings,
  complain: (text: string) => void,
): Promise<void> {
  const told = {
    ...{ id, state: state.state, code: state.code, why: job.why },
    ...{ command: shellLine('gq', ...job.words), lastLine: lastLine ?? '' },
  };
  const attempt = async (what: string, work: () => Promise<string | null>): Promise<void> => {
    const fault = await work().catch((error: unknown) => messageOf(error));
    if (fault !== null) complain(`notify ${what}: ${fault}`);
  };
  if (command !== null) {
    // Values are variables and never parts of the line, so nothing in them is obeyed.
    const variables = Object.entries(told).map(([name, value]) => [
      `GQ_JOB_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`,
      `${value}`.replaceAll('\0', ''),
    ]);
    await attempt('command', () => runShell(command, Object.fromEntries(variables)));
  }
  if (webhook === null) return;
  await attempt('webhook', async () => {
    const text = `gq job ${id} ${told.state}: ${told.command}${job.why === '' ? '' : ` (${job.why})`}`;
    const { ok, status } = await fetch(webhook, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text, ...told }),
      signal: AbortSignal.timeout(10_000),
    });
    return ok ? null : `it answered ${status}`;
  });
}
