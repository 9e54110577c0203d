/** Checks as lines for a person, and as JSON. */
import { visibleLine, wrapText } from '../../base/index.ts';
import type { Check } from '../../verify/index.ts';
import { alignRows } from './columns.ts';

const indent = '    ';

function formatDifference(value: number): string {
  return value === 0 ? '0' : Number.isFinite(value) ? value.toExponential(2) : 'none';
}

function differences({ statement, maxAbs, maxRel, bound }: Check): readonly string[] {
  if (statement) return ['', '', ''];
  return [formatDifference(maxAbs), formatDifference(maxRel), bound === 0 ? 'exact' : `${bound}`];
}

/** What is wrong, below the row of its check. */
function problemLines({ pass, problem = '' }: Check, width: number): string[] {
  if (pass || problem === '') return [];
  return wrapText(visibleLine(problem), width - indent.length)
    .split('\n')
    .map((line) => `${indent}${line}`);
}

/** A table of checks, with the number of failures in the last line. Statements have nothing to compare, and no columns for it. */
export function renderChecks(checks: readonly Check[], title: string, width: number): string {
  const compares = checks.some(({ statement }) => statement !== true);
  const header = ['case', 'quantity', ...(compares ? ['max abs', 'max rel', 'bound'] : []), ''];
  const rows = checks.map((check) => [
    check.case,
    check.quantity,
    ...(compares ? differences(check) : []),
    check.pass ? 'pass' : 'FAIL',
  ]);
  const [head, ...aligned] = alignRows([header, ...rows], width);
  const lines = [head, ...aligned.flatMap((row, i) => [row, ...problemLines(checks[i], width)])];
  const failed = checks.filter(({ pass }) => !pass).length;
  const verdict = failed === 0 ? `all ${checks.length} checks pass` : `${failed} of ${checks.length} checks FAIL`;
  return `${[...lines, `${title}: ${verdict}.`].join('\n')}\n`;
}

/** A report as JSON. JSON has no infinity, so an infinite difference is written as the string "Infinity". */
export function checksJson(report: object): string {
  const finite = (_key: string, value: unknown): unknown =>
    typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
  return `${JSON.stringify(report, finite, 2)}\n`;
}
