/**
 * Finds the Python that runs programs, by name or path: 3.9 or newer. It is asked (probe.py) for its real executable, its
 * version, and the shared libraries that its modules load.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { UserError } from '../../base/index.ts';
import { killGroup } from './server-process.ts';

export interface Python {
  /** Path of the interpreter itself, not of a shim that needs environment variables. */
  readonly executable: string;
  readonly version: readonly [number, number, number];
  /** Paths of the shared libraries that the standard library can load; programs see these and no others. */
  readonly libraries: readonly string[];
}

const oldest = [3, 9] as const;
const answerLimitMs = 20_000;
const mostAnswerCharacters = 2 ** 20;
const probeFile = fileURLToPath(new URL('./probe.py', import.meta.url));

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** The answer of probe.py, or null when this is none. */
function readAnswer(text: string): Python | null {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return null;
  }
  if (!Array.isArray(answer) || answer.length !== 3) return null;
  const [executable, version, libraries] = answer as unknown[];
  if (!isText(executable) || !Array.isArray(libraries) || !libraries.every(isText)) return null;
  if (!Array.isArray(version) || version.length !== 3 || !version.every(Number.isSafeInteger)) return null;
  const [major, minor, patch] = version as number[];
  return { executable, version: [major, minor, patch], libraries };
}

/** Whether what was printed so far can become the one line of probe.py. */
function mayBecomeAnswer(text: string): boolean {
  if (text.length > mostAnswerCharacters) return false;
  return !text.trimStart().includes('\n') || readAnswer(text) !== null;
}

const found = new Map<string, Python>();

/** A Python that answered once in this process is not asked again, as long as the name leads to it by the same PATH. */
export async function findPython(name = 'python3', signal?: AbortSignal, limitMs = answerLimitMs): Promise<Python> {
  const key = JSON.stringify([name, process.env['PATH']]);
  const python = found.get(key) ?? (await askPython(name, limitMs, signal));
  signal?.throwIfAborted();
  found.set(key, python);
  return python;
}

async function askPython(name: string, limitMs: number, signal?: AbortSignal): Promise<Python> {
  const call = `start the sandbox with ${name}`;
  if (!existsSync(probeFile)) {
    const fix =
      'The build is incomplete. In a clone: npm run build; in a bundle: keep the package out of it with ' +
      '--external:gradient-quarantine; else install the package again.';
    throw new UserError({ call, expected: `the file ${probeFile}`, found: 'none', fix });
  }
  const expected = `Python ${oldest.join('.')} or newer`;
  const fix = 'Install python3, or name another one: environment.python in the config, --python on the command line.';
  const answer = await runProbe(name, limitMs, signal).catch((cause: Error) => {
    signal?.throwIfAborted();
    throw new UserError({ call, expected, found: cause.message, fix }, { cause });
  });
  const python = readAnswer(answer);
  if (python === null) {
    const found = `an answer that is not Python's: ${JSON.stringify(answer.slice(0, 80))}`;
    throw new UserError({ call, expected, found, fix });
  }
  const [major, minor] = python.version;
  if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
    throw new UserError({ call, expected, found: python.version.join('.'), fix });
  }
  return python;
}

/**
 * What the probe prints. It has a process group of its own, so that Ctrl-C at a terminal ends the command and not the probe before
 * it; one that is late, that prints something else, or that the command does not wait for, is ended with its group, because a child of
 * it may hold the pipe.
 */
function runProbe(name: string, limitMs: number, signal?: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const stdio = ['ignore', 'pipe', 'ignore'] as const;
    const child = spawn(name, ['-I', '-S', '-B', probeFile], { stdio: [...stdio], detached: true });
    let answer = '';
    const stop = (): void => {
      killGroup(child);
      child.stdout?.destroy();
    };
    const end = (why: Error): void => {
      stop();
      reject(why);
    };
    const late = setTimeout(() => end(new Error(`no answer within ${limitMs / 1000} s`)), limitMs);
    const leave = (): void => end(new Error('the start was interrupted'));
    signal?.addEventListener('abort', leave, { once: true });
    const kill = (): void => killGroup(child);
    process.once('exit', kill);
    const settle = (): void => {
      clearTimeout(late);
      process.off('exit', kill);
      signal?.removeEventListener('abort', leave);
    };
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
      if (mayBecomeAnswer(answer)) return;
      stop();
      resolve(answer);
    });
    child.on('error', (error) => {
      settle();
      reject(error);
    });
    child.on('close', (code, killedBy) => {
      settle();
      if (code === 0) resolve(answer);
      else reject(new Error(`Command failed: ${name} -I -S -B ${probeFile} (${killedBy ?? code})`));
    });
  });
}
