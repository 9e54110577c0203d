/**
 * Rollouts graded per second on all cores, isolation on, against one fresh interpreter for each check (peers/grader.py),
 * with as many processes side by side, on the same responses: LeetCode problems with about 100 tests each, and micro
 * problems. CPU time is that of the whole process tree. Each set is graded by both in turn, `--rounds` times; the best round
 * of each counts.
 *   node bench/grader.ts [--problems FILE] [--responses N] [--rounds R] [--workers W] [--json]
 * --problems is a file of LeetCode problems with `gt_answer` (docs/formats.md); without one only micro problems are graded.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createGrader } from '../src/env/grader.ts';
import type { Submission } from '../src/env/judge.ts';
import { fenceProgram } from '../src/env/micro/documents.ts';
import { Sandbox } from '../src/env/sandbox/sandbox.ts';
import { SandboxJudge } from '../src/env/sandbox-judge.ts';
import type { Verdict } from '../src/env/verdict.ts';
import { type BenchItem, leetCodeFile, leetCodeItems, microItems } from './grader-responses.ts';
import { childrenSeconds, ownSeconds } from './processor-time.ts';

const peerFile = fileURLToPath(new URL('./peers/grader.py', import.meta.url));
const { values } = parseArgs({
  options: {
    problems: { type: 'string', default: leetCodeFile },
    responses: { type: 'string', default: '200' },
    rounds: { type: 'string', default: '2' },
    workers: { type: 'string', default: String(2 * availableParallelism()) },
    json: { type: 'boolean', default: false },
  },
});
const [responses, rounds, workers] = [values.responses, values.rounds, values.workers].map(Number);

interface Result {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly executions: number;
  readonly correct: readonly boolean[];
  readonly passed: readonly boolean[];
}

async function runOurs(sandbox: Sandbox, items: readonly BenchItem[]): Promise<Result> {
  const verdicts: Verdict[] = [];
  // Each round has a judge of its own: no verdict is remembered from the round before.
  const grader = createGrader(new SandboxJudge(sandbox), { append: (verdict) => verdicts.push(verdict) });
  const rollouts: Submission[] = items.map(({ problem, loophole, code }, index) => ({
    id: `${index}`,
    problem,
    loophole,
    markers: 'original',
    completion: code === null ? 'I do not know.' : fenceProgram(code),
  }));
  const before = { server: childrenSeconds(), node: process.cpuUsage() };
  const start = performance.now();
  await grader.grade(rollouts);
  const seconds = (performance.now() - start) / 1000;
  return {
    seconds,
    cpuSeconds: childrenSeconds() - before.server + ownSeconds(before.node),
    executions: verdicts.reduce((sum, { executions }) => sum + executions, 0),
    correct: verdicts.map(({ correct }) => correct),
    passed: verdicts.map(({ passed }) => passed),
  };
}

function runPeer(items: readonly BenchItem[], folder: string): Result {
  const file = join(folder, 'responses.jsonl');
  const lines = items.map(({ problem, loophole, code, tests }) =>
    JSON.stringify({
      code,
      setup: problem.setupCode,
      tests,
      method: problem.methodName,
      canonical: problem.canonicalSolution,
      loophole,
    }),
  );
  writeFileSync(file, `${lines.join('\n')}\n`);
  return JSON.parse(
    execFileSync('python3', [peerFile, file, String(workers)], { encoding: 'utf8', maxBuffer: 1 << 28 }),
  );
}

function best(results: readonly Result[]): Result {
  return results.reduce((fastest, result) => (result.seconds < fastest.seconds ? result : fastest));
}

function summarize(name: string, items: readonly BenchItem[], ours: Result, peer: Result) {
  const n = items.length;
  const agree = ours.correct.filter((correct, at) => correct === peer.correct[at]).length;
  const round = (value: number, digits = 2) => Number(value.toFixed(digits));
  return {
    set: name,
    responses: n,
    'ours/s': round(n / ours.seconds, 1),
    'peer/s': round(n / peer.seconds, 1),
    'times faster': round(peer.seconds / ours.seconds, 1),
    'ours CPU ms': round((1000 * ours.cpuSeconds) / n),
    'peer CPU ms': round((1000 * peer.cpuSeconds) / n),
    'times less CPU': round(peer.cpuSeconds / ours.cpuSeconds, 1),
    'ours executions': round(ours.executions / n),
    'peer executions': round(peer.executions / n),
    'same "correct"': `${agree} of ${n}`,
    passed: ours.passed.filter(Boolean).length,
  };
}

const folder = mkdtempSync(join(tmpdir(), 'gq-bench-'));
await using sandbox = await Sandbox.start({ workers });
const sets = [
  ['leetcode', await leetCodeItems(responses, values.problems)],
  ['micro', microItems(responses)],
] as const;
const rows = [];
for (const [name, items] of sets) {
  if (items.length === 0) {
    console.log(`${name}: not measured, no problems in ${values.problems}; name a file: --problems FILE.jsonl[.gz]`);
    continue;
  }
  // A grader lives for a whole run: its first programs, which warm it up, are not what is measured.
  await runOurs(sandbox, items);
  const measured: { ours: Result; peer: Result }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    measured.push({ ours: await runOurs(sandbox, items), peer: runPeer(items, folder) });
  }
  rows.push(summarize(name, items, best(measured.map(({ ours }) => ours)), best(measured.map(({ peer }) => peer))));
}
rmSync(folder, { recursive: true });
const { level } = sandbox.report;
if (values.json) console.log(JSON.stringify({ isolation: level, workers, rows }, null, 2));
else for (const row of rows) console.log({ isolation: level, workers, ...row });
