/** Totals of graded responses for each loophole, as counts n of d. */
import type { LoopholeName, Verdict } from '../../env/index.ts';
import { builtinLoopholes, namesOf } from '../../env/index.ts';

export interface LoopholeTotals {
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

export function totalsByLoophole(verdicts: readonly Verdict[]): readonly LoopholeTotals[] {
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

export function renderTotals(totals: readonly LoopholeTotals[], level: number): string {
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
