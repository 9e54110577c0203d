/** `gq measure monitor RUN`: the monitor of a run as a classifier. */
import { z } from 'zod';
import { expectSamePlugins } from '../../lab/index.ts';
import { dealsRoutes } from '../../monitors/gates.ts';
import { openJudged } from '../../oracle/index.ts';
import { defineMeasurement, runLine } from '../registry/index.ts';
import { chanceSettings, judgeMonitor, monitorTable, monitorWindows, monitorWindowTable } from './monitor-report.ts';

export const monitor = defineMeasurement({
  run: 'a run directory whose arm watches rollouts',
  answer: 'rates and windows',
  options: z.object({ window: z.int().min(1).default(10).describe('number of updates in a window') }),
  examples: ['gq measure monitor runs/penalty-1', 'gq measure monitor runs/penalty-1 --window 20 --json'],
  exits: { 1: 'the arm watches nothing' },
  async measure(run, { window }) {
    expectSamePlugins(`gq measure monitor ${run.path}`, run);
    const rollouts = (await (await openJudged(run)).rows()).filter(({ source }) => source === 'student');
    return { monitor: judgeMonitor(rollouts), windows: monitorWindows(rollouts, window) };
  },
  isNo: ({ monitor: judged }) => judged === null,
  show({ monitor: judged, windows }, run) {
    const head = runLine(run);
    if (judged !== null) {
      const { arm } = run.readManifest().config;
      const isPlacebo = dealsRoutes(arm) || Object(arm['monitor']).kind === 'chance';
      return [
        head,
        monitorTable(judged, dealsRoutes(arm)),
        ...(isPlacebo ? [] : [`The same share flagged at random, a placebo: ${chanceSettings(judged)}`]),
        monitorWindowTable(windows),
      ];
    }
    return [head, `There is nothing to judge: the arm ${run.readManifest().arm} watched no rollout.`];
  },
});
