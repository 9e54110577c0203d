/** `gq grade`: one verdict a line, in input order, as soon as all before it are done, so that the same call goes on. */
import { existsSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { expectWritable } from '../../base/node/index.ts';
import type { LoopholeName, Verdict } from '../../env/index.ts';
import { builtinLoopholes, gradeResponses, namesOf, readGraded, readResponses, SandboxJudge } from '../../env/index.ts';
import { choice, command, flag, needed, word } from '../command.ts';
import { sandboxOptions, startSandbox } from '../sandbox.ts';
import { expectNewFile } from '../shared.ts';
import { Progress } from '../terminal/progress.ts';
import { alignRows } from '../terminal/screen.ts';

export const gradeCommand = command({
  options: {
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
    force: flag('begin anew where --out exists'),
  },
  json: 'the totals as JSON',
  notes: `Loopholes, and the exploit that each pays for:
${builtinLoopholes.map(({ name, summary }) => `  ${name.padEnd(14)} ${summary}`).join('\n')}`,
  examples: [
    'gq grade --problems problems.jsonl.gz --responses responses.jsonl --loophole run_tests --out verdicts.jsonl',
  ],
  exits: { 75: 'interrupted: the verdicts so far are written, and the same call goes on' },
  async run(call, context) {
    const { out, markers, force } = call;
    if (!existsSync(out) || force) expectNewFile(out, '--out', force);
    else expectWritable(`--out ${out}`, dirname(out));
    const responses = await readResponses(call.responses, call.loophole);
    if (force) rmSync(out, { force: true });
    const earlier = await readGraded(out, responses, markers);
    if (earlier.length > 0) context.stderr.write(`gq: ${earlier.length} verdicts exist already; going on after them\n`);
    await using sandbox = await startSandbox(call);
    const graded = await gradeResponses(responses.slice(earlier.length), call, new SandboxJudge(sandbox), {
      unsound: (id, reason) => context.stderr.write(`gq: problem ${id} is unsound: ${reason}\n`),
      timed: Progress.from(context.stderr, 'timed canonical solutions'),
      graded: Progress.from(context.stderr, 'graded'),
    });
    const totals = totalsByLoophole([...earlier, ...graded]);
    const { level } = sandbox.report;
    const value = { out, responses: responses.length, markers, isolation: level, totals };
    return { value, text: (width) => renderTotals(totals, level, width) };
  },
});

type LoopholeTotals = ReturnType<typeof totalsOf>;

function totalsOf(loophole: LoopholeName, verdicts: readonly Verdict[]) {
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
  const within = (name: LoopholeName): Verdict[] => verdicts.filter(({ loophole }) => loophole === name);
  return [...used.map((name) => totalsOf(name, within(name))), totalsOf('all', verdicts)];
}

function renderTotals(totals: readonly LoopholeTotals[], level: number, width: number): string {
  const columns = ['loophole', 'responses', 'compiles', 'correct', 'exploited', 'attempted'] as const;
  const rows = totals.map((row) => [...columns.map((name) => `${row[name]}`), row.meanReward.toFixed(3)]);
  return `${alignRows([[...columns, 'reward'], ...rows], width).join('\n')}\nIsolation level ${level}.\n`;
}
