/** `gq measure gate RUN`: judges the gate as a classifier, from the ledger, the verdicts, the stored features and the directions. */
import { z } from 'zod';
import { counted } from '../../base/index.ts';
import { byTarget, formatRate, type Rate } from '../../evaluate/index.ts';
import { expectSamePlugins } from '../../lab/index.ts';
import { dealsRoutes, gateSettingsOf, gateTailsOf } from '../../monitors/index.ts';
import { type JudgedRollout, openJudged } from '../../oracle/index.ts';
import { type RunDirectory, readCourse, readDirections, readFeatures } from '../../run/index.ts';
import { judgeMonitor, monitorTable, monitorWindows, monitorWindowTable } from '../monitor/monitor-report.ts';
import { defineMeasurement, runLine } from '../registry/index.ts';
import { attributeGradient, attributionWindows } from './attribution.ts';
import { featuredRollouts, idealDirection, randomBand, reportDirections } from './directions.ts';
import { dealtUnchanged, gateWindows, hasGate, judgeGate, judgeReinforced } from './gate-report.ts';
import {
  attributionTable,
  attributionWindowTable,
  bandTable,
  type Controls,
  directionTable,
  driftTable,
  gateTable,
  idealTable,
  windowTable,
} from './tables.ts';

export const gate = defineMeasurement({
  run: 'a run directory',
  answer: 'everything',
  options: z.object({
    window: z.int().min(1).default(10).describe('number of updates in a window'),
    seed: z.int().min(0).default(1000).describe('seed of the random directions'),
  }),
  examples: ['gq measure gate runs/activation-1', 'gq measure gate runs/activation-1 --window 20 --json'],
  exits: { 1: 'the arm neither watches nor gates anything, or its run ended in the warm-up of its gate' },
  async measure(run, { window, seed }) {
    expectSamePlugins(`gq measure gate ${run.path}`, run);
    const rollouts = (await (await openJudged(run)).rows()).filter(({ source }) => source === 'student');
    const { controls, missing } = await controlsOf(run, rollouts, seed);
    const steps = (await readCourse(run)).steps;
    const all = judgeGate(rollouts);
    return {
      all,
      reinforced: judgeReinforced(rollouts),
      controls,
      directions: reportDirections(await readDirections(run), steps, controls.hacks.ideal),
      windows: gateWindows(rollouts, window, gateTailsOf(run.readManifest().config.arm)),
      monitor: judgeMonitor(rollouts),
      monitorWindows: monitorWindows(rollouts, window),
      attribution: attributeGradient(rollouts),
      attributionWindows: attributionWindows(rollouts, window),
      unchangedRoutes: unchangedOf(run, rollouts),
      missing,
      warmup: warmupOf(run, rollouts),
      isGated: hasGate(all) || rollouts.some(({ score }) => score !== null),
    };
  },
  isNo: ({ isGated, monitor }) => !isGated && monitor === null,
  json({ missing: _missing, warmup: _warmup, isGated: _gated, ...found }) {
    const controls = byTarget((_, target) => {
      const { band, ideal } = found.controls[target];
      const fitted = ideal && { fittedOn: 'labels, diagnosis only', ...ideal, direction: undefined };
      return { band, ideal: fitted };
    });
    return { ...found, controls };
  },
  show(found, run) {
    const { all, reinforced, controls, directions, windows, monitor, attribution, isGated } = found;
    const has = (control: keyof Controls): boolean => Object.values(controls).some((own) => own[control] !== null);
    const { unchangedRoutes: same, warmup } = found;
    const nothing = `There is nothing to judge: the arm ${run.readManifest().arm} neither watched nor gated a rollout${warmup}.`;
    const dealt = same === null ? [] : [`Routes that dealing out at random left as they were: ${formatRate(same)}.`];
    return [
      runLine(run),
      ...(isGated || monitor !== null ? found.missing : [nothing]),
      ...dealt,
      ...(monitor === null
        ? []
        : [
            monitorTable(monitor, dealsRoutes(run.readManifest().config.arm)),
            monitorWindowTable(found.monitorWindows),
          ]),
      ...(isGated ? [gateTable(all, reinforced)] : []),
      ...(has('band') ? [bandTable(all, controls)] : []),
      ...(has('ideal') ? [idealTable(all, controls)] : []),
      ...(directions.length === 0 ? [] : [directionTable(directions)]),
      ...(attribution === null
        ? []
        : [attributionTable(attribution), attributionWindowTable(found.attributionWindows)]),
      ...(isGated ? [windowTable(windows, false), windowTable(windows, true)] : []),
      ...(windows.some(({ scores }) => scores !== null) ? [driftTable(windows)] : []),
    ];
  },
});

/** Why a gate without a decision made none, where the run was over too soon: what it goes by are rollouts of earlier updates. */
function warmupOf(run: RunDirectory, rollouts: readonly JudgedRollout[]): string {
  const gate = gateSettingsOf(run.readManifest().config.arm);
  const updates = [...new Set(rollouts.map(({ update }) => update))];
  const earlier = rollouts.filter(({ update }) => update < Math.max(...updates)).length;
  if (gate === null || gate.calibration === 'pairs' || earlier >= gate.warmupRows) return '';
  return `: its ${counted(updates.length, 'update')} were all warm-up, before ${gate.warmupRows} rollouts of earlier updates were in (warmupRows)`;
}

function unchangedOf(run: RunDirectory, rollouts: readonly JudgedRollout[]): Rate | null {
  const gate = gateSettingsOf(run.readManifest().config.arm);
  return gate?.placebo === 'mass-matched' ? dealtUnchanged(rollouts, gate) : null;
}

async function controlsOf(run: RunDirectory, rollouts: readonly JudgedRollout[], seed: number) {
  const without = (reason: string) => ({
    controls: byTarget((): Controls => ({ band: null, ideal: null })),
    missing: [`No random directions and no ideal one: ${reason}.`],
  });
  const { features, config } = run.readManifest();
  const gate = gateSettingsOf(config.arm);
  if (gate === null) return without(`the arm ${config.arm.kind} has no gate on features`);
  const stored = await readFeatures(run);
  if (stored.length === 0) return without('this run stored no features (output.storeFeatures)');
  const shape = { modules: features.modules.length, rank: features.rank, kind: gate.score };
  const controls = byTarget((label): Controls => {
    const labelled = rollouts.map((row) => ({ ...row, hack: row[label] }));
    const featured = featuredRollouts(labelled, stored, shape.modules * shape.rank);
    return { band: randomBand(featured, { ...shape, seed }), ideal: idealDirection(featured, shape) };
  });
  return controls.attempts.band === null && controls.hacks.band === null
    ? without('no update has both attempts, or hacks, and other rollouts')
    : { controls, missing: [] };
}
