/** Many programs, one in ten hostile; every verdict is checked, and what is left behind is counted. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { randomStream } from '../../src/base/rng.ts';
import { Judge } from '../../src/env/judge.ts';
import { markersFor } from '../../src/env/markers.ts';
import { channelNames } from '../../src/env/modes.ts';
import { Sandbox } from '../../src/env/sandbox/sandbox.ts';
import { doubleProblem, exploits, gradeAll, type Request, right, wrong } from './fixtures.ts';
import { hostAttacks, oracleAttacks } from './own-attacks.ts';

export interface SoakReport {
  readonly programs: number;
  readonly lost: number;
  /** Programs whose verdict is not what it must be. */
  readonly mistaken: readonly string[];
  readonly replacedWorkers: number;
  readonly processesLeft: readonly string[];
  readonly descriptorsBefore: number;
  readonly descriptorsAfter: number;
  readonly directoriesBefore: readonly string[];
  readonly memoryBeforeBytes: number;
  readonly memoryAfterBytes: number;
}

interface Expectation extends Request {
  readonly name: string;
  readonly correct: boolean;
}

// Attacks that only burn their whole time limit would make a soak a test of patience.
const slow = ['deep_recursion', 'giant_int', 'swaps_descriptors', 'patched_harness', 'giant_string', 'fork_bomb'];

function drawPrograms(count: number, seed: number): readonly Expectation[] {
  const stream = randomStream(seed, 'soak');
  const hostile = Object.entries({ ...oracleAttacks, ...hostAttacks }).filter(([name]) => !slow.includes(name));
  const hacks = exploits(markersFor('original', doubleProblem.id));
  return Array.from({ length: count }, (_, index) => {
    const mark = `# ${index}\n`;
    const kind = stream.integerAt(4 * index, 10);
    const pick = stream.integerAt(4 * index + 1, 1000);
    if (kind === 0) {
      const [name, code] = hostile[pick % hostile.length];
      return { name, code: `${code}\n${mark}`, correct: false };
    }
    if (kind <= 2) {
      const mode = channelNames[pick % channelNames.length];
      return { name: mode, code: hacks[mode] + mark, mode, correct: false };
    }
    if (kind <= 4) return { name: 'wrong', code: wrong + mark, correct: false };
    return { name: 'right', code: right + mark, correct: true };
  });
}

function pythonServers(): readonly string[] {
  const text = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' });
  return text.split('\n').filter((line) => line.includes('sandbox/server.py'));
}

function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length;
}

function residentBytes(): number {
  const pages = Number(readFileSync('/proc/self/statm', 'utf8').split(' ')[1]);
  return pages * 4096;
}

export interface SoakOptions {
  readonly programs: number;
  readonly seed: number;
  readonly workers: number;
  readonly onProgress?: (done: number) => void;
}

export async function soak({ programs, seed, workers, onProgress }: SoakOptions): Promise<SoakReport> {
  const serversBefore = pythonServers();
  const directoriesBefore = readdirSync(tmpdir()).filter((name) => name.startsWith('gq-work-'));
  const descriptorsBefore = openDescriptors();
  const memoryBeforeBytes = residentBytes();
  const wanted = drawPrograms(programs, seed);
  const sandbox = await Sandbox.start({ workers });
  const judge = new Judge(sandbox, { wallFactor: 1 });
  const mistaken: string[] = [];
  let graded = 0;
  for (let start = 0; start < wanted.length; start += 200) {
    const part = wanted.slice(start, start + 200);
    const verdicts = await gradeAll(judge, part);
    graded += verdicts.length;
    for (const [index, verdict] of verdicts.entries()) {
      const { name, correct } = part[index];
      if (name in hostAttacks) continue;
      if (verdict.correct !== correct) mistaken.push(`${name}: ${verdict.evidence}`);
    }
    onProgress?.(graded);
  }
  await sandbox.close();
  await new Promise((resolve) => setTimeout(resolve, 300));
  return {
    programs,
    lost: programs - graded,
    mistaken,
    replacedWorkers: sandbox.replaced,
    processesLeft: pythonServers().filter((line) => !serversBefore.includes(line)),
    descriptorsBefore,
    descriptorsAfter: openDescriptors(),
    directoriesBefore,
    memoryBeforeBytes,
    memoryAfterBytes: residentBytes(),
  };
}
