/**
 * Finds the Python that runs programs, by name or path: 3.9 or newer. It is asked (probe.py) for its real executable, its
 * version, and the shared libraries that its modules load.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { UserError } from '../../base/index.ts';

export interface Python {
  /** Path of the interpreter itself, not of a shim that needs environment variables. */
  readonly executable: string;
  readonly version: readonly [number, number, number];
  /** Paths of the shared libraries that the standard library can load; programs see these and no others. */
  readonly libraries: readonly string[];
}

const oldest = [3, 9] as const;
const answerLimitMs = 20_000;
/** Characters of an answer that are read. */
const mostAnswer = 2 ** 20;
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

const found = new Map<string, Python>();

/** A Python that answered once in this process is not asked again, as long as the name leads to it by the same PATH. */
export async function findPython(name = 'python3', signal?: AbortSignal): Promise<Python> {
  const key = JSON.stringify([name, process.env['PATH']]);
  const python = found.get(key) ?? (await askPython(name, signal));
  signal?.throwIfAborted();
  found.set(key, python);
  return python;
}

async function askPython(name: string, signal?: AbortSignal): Promise<Python> {
  const call = `start the sandbox with ${name}`;
  const expected = `Python ${oldest.join('.')} or newer`;
  const fix = 'Install python3, or name another one: environment.python in the config, --python on the command line.';
  const answer = await runProbe(name, signal).catch((cause: Error) => {
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

/** What the probe prints. It has a process group of its own, so that Ctrl-C at a terminal ends the command and not the probe before it. */
function runProbe(name: string, signal?: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const stdio = ['ignore', 'pipe', 'ignore'] as const;
    const child = spawn(name, ['-I', '-S', '-B', probeFile], {
      stdio: [...stdio],
      detached: true,
      killSignal: 'SIGKILL',
      ...(signal === undefined ? {} : { signal }),
    });
    // The limit that spawn itself offers holds up the end of this process where nothing could be started.
    const limit = setTimeout(() => child.kill('SIGKILL'), answerLimitMs);
    let answer = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (answer = (answer + text).slice(0, mostAnswer)));
    child.on('error', (error) => {
      clearTimeout(limit);
      reject(error);
    });
    child.on('close', (code, signal) => {
      clearTimeout(limit);
      if (code === 0) resolve(answer);
      else reject(new Error(`Command failed: ${name} -I -S -B ${probeFile} (${signal ?? code})`));
    });
  });
}
