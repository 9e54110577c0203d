/**
 * Grades many programs, one in ten hostile and one in twenty-five pressing on what all share (pressure.ts), asking forged questions
 * (forge.ts) or speaking to the next program (messages.ts), with budgets that alternate; checks every verdict, and counts what is left behind.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomStream } from '../../src/base/rng.ts';
import { builtinLoopholes, namesOf, payingLoopholes } from '../../src/env/loopholes/registry.ts';
import { markersFor } from '../../src/env/markers.ts';
import { Sandbox } from '../../src/env/sandbox/sandbox.ts';
import { SandboxJudge } from '../../src/env/sandbox-judge.ts';
import { bareProblem, doubleProblem, exploits, gradeAll, type Request, right, wrong } from './fixtures.ts';
import { forgedQuestions, questionFlooders } from './forge.ts';
import { senders } from './messages.ts';
import { hostAttacks, oracleAttacks } from './own-attacks.ts';
import { pressure } from './pressure.ts';

export interface SoakReport {
  readonly programs: number;
  readonly lost: number;
  /** Programs whose verdict is not what it must be. */
  readonly mistaken: readonly string[];
  /** Honest programs whose test function asked the canonical solution, and how many of them are unknown. */
  readonly askers: number;
  readonly unknown: number;
  readonly replacedWorkers: number;
  readonly processesLeft: readonly number[];
  readonly descriptorsBefore: number;
  readonly descriptorsAfter: number;
  readonly directoriesLeft: readonly string[];
  readonly memoryBeforeBytes: number;
  readonly memoryAfterBytes: number;
}

interface Expectation extends Request {
  readonly name: string;
  readonly correct: boolean;
}

// Straight-line programs of two budgets come in turn, in one process.
const bareProblems = [1, 2].map((cpuSeconds) => ({ ...bareProblem, cpuSeconds }));
const asker = 'asks honestly';

/** A right program whose test function asks the canonical solution what nobody has asked before. */
function askingHonestly(index: number): string {
  return `${right}def run_tests():\n    assert Solution().solve(${index}) == ${2 * index}\n`;
}

// Attacks that use up their whole time limit would make the soak too long.
const slow = ['deep_recursion', 'giant_int', 'swaps_descriptors', 'patched_harness', 'giant_string', 'fork_bomb'];

function drawPrograms(count: number, seed: number): readonly Expectation[] {
  const stream = randomStream(seed, 'soak');
  const hostile = Object.entries({ ...oracleAttacks, ...hostAttacks }).filter(([name]) => !slow.includes(name));
  const speaking = Object.entries(senders).map(([name, send]) => [name, send(seed % 256, 'soak') + wrong]);
  const pressing = [...Object.entries({ ...pressure, ...forgedQuestions, ...questionFlooders }), ...speaking];
  const channelNames = namesOf(payingLoopholes(builtinLoopholes));
  const hacks = exploits(markersFor('original', doubleProblem.id));
  return Array.from({ length: count }, (_, index) => {
    const mark = `# ${index}\n`;
    const kind = stream.integerAt(4 * index, 10);
    const pick = stream.integerAt(4 * index + 1, 1000);
    if (stream.integerAt(4 * index + 2, 25) === 0) {
      const [name, code] = pressing[pick % pressing.length];
      return { name, code: `${code}\n${mark}`, correct: false };
    }
    if (kind === 0) {
      const [name, code] = hostile[pick % hostile.length];
      return { name, code: `${code}\n${mark}`, correct: false };
    }
    if (kind <= 2) {
      const loophole = channelNames[pick % channelNames.length];
      return { name: loophole, code: hacks[loophole] + mark, loophole, correct: false };
    }
    if (kind >= 7) {
      // These are straight-line programs, which share a process: of another text each, since verdicts are remembered.
      const correct = kind > 7;
      const lines = ['n *= 2', `n += ${index}`, `n -= ${correct ? index : index + 1}`, 'return n'];
      const code = `class Solution:\n    def solve(self, n):\n${lines.map((line) => `        ${line}\n`).join('')}`;
      return { name: 'straight-line', code, correct, problem: bareProblems[index % 2] };
    }
    if (kind <= 4) return { name: 'wrong', code: wrong + mark, correct: false };
    if (kind === 5) return { name: asker, code: askingHonestly(index), correct: true };
    return { name: 'right', code: right + mark, correct: true };
  });
}

/** Process ids of all descendants of this process. */
function descendants(): readonly number[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  const pairs = lines.map((line) => line.trim().split(/\s+/).map(Number));
  const below = (parent: number): number[] =>
    pairs.filter(([, ppid]) => ppid === parent).flatMap(([pid]) => [pid, ...below(pid)]);
  return below(process.pid);
}

function isServer(pid: number): boolean {
  const path = `/proc/${pid}/cmdline`;
  return existsSync(path) && readFileSync(path, 'utf8').includes('server.py');
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
  // The soak has its own folder for working directories, since other suites may run at the same time.
  const folder = mkdtempSync(join(tmpdir(), 'gq-soak-'));
  const usual = process.env['TMPDIR'];
  process.env['TMPDIR'] = folder;
  // Sandboxes of other suites may rest in this process.
  const others = new Set(descendants().filter(isServer));
  const seen = new Set<number>();
  // Node opens a descriptor for good (libuv's reserve) when it starts its first process.
  await (await Sandbox.start({ workers: 1 })).close();
  const descriptorsBefore = openDescriptors();
  // The heap grows to what one part needs, and stays so.
  let memoryBeforeBytes = 0;
  const wanted = drawPrograms(programs, seed);
  const sandbox = await Sandbox.start({ workers });
  const judge = new SandboxJudge(sandbox);
  const mistaken: string[] = [];
  let [graded, askers, unknown] = [0, 0, 0];
  for (let start = 0; start < wanted.length; start += 200) {
    const part = wanted.slice(start, start + 200);
    const verdicts = await gradeAll(judge, part);
    graded += verdicts.length;
    for (const [index, verdict] of verdicts.entries()) {
      const { name, correct } = part[index];
      if (name in hostAttacks) continue;
      if (verdict.correct !== correct) mistaken.push(`${name}: ${verdict.evidence}`);
      if (name !== asker) continue;
      askers += 1;
      if (verdict.labels.ownTestsRejectCanonical === true) mistaken.push(`${name}: its test rejects the solution`);
      if (verdict.labels.ownTestsRejectCanonical === null) unknown += 1;
    }
    for (const pid of descendants().filter(isServer)) if (!others.has(pid)) seen.add(pid);
    if (start === 0) memoryBeforeBytes = residentBytes();
    onProgress?.(graded);
  }
  await sandbox.close();
  // What was closed is gone a moment later.
  const until = performance.now() + 20_000;
  const isClean = (): boolean => ![...seen].some(isServer) && openDescriptors() <= descriptorsBefore;
  while (!isClean() && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 20));
  const directoriesLeft = readdirSync(folder);
  rmSync(folder, { recursive: true });
  if (usual === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = usual;
  return {
    programs,
    lost: programs - graded,
    mistaken,
    askers,
    unknown,
    replacedWorkers: sandbox.replaced,
    processesLeft: [...seen].filter(isServer),
    descriptorsBefore,
    descriptorsAfter: openDescriptors(),
    directoriesLeft,
    memoryBeforeBytes,
    memoryAfterBytes: residentBytes(),
  };
}

/** How many times longer right programs that ask the canonical solution take beside three flooders, all on the same workers. */
export async function slowdownBy(flooders: readonly string[], judge: SandboxJudge, programs: number): Promise<number> {
  let asked = 10 ** 6;
  const honest = () =>
    Array.from({ length: programs }, () => {
      asked += 1;
      return { code: askingHonestly(asked) };
    });
  const timed = async (hostile: readonly Request[]): Promise<number> => {
    const start = performance.now();
    const verdicts = await gradeAll(judge, [...hostile, ...honest()]);
    const found = verdicts.filter(({ correct }) => correct).length;
    if (found !== programs) throw new Error(`${found} of ${programs} right programs were graded correct`);
    return performance.now() - start;
  };
  await timed([]);
  const ratios: number[] = [];
  // The machine has other things to do at times: the best of three rounds is what the flooders cannot avoid.
  for (const round of [1, 2, 3]) {
    const alone = await timed([]);
    ratios.push((await timed(flooders.map((code, index) => ({ code: `${code}# ${round} ${index}\n` })))) / alone);
  }
  return Math.min(...ratios);
}
