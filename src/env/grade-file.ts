/**
 * Verdicts of a file of responses, a line each in input order, written as soon as all before it are done: the same call goes on after an
 * interruption.
 */
import { existsSync, statSync } from 'node:fs';
import { UserError } from '../base/index.ts';
import { JsonlWriter, readJsonl, sha256 } from '../base/node/index.ts';
import { createGrader } from './grader.ts';
import { type LoadedProblems, loadProblems } from './importers/load.ts';
import type { Judge, Submission } from './judge.ts';
import type { MarkerPolicy } from './loopholes/loophole.ts';
import type { Problem } from './problem.ts';
import type { Response } from './responses.ts';
import { checkProblems } from './soundness.ts';
import type { Verdict } from './verdict.ts';

/** A line of the file: the verdict, and which response it is about. */
export interface GradedLine extends Verdict {
  readonly line: number;
  readonly responseSha256: string;
}

function identify({ problemId, completion, loophole }: Response, markers: MarkerPolicy): string {
  return sha256(JSON.stringify([problemId, loophole, markers, completion]));
}

/** Reads the lines that an earlier call has written; they must be the beginning of this call's output. */
export async function readGraded(
  path: string,
  responses: readonly Response[],
  markers: MarkerPolicy,
): Promise<GradedLine[]> {
  if (!existsSync(path)) return [];
  const fix = 'Name another --out, or begin anew with --force.';
  const lines: GradedLine[] = [];
  for await (const value of readJsonl(path)) {
    const line = value as GradedLine;
    const response = responses[lines.length];
    if (response === undefined || line.responseSha256 !== identify(response, markers)) {
      const expected = `the verdict of response ${lines.length + 1} of this call`;
      throw new UserError({ call: `continue ${path}`, expected, found: 'another one', fix });
    }
    lines.push(line);
  }
  if (lines.length === 0 && statSync(path).size > 0) {
    // A torn last line follows whole ones of this call; alone it is somebody's text without a newline.
    const expected = 'no file, an empty one, or the verdicts of an earlier call';
    throw new UserError({ call: `--out ${path}`, expected, found: 'something else', fix });
  }
  return lines;
}

async function loadNeeded(path: string, responses: readonly Response[]): Promise<LoadedProblems> {
  const { loaded, refused } = await loadProblems(path);
  const wanted = new Set(responses.map(({ problemId }) => problemId));
  const known = new Set(loaded.map(({ problem }) => problem.id));
  const missing = [...wanted].find((id) => !known.has(id));
  if (missing !== undefined) {
    const reason = refused.find(({ id }) => id === missing)?.reason;
    const found = reason === undefined ? `no problem ${missing}` : `problem ${missing} is refused: ${reason}`;
    throw new UserError({ call: `read ${path}`, expected: 'every problem that a response names', found });
  }
  return { loaded: loaded.filter(({ problem }) => wanted.has(problem.id)), refused: [] };
}

/** What is told while responses are graded. */
export interface GradingReports {
  readonly unsound: (id: string, reason: string) => void;
  readonly timed: (done: number, of: number) => void;
  readonly graded: (done: number, of: number) => void;
}

interface GradingSettings {
  /** The file of problems. */
  readonly problems: string;
  readonly out: string;
  readonly markers: MarkerPolicy;
}

/** Every needed problem with its CPU budget. An unsound problem is reported and gets the default budget. */
async function budgetProblems(
  path: string,
  responses: readonly Response[],
  judge: Judge,
  { unsound: report, timed }: GradingReports,
): Promise<ReadonlyMap<string, Problem>> {
  const needed = await loadNeeded(path, responses);
  const { sound, unsound } = await checkProblems(needed, judge, (done) => timed(done, needed.loaded.length));
  for (const { id, reason } of unsound) report(id, reason);
  return new Map([...needed.loaded.map(({ problem }) => problem), ...sound].map((problem) => [problem.id, problem]));
}

/** Grades the responses and appends their lines to the file. */
export async function gradeResponses(
  responses: readonly Response[],
  { problems: path, out, markers }: GradingSettings,
  judge: Judge,
  reports: GradingReports,
): Promise<readonly GradedLine[]> {
  const problems = await budgetProblems(path, responses, judge, reports);
  const rollouts = responses.flatMap(({ problemId: id, loophole, completion }): Submission[] => {
    const problem = problems.get(id);
    return problem === undefined ? [] : [{ id, problem, loophole, markers, completion }];
  });
  using writer = new JsonlWriter(out);
  const lines: GradedLine[] = [];
  const append = (verdict: Verdict) => {
    const response = responses[lines.length];
    const line = { ...verdict, line: response.line, responseSha256: identify(response, markers) };
    writer.append(line);
    lines.push(line);
    reports.graded(lines.length, responses.length);
  };
  await createGrader(judge, { append }).grade(rollouts);
  return lines;
}
