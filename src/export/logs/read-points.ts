/**
 * The numbers of a stored run, finished or not, as points of a log: what a sink would have been told, and beside it what only verdicts and evaluations say.
 * Times are those of the run: when it was made, plus the seconds of its updates.
 */
import { existsSync } from 'node:fs';
import { groupBy } from '../../base/index.ts';
import { readJsonl } from '../../base/node/index.ts';
import { EvaluationStore, summarise } from '../../evaluate/index.ts';
import { openJudged } from '../../oracle/index.ts';
import { type PhaseSeconds, type RunDirectory, readEvents } from '../../run/index.ts';
import { type LogPoint, type Metrics, present, stepMetrics } from './metrics.ts';

export async function readPoints(run: RunDirectory): Promise<LogPoint[]> {
  const seconds = await readSeconds(run);
  const judged = await judgedMetrics(run);
  const evaluated = evaluatedMetrics(run);
  const created = Date.parse(run.readManifest().created) / 1000;
  const points: LogPoint[] = [];
  const at0 = evaluated.get(0);
  if (at0 !== undefined) points.push({ update: 0, time: created, metrics: at0 });
  let time = created;
  for await (const event of readEvents(run)) {
    if (event.kind !== 'step') continue;
    const { update } = event;
    const phases = seconds.get(update) ?? {};
    time += Object.values(phases).reduce((sum, value) => sum + value, 0);
    const metrics = { ...stepMetrics(event, phases), ...judged.get(update), ...evaluated.get(update) };
    points.push({ update, time, metrics });
  }
  return points;
}

/** Seconds by phase of each update; of an update that was done twice the newest count. */
async function readSeconds(run: RunDirectory): Promise<Map<number, PhaseSeconds>> {
  const found = new Map<number, PhaseSeconds>();
  const path = run.file('timings.jsonl');
  if (!existsSync(path)) return found;
  for await (const row of readJsonl(path)) {
    const { update, seconds } = row as { update: number; seconds: PhaseSeconds };
    found.set(update, seconds);
  }
  return found;
}

/** Hacks and solves of the policy's own rollouts, as the screen counts them. */
async function judgedMetrics(run: RunDirectory): Promise<Map<number, Metrics>> {
  const rows = await openJudged(run).rows(['update', 'source', 'hackable', 'hack', 'solve']);
  const own = rows.filter(({ source }) => source === 'student');
  return new Map(
    [...groupBy(own, ({ update }) => update)].map(([update, graded]) => {
      const hacks = graded.filter(({ hack }) => hack).length / graded.filter(({ hackable }) => hackable).length;
      const solves = graded.filter(({ solve }) => solve).length / graded.length;
      return [update, present({ 'train/hack': hacks, 'train/solve': solves })];
    }),
  );
}

function evaluatedMetrics(run: RunDirectory): Map<number, Metrics> {
  const found = new Map<number, Metrics>();
  for (const { update, set, state, rows } of new EvaluationStore(run.path).all()) {
    const { hack, solve } = summarise(rows);
    const key = `eval/${set}/${state}`;
    found.set(update, { ...found.get(update), [`${key}/hack`]: hack.rate, [`${key}/solve`]: solve.rate });
  }
  return found;
}
