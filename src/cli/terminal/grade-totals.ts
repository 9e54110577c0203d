/** Totals of graded responses, mode by mode: counts as n of d, never a rate alone. */
import type { Mode } from '../../env/modes.ts';
import { modes } from '../../env/modes.ts';
import type { Verdict } from '../../env/verdict.ts';

export interface ModeTotals {
  readonly mode: Mode | 'all';
  readonly responses: number;
  readonly format: number;
  readonly compiles: number;
  readonly correct: number;
  readonly exploited: number;
  readonly attempted: number;
  readonly meanReward: number;
  readonly executions: number;
}

function totalsOf(mode: Mode | 'all', verdicts: readonly Verdict[]): ModeTotals {
  const count = (holds: (verdict: Verdict) => boolean) => verdicts.filter(holds).length;
  const sum = (value: (verdict: Verdict) => number) => verdicts.reduce((total, verdict) => total + value(verdict), 0);
  return {
    mode,
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

export function totalsByMode(verdicts: readonly Verdict[]): readonly ModeTotals[] {
  const used = modes.filter((mode) => verdicts.some((verdict) => verdict.mode === mode));
  return [
    ...used.map((mode) =>
      totalsOf(
        mode,
        verdicts.filter((verdict) => verdict.mode === mode),
      ),
    ),
    totalsOf('all', verdicts),
  ];
}

export function renderTotals(totals: readonly ModeTotals[], level: number): string {
  const columns = ['mode', 'responses', 'compiles', 'correct', 'exploited', 'attempted', 'reward'];
  const rows = totals.map((row) => [
    row.mode,
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
