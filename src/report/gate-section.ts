/** The gates of a report's runs, one folded part per run: as a classifier, by window of updates, and scores against the cuts. */

import { gateWindows, hasGate, judgeGate, judgeReinforced, monitorWindows } from '../measure/index.ts';
import { gateTailsOf } from '../monitors/index.ts';
import type { Results } from './aggregate.ts';
import { driftTable, gateTable, windowTable } from './gate-tables.ts';
import { monitorTable, monitorWindowTable } from './monitor-tables.ts';
import type { RunResult } from './run-result.ts';
import { escapeMarkup, renderTable, type Table } from './table.ts';
import { sayOnce } from './tables.ts';

/** Number of updates in a window, the default of `gq measure gate`. */
const windowUpdates = 10;

export async function gateSection({ arms }: Results): Promise<string[]> {
  const runs = arms.flatMap((arm) => arm.runs);
  const tables = await Promise.all(runs.map(async (run) => ({ run, own: await gateTables(run) })));
  const gated = tables.filter(({ own }) => own.length > 0);
  return gated.map(({ run: { arm, seed }, own }) => {
    const shown = own.map((table) => `<div class="scroll">${renderTable(table, 'html')}</div>`).join('\n');
    const summary = escapeMarkup(`${arm}, seed ${seed}`);
    return `<details${gated.length === 1 ? ' open' : ''}><summary>${summary}</summary>\n${shown}</details>`;
  });
}

/** Empty for a run that neither watched nor gated a rollout. */
async function gateTables(run: RunResult): Promise<Table[]> {
  const gated = hasGate(run.gate) || (run.monitor === null && run.isScored);
  if (!gated && run.monitor === null) return [];
  const rollouts = await run.rollouts();
  const windows = gateWindows(rollouts, windowUpdates, gateTailsOf(run.config.arm));
  return sayOnce([
    ...(run.monitor === null
      ? []
      : [monitorTable(run.monitor), monitorWindowTable(monitorWindows(rollouts, windowUpdates))]),
    ...(gated
      ? [
          gateTable(judgeGate(rollouts), judgeReinforced(rollouts)),
          windowTable(windows, false),
          windowTable(windows, true),
          driftTable(windows),
        ]
      : []),
  ]);
}
