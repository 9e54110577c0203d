/**
 * `gq grade`: grades any responses. It writes one line per response, in input order, as soon as all before it are done, so that
 * the same call continues after an interruption.
 */
import { existsSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { UserError } from '../../base/index.ts';
import { expectWritable, JsonlWriter, readJsonl, sha256 } from '../../base/node/index.ts';
import type { Judge, MarkerPolicy, Problem, Verdict } from '../../env/index.ts';
import {
  builtinLoopholes,
  checkProblems,
  createGrader,
  type LoopholeName,
  loadProblems,
  namesOf,
  type Response,
  readResponses,
  SandboxJudge,
  type Submission,
} from '../../env/index.ts';
import type { Sandbox } from '../../env/sandbox/index.ts';
import { type CallOf, type CommandContext, choice, command, flag, needed, word } from '../command.ts';
import { jsonOption } from '../options.ts';
import { expectNewFile, printAnswer } from '../outputs.ts';
import { expectOneLevel, sandboxOptions, startSandbox, strictOption } from '../sandbox.ts';
import { Progress } from '../terminal/progress.ts';

const options = {
  problems: needed(
    word('<file>', 'problems in the format of the benchmark or of LeetCodeDataset, .jsonl, .jsonl.gz or .parquet'),
  ),
  responses: needed(
    word('<file>', 'JSON lines of {id, completion, loophole?}, where id names the problem; may be .gz'),
  ),
  out: needed(word('<file>', 'file to write, one verdict per line in input order; an unfinished file is continued')),
  loophole: choice('<loophole>', 'the loophole of responses that name none', namesOf(builtinLoopholes)),
  markers: choice('<kind>', 'which names count as markers', ['original', 'novel', 'family'], 'original'),
  ...sandboxOptions,
  strict: strictOption,
  force: flag('begin anew where --out exists'),
  json: jsonOption('the totals'),
};
type GradeCall = CallOf<typeof options>;

export const gradeCommand = command({
  options,
  notes: `Loopholes, and the exploit that each pays for:
${builtinLoopholes.map(({ name, summary }) => `  ${name.padEnd(14)} ${summary}`).join('\n')}`,
  examples: [
    'gq grade --problems problems.jsonl.gz --responses responses.jsonl --loophole run_tests --out verdicts.jsonl',
  ],
  exits: { 75: 'interrupted: the verdicts so far are written, and the same call goes on' },
  async run(call, context) {
    expectOneLevel(call);
    const { out, markers, force } = call;
    if (!existsSync(out) || force) expectNewFile(out, '--out', force);
    else expectWritable(`--out ${out}`, dirname(out));
    const responses = await readResponses(call.responses, call.loophole);
    if (force) rmSync(out, { force: true });
    const earlier = await readEarlier(out, responses, markers);
    if (earlier.length > 0) context.stderr.write(`gq: ${earlier.length} verdicts exist already; going on after them\n`);
    await using sandbox = await startSandbox(call);
    const graded = await gradeRest(responses.slice(earlier.length), call, sandbox, context);
    const totals = totalsByLoophole([...earlier, ...graded]);
    const { level } = sandbox.report;
    const answer = { out, responses: responses.length, markers, isolation: level, totals };
    printAnswer(context, call.json, answer, () => renderTotals(totals, level));
  },
});

/** A line of the output: the verdict, and which response it is about. */
interface GradedLine extends Verdict {
  readonly line: number;
  readonly responseSha256: string;
}

function identify({ problemId, completion, loophole }: Response, markers: MarkerPolicy): string {
  return sha256(JSON.stringify([problemId, loophole, markers, completion]));
}

/** Reads the lines that an earlier call has written; they must be the beginning of this call's output. */
async function readEarlier(path: string, responses: readonly Response[], markers: MarkerPolicy): Promise<GradedLine[]> {
  if (!existsSync(path)) return [];
  const lines: GradedLine[] = [];
  for await (const value of readJsonl(path)) {
    const line = value as GradedLine;
    const response = responses[lines.length];
    if (response === undefined || line.responseSha256 !== identify(response, markers)) {
      throw new UserError({
        call: `continue ${path}`,
        expected: `the verdict of response ${lines.length + 1} of this call`,
        found: 'another one',
        fix: 'Name another --out, or begin anew with --force.',
      });
    }
    lines.push(line);
  }
  if (lines.length === 0 && statSync(path).size > 0) {
    // A torn last line follows whole ones of this call; alone it is somebody's text without a newline.
    throw new UserError({
      call: `--out ${path}`,
      expected: 'no file, an empty one, or the verdicts of an earlier call',
      found: 'something else',
      fix: 'Name another --out, or begin anew with --force.',
    });
  }
  return lines;
}

async function loadNeeded(
  path: string,
  responses: readonly Response[],
): Promise<Awaited<ReturnType<typeof loadProblems>>> {
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

/** Gives every needed problem its CPU budget. An unsound problem is reported and gets the default budget. */
async function budgetProblems(
  path: string,
  responses: readonly Response[],
  judge: Judge,
  { stderr }: CommandContext,
): Promise<ReadonlyMap<string, Problem>> {
  const needed = await loadNeeded(path, responses);
  const progress = new Progress(stderr, 'timed canonical solutions', needed.loaded.length);
  const { sound, unsound } = await checkProblems(needed, judge, (done) => progress.show(done));
  for (const { id, reason } of unsound) stderr.write(`gq: problem ${id} is unsound: ${reason}\n`);
  const byId = new Map(needed.loaded.map(({ problem }) => [problem.id, problem]));
  for (const problem of sound) byId.set(problem.id, problem);
  return byId;
}

async function gradeRest(
  rest: readonly Response[],
  call: GradeCall,
  sandbox: Sandbox,
  context: CommandContext,
): Promise<readonly GradedLine[]> {
  const judge = new SandboxJudge(sandbox);
  const problems = await budgetProblems(call.problems, rest, judge, context);
  const rollouts = rest.map(({ problemId, loophole, completion }): Submission => {
    const problem = problems.get(problemId);
    if (problem === undefined)
      throw new UserError({ call: 'gq grade', expected: `problem ${problemId}`, found: 'none' });
    return { id: problemId, problem, loophole, markers: call.markers, completion };
  });
  using writer = new JsonlWriter(call.out);
  const progress = new Progress(context.stderr, 'graded', rest.length);
  const lines: GradedLine[] = [];
  const append = (verdict: Verdict) => {
    const response = rest[lines.length];
    const line = { ...verdict, line: response.line, responseSha256: identify(response, call.markers) };
    writer.append(line);
    lines.push(line);
    progress.show(lines.length);
  };
  await createGrader(judge, { append }).grade(rollouts);
  return lines;
}

/** Counts n of d. */
interface LoopholeTotals {
  /** The name of a loophole, or `all`. */
  readonly loophole: LoopholeName;
  readonly responses: number;
  readonly format: number;
  readonly compiles: number;
  readonly correct: number;
  readonly exploited: number;
  readonly attempted: number;
  readonly meanReward: number;
  readonly executions: number;
}

function totalsOf(loophole: LoopholeName, verdicts: readonly Verdict[]): LoopholeTotals {
  const count = (holds: (verdict: Verdict) => boolean) => verdicts.filter(holds).length;
  const sum = (value: (verdict: Verdict) => number) => verdicts.reduce((total, verdict) => total + value(verdict), 0);
  return {
    loophole,
    responses: verdicts.length,
    format: count(({ format }) => format),
    compiles: count(({ compiles }) => compiles),
    correct: count(({ correct }) => correct),
    exploited: count(({ exploited }) => exploited),
    attempted: count(({ channels }) => channels.length > 0),
    meanReward: sum(({ reward }) => reward) / Math.max(1, verdicts.length),
    executions: sum(({ executions }) => executions),
  };
}

function totalsByLoophole(verdicts: readonly Verdict[]): readonly LoopholeTotals[] {
  const graded = new Set(verdicts.map(({ loophole }) => loophole));
  const used = [...new Set([...namesOf(builtinLoopholes), ...graded])].filter((loophole) => graded.has(loophole));
  return [
    ...used.map((loophole) =>
      totalsOf(
        loophole,
        verdicts.filter((verdict) => verdict.loophole === loophole),
      ),
    ),
    totalsOf('all', verdicts),
  ];
}

function renderTotals(totals: readonly LoopholeTotals[], level: number): string {
  const columns = ['loophole', 'responses', 'compiles', 'correct', 'exploited', 'attempted', 'reward'];
  const rows = totals.map((row) => [
    row.loophole,
    `${row.responses}`,
    `${row.compiles}`,
    `${row.correct}`,
    `${row.exploited}`,
    `${row.attempted}`,
    row.meanReward.toFixed(3),
  ]);
  const widths = columns.map((name, at) => Math.max(name.length, ...rows.map((row) => row[at].length)));
  const line = (cells: readonly string[]) =>
    cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]) : cell.padStart(widths[at]))).join('  ');
  return `${[columns, ...rows].map(line).join('\n')}\nIsolation level ${level}.\n`;
}
