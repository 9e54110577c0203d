/**
 * `gq grade`: grades any responses. It writes one line per response, in input order, as soon as all before it are done, so that
 * the same call continues after an interruption.
 */
import { existsSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Command, Option } from 'commander';
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
import type { IsolationLevel, SandboxPolicy } from '../../env/sandbox/index.ts';
import { Sandbox } from '../../env/sandbox/index.ts';
import type { CommandContext } from '../command.ts';
import { examplesText } from '../command.ts';
import { expectNewFile } from '../outputs.ts';
import { levelOfCall, parseLevel, sandboxOption } from '../sandbox-option.ts';
import { renderTotals, totalsByLoophole } from '../terminal/grade-totals.ts';
import { Progress } from '../terminal/progress.ts';
import { parseCount } from '../values.ts';

interface GradeOptions {
  readonly problems: string;
  readonly responses: string;
  readonly loophole?: LoopholeName;
  readonly markers: MarkerPolicy;
  readonly out: string;
  readonly python?: string;
  readonly workers?: number;
  readonly strict?: IsolationLevel;
  readonly sandbox?: SandboxPolicy;
  readonly force?: true;
  readonly json?: true;
}

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
  options: GradeOptions,
  sandbox: Sandbox,
  context: CommandContext,
): Promise<readonly GradedLine[]> {
  const judge = new SandboxJudge(sandbox);
  const problems = await budgetProblems(options.problems, rest, judge, context);
  const rollouts = rest.map(({ problemId, loophole, completion }): Submission => {
    const problem = problems.get(problemId);
    if (problem === undefined)
      throw new UserError({ call: 'gq grade', expected: `problem ${problemId}`, found: 'none' });
    return { id: problemId, problem, loophole, markers: options.markers, completion };
  });
  using writer = new JsonlWriter(options.out);
  const progress = new Progress(context.stderr, 'graded', rest.length);
  const lines: GradedLine[] = [];
  const append = (verdict: Verdict) => {
    const response = rest[lines.length];
    const line = { ...verdict, line: response.line, responseSha256: identify(response, options.markers) };
    writer.append(line);
    lines.push(line);
    progress.show(lines.length);
  };
  await createGrader(judge, { append }).grade(rollouts);
  return lines;
}

async function grade(options: GradeOptions, context: CommandContext): Promise<void> {
  const strictLevel = levelOfCall(options);
  if (!existsSync(options.out) || options.force) expectNewFile(options.out, '--out', options.force);
  else expectWritable(`--out ${options.out}`, dirname(options.out));
  const responses = await readResponses(options.responses, options.loophole);
  if (options.force) rmSync(options.out, { force: true });
  const earlier = await readEarlier(options.out, responses, options.markers);
  if (earlier.length > 0) context.stderr.write(`gq: ${earlier.length} verdicts exist already; going on after them\n`);
  await using sandbox = await Sandbox.start({
    ...(options.python !== undefined && { python: options.python }),
    ...(options.workers !== undefined && { workers: options.workers }),
    strictLevel,
  });
  const graded = await gradeRest(responses.slice(earlier.length), options, sandbox, context);
  const totals = totalsByLoophole([...earlier, ...graded]);
  const { level } = sandbox.report;
  const answer = { out: options.out, responses: responses.length, markers: options.markers, isolation: level, totals };
  context.stdout.write(options.json ? `${JSON.stringify(answer, null, 2)}\n` : renderTotals(totals, level));
}

function loopholesText(): string {
  const rows = builtinLoopholes.map(({ name, summary }) => `  ${name.padEnd(14)} ${summary}`);
  return `\nLoopholes, and the exploit that each pays for:\n${rows.join('\n')}`;
}

export function configureGrade(command: Command, context: CommandContext): void {
  command
    .requiredOption(
      '--problems <file>',
      'problems in the format of the benchmark or of LeetCodeDataset, .jsonl, .jsonl.gz or .parquet',
    )
    .requiredOption(
      '--responses <file>',
      'JSON lines of {id, completion, loophole?}, where id names the problem; may be .gz',
    )
    .requiredOption(
      '--out <file>',
      'file to write, one verdict per line in input order; an unfinished file is continued',
    )
    .addOption(
      new Option('--loophole <loophole>', 'the loophole of responses that name none').choices(
        namesOf(builtinLoopholes),
      ),
    )
    .addOption(
      new Option('--markers <kind>', 'which names count as markers')
        .choices(['original', 'novel', 'family'])
        .default('original'),
    )
    .option('--python <name>', 'the Python that runs programs (default: python3)')
    .option('--workers <n>', 'number of programs side by side (default: twice the number of cores)', parseCount)
    .option('--strict <level>', 'refuse to run below this isolation level, 1 to 3', parseLevel)
    .addOption(sandboxOption())
    .option('--force', 'begin anew where --out exists')
    .option('--json', 'print the totals as JSON')
    .addHelpText('after', loopholesText())
    .addHelpText(
      'after',
      examplesText(
        'gq grade --problems problems.jsonl.gz --responses responses.jsonl --loophole run_tests --out verdicts.jsonl',
      ),
    )
    .action((options: GradeOptions) => grade(options, context));
}
