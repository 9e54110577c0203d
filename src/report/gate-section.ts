/** The gates of a report's runs, one folded part per run: as a classifier, by window of updates, and scores against the cuts. */

import { gateTailsOf } from '../grpo/index.ts';
import { gateWindows, hasGate, monitorWindows } from '../measure/index.ts';
import type { Results } from './aggregate.ts';
import { driftTable, gateTable, windowTable } from './gate-tables.ts';
import { monitorTable, monitorWindowTable } from './monitor-tables.ts';
import type { RunRecords } from './run-results.ts';
import { escapeMarkup, renderTable } from './table.ts';
import { sayOnce } from './tables.ts';

/** Number of updates in a window, the default of `gq gate`. */
const windowUpdates = 10;

const isGated = ({ rollouts, gate, monitor }: RunRecords): boolean =>
  monitor !== null || rollouts.some(({ score }) => score !== null) || hasGate(gate);

export function gateSection({ arms }: Results<RunRecords>): string[] {
  const gated = arms.flatMap(({ arm, runs }) => runs.filter(isGated).map((run) => ({ arm, run })));
  return gated.map(({ arm, run }) => {
    const windows = gateWindows(run.rollouts, windowUpdates, gateTailsOf(run.config.arm));
    const watched =
      run.monitor === null
        ? []
        : [monitorTable(run.monitor), monitorWindowTable(monitorWindows(run.rollouts, windowUpdates))];
    const tables = sayOnce([
      ...watched,
      ...(run.monitor === null || hasGate(run.gate)
        ? [
            gateTable(run.gate, run.gateReinforced),
            windowTable(windows, false),
            windowTable(windows, true),
            driftTable(windows),
          ]
        : []),
    ]);
    const shown = tables.map((table) => `<div class="scroll">${renderTable(table, 'html')}</div>`).join('\n');
    const summary = escapeMarkup(`${arm}, seed ${run.seed}`);
    return `<details${gated.length === 1 ? ' open' : ''}><summary>${summary}</summary>\n${shown}</details>`;
  });
}
