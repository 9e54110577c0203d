/**
 * Checks that problems are sound: the canonical solution must pass the problem's own tests. Its CPU time sets the budget of
 * a sound problem; unsound problems are listed with the reason and are not used.
 */

import { Buffer } from 'node:buffer';
import { gzipSync } from 'node:zlib';
import { mapPool, UserError } from '../base/index.ts';
import { sha256File, writeFileAtomic } from '../base/node/index.ts';
import type { LoadedProblems, RefusedProblem } from './importers/load.ts';
import type { Judge } from './judge.ts';
import { budgetSeconds, type Problem, type ProgramProblem, solutionCompletion } from './problem.ts';

export interface Soundness {
  /** The sound problems, with their CPU budgets. */
  readonly sound: readonly ProgramProblem[];
  readonly unsound: readonly RefusedProblem[];
}

interface Timing {
  /** Why the canonical solution fails the problem's tests; empty when it passes. */
  readonly reason: string;
  readonly cpuSeconds: number;
}

/** Most CPU time that a canonical solution may take: a slower one would leave no room in the largest budget. */
const calibrationSeconds = 20;
const fence = '```';

/** Only programs have one. */
const withBudget = <Kind extends Problem>(problem: Kind, cpuSeconds: number): Kind =>
  'cpuSeconds' in problem ? { ...problem, cpuSeconds } : problem;

/** Judges the canonical solution once, with a generous time limit. */
async function timeCanonical(judge: Judge, problem: Problem): Promise<Timing> {
  if ('tests' in problem && problem.canonicalSolution.includes(fence)) {
    return { reason: 'the canonical solution holds a code fence, which no response can hold', cpuSeconds: 0 };
  }
  const { correct, cpuMs, outcome, evidence } = await judge.judge({
    id: `canonical solution of ${problem.id}`,
    problem: withBudget(problem, calibrationSeconds),
    loophole: 'gt_only',
    markers: 'original',
    completion: solutionCompletion(problem),
  });
  if (correct) return { reason: '', cpuSeconds: budgetSeconds(cpuMs) };
  return { reason: `the canonical solution fails its own tests: ${outcome}, ${evidence}`, cpuSeconds: 0 };
}

async function reasonAgainst(judge: Judge, problem: Problem): Promise<Timing> {
  try {
    return await timeCanonical(judge, problem);
  } catch (error) {
    // A UserError here means that the problem's own setup code fails, which is a fault of the problem.
    if (error instanceof UserError) return { reason: error.message, cpuSeconds: 0 };
    throw error;
  }
}

export interface SoundProblems<Kind extends Problem = Problem> {
  /** The sound problems, with their CPU budgets. */
  readonly sound: readonly Kind[];
  readonly unsound: readonly { readonly id: string; readonly reason: string }[];
}

export async function checkSoundness<Kind extends Problem>(
  problems: readonly Kind[],
  judge: Judge,
  onProgress: (done: number) => void = () => undefined,
): Promise<SoundProblems<Kind>> {
  let done = 0;
  const results = await mapPool(problems, judge.concurrency, async (problem) => {
    const { reason, cpuSeconds } = await reasonAgainst(judge, problem);
    done += 1;
    onProgress(done);
    return { problem: withBudget(problem, cpuSeconds), reason };
  });
  return {
    sound: results.filter(({ reason }) => reason === '').map(({ problem }) => problem),
    unsound: results.flatMap(({ problem: { id }, reason }) => (reason === '' ? [] : [{ id, reason }])),
  };
}

/** Checks the problems of a file, and says on which lines the unsound ones are. */
export async function checkProblems(
  { loaded, refused }: LoadedProblems,
  judge: Judge,
  onProgress?: (done: number) => void,
): Promise<Soundness> {
  const lines = new Map(loaded.map(({ problem, record }) => [problem.id, record.line]));
  const problems = loaded.map(({ problem }) => problem);
  const { sound, unsound } = await checkSoundness(problems, judge, onProgress);
  const failed = unsound.map(({ id, reason }) => ({ id, line: lines.get(id) ?? 0, reason }));
  return { sound, unsound: [...refused, ...failed].sort((a, b) => a.line - b.line) };
}

/** Writes the sound lines unchanged, and beside them a manifest of what was dropped and why. */
export async function writeFiltered(
  source: string,
  target: string,
  loaded: LoadedProblems,
  result: Soundness,
): Promise<string> {
  const sound = new Map(result.sound.map((problem) => [problem.id, problem]));
  const kept = loaded.loaded.filter(({ problem }) => sound.has(problem.id));
  const text = kept.map(({ record }) => `${record.text}\n`).join('');
  await writeFileAtomic(target, target.endsWith('.gz') ? gzipSync(Buffer.from(text)) : text);
  const manifest = {
    source,
    sourceSha256: await sha256File(source),
    sha256: await sha256File(target),
    kept: result.sound.map(({ id, cpuSeconds }) => ({ id, cpuSeconds })),
    dropped: result.unsound,
  };
  const manifestPath = `${target}.manifest.json`;
  await writeFileAtomic(manifestPath, `${JSON.stringify(manifest, null, 2)}\n`);
  return manifestPath;
}
