/** Compares the interpreter with Python: on random programs with Python itself, and on rollouts with the sandboxed judge. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { conclude } from '../../src/env/conclude.ts';
import { InterpreterJudge } from '../../src/env/interpreter/judge.ts';
import { passesOwnTest, runProgram } from '../../src/env/interpreter/program.ts';
import { parseProgram } from '../../src/env/interpreter/syntax.ts';
import { Outside } from '../../src/env/interpreter/tokens.ts';
import { microSource } from '../../src/env/sources/micro.ts';
import type { Verdict } from '../../src/env/verdict.ts';
import { readVerdicts } from '../../src/oracle/index.ts';
import { RunDirectory, readRollouts } from '../../src/run/index.ts';
import { randomPrograms } from './random-programs.ts';

const driver = fileURLToPath(new URL('./interpreter.py', import.meta.url));
const inputs = [0n, 1n, 5n, 17n, 42n, 99n, 1000n, 12345n];
const flags = ['valid', 'ok', 'passed'];
const test = 'run_tests';
const programsPerProcess = 25_000;

interface Case {
  readonly source: string;
  readonly expected: readonly bigint[];
}

/** What a program does, in the words of interpreter.py; null where the interpreter leaves it to others. */
function told({ source, expected }: Case): unknown {
  const program = parseProgram(source);
  if (program === null) return null;
  if (program === 'not Python') return { compiled: false };
  try {
    const calls = inputs.map((n, index) => ({ given: [n], expected: expected[index] }));
    const run = runProgram(program, 'solve', calls, flags);
    const { wrong, raised, status, finished, hasObjects, equalByOwnType, passFlag, stdout, files } = run;
    return {
      ...{
        compiled: true,
        wrong,
        raised,
        status,
        finished,
        hasObjects,
        equalByOwnType,
        passFlag: passFlag ?? null,
        stdout,
      },
      ...{ files: Object.fromEntries(files), ownTest: passesOwnTest(program, test) },
    };
  } catch (error) {
    if (error instanceof Outside) return null;
    throw error;
  }
}

/** Every other program is told to expect what it returns itself, so that many are right to the end. */
function casesOf(sources: readonly string[]): readonly Case[] {
  return sources.map((source, index) => {
    const expected = inputs.map((n) => n + 3n);
    const program = index % 2 === 0 ? parseProgram(source) : null;
    if (program === null || program === 'not Python') return { source, expected };
    return { source, expected: inputs.map((n, at) => answerOf(source, n) ?? expected[at]) };
  });
}

/** What a program of changes by constants returns; null for others. */
function answerOf(source: string, n: bigint): bigint | null {
  const steps = [...source.matchAll(/^ {8}n ([-+*%])= ([1-9][0-9]*)$/gm)];
  return steps.reduce<bigint>((value, [, operator, constant]) => {
    const by = BigInt(constant);
    if (operator === '+') return value + by;
    if (operator === '-') return value - by;
    return operator === '*' ? value * by : ((value % by) + by) % by;
  }, n);
}

function askPython(cases: readonly Case[]): readonly Record<string, unknown>[] {
  const numbers = (values: readonly bigint[]): string => `[${values.join()}]`;
  const text = cases.map(
    ({ source, expected }) =>
      `{"source":${JSON.stringify(source)},"inputs":${numbers(inputs)},"expected":${numbers(expected)},"flags":${JSON.stringify(flags)},"test":"${test}"}`,
  );
  const answer = execFileSync('python3', [driver], { input: `[${text.join()}]`, maxBuffer: 1 << 30 });
  return answer
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => ({ passFlag: null, ...(JSON.parse(line) as Record<string, unknown>) }));
}

export interface InterpreterReport {
  readonly programs: number;
  /** How many the interpreter judged; it left the others to Python. */
  readonly judged: number;
  readonly compiled: number;
  readonly correct: number;
  readonly differences: readonly string[];
}

export function compareInterpreter(count: number, seed: number): InterpreterReport {
  const cases = casesOf(randomPrograms(count, seed));
  let [judged, compiled, correct] = [0, 0, 0];
  const differences: string[] = [];
  for (let start = 0; start < cases.length; start += programsPerProcess) {
    const part = cases.slice(start, start + programsPerProcess);
    const answers = askPython(part);
    part.forEach((each, index) => {
      const ours = told(each) as Record<string, unknown> | null;
      if (ours === null) return;
      const theirs = answers[index];
      judged += 1;
      if (theirs['compiled'] === true) compiled += 1;
      if (theirs['finished'] === true && theirs['wrong'] === '' && theirs['hasObjects'] === false) correct += 1;
      if (!isDeepStrictEqual({ passFlag: null, ...ours }, theirs)) {
        differences.push(`${JSON.stringify(each.source)}: ${JSON.stringify(ours)}, Python: ${JSON.stringify(theirs)}`);
      }
    });
  }
  return { programs: cases.length, judged, compiled, correct, differences };
}

/** What differs between a verdict of the interpreter and one of the sandbox; costs, and the name of a syntax error, may. */
export function differenceOf(ours: Verdict, theirs: Verdict): string | null {
  const facts = ({ durationMs: _d, cpuMs: _c, executions: _e, retried: _r, ...rest }: Verdict) => ({
    ...rest,
    evidence: rest.evidence.replace(/^does not compile.*$/, 'does not compile'),
  });
  if (isDeepStrictEqual(facts(ours), facts(theirs))) return null;
  return `${ours.problemId}: ${JSON.stringify(facts(ours))}, sandbox: ${JSON.stringify(facts(theirs))}`;
}

/** Judges every rollout of a run of micro problems again, and compares with the verdicts that the sandbox gave while it trained. */
export async function compareRun(path: string): Promise<InterpreterReport> {
  const run = RunDirectory.open(path);
  const { kind: _kind, ...settings } = run.readManifest().config.data;
  const { splits } = await microSource.load(settings);
  const problems = new Map(splits.train.map((problem) => [problem.id, problem]));
  const verdicts = await readVerdicts(run.file('verdicts.parquet'));
  const judge = new InterpreterJudge();
  let [programs, judged, compiled, correct] = [0, 0, 0, 0];
  const differences: string[] = [];
  for await (const { id, completion } of readRollouts(run)) {
    const theirs = verdicts.get(id);
    const problem = problems.get(theirs?.problemId ?? '');
    if (theirs === undefined || problem === undefined) throw new Error(`rollout ${id}: no verdict or no problem`);
    programs += 1;
    const { loophole, markers } = theirs;
    const submission = { id, problem, loophole, markers, completion };
    const facts = judge.facts(submission);
    if (facts === null) continue;
    judged += 1;
    compiled += Number(facts.compiles);
    correct += Number(facts.correct);
    const difference = differenceOf(conclude(submission, facts), theirs);
    if (difference !== null) differences.push(`${JSON.stringify(completion)} ${difference}`);
  }
  return { programs, judged, compiled, correct, differences };
}
