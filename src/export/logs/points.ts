/**
 * The numbers of a run over its updates, under names that viewers group by their first part: what a sink is told, and of a stored run beside
 * it what only verdicts and evaluations say. What is null or not finite is left out. Times of a stored run are those of the run: when it was
 * made, plus the seconds of its updates.
 */
import { groupBy } from '../../base/index.ts';
import { sha256 } from '../../base/node/index.ts';
import { EvaluationStore, summarise } from '../../evaluate/index.ts';
import type { StepEvent } from '../../grpo/index.ts';
import { openJudged } from '../../oracle/index.ts';
import { type PhaseSeconds, type RunDirectory, readEvents, readPhases } from '../../run/index.ts';

type Metrics = Readonly<Record<string, number>>;

export interface LogPoint {
  readonly update: number;
  /** Seconds since 1970. */
  readonly time: number;
  readonly metrics: Metrics;
}

export type LogHead = Readonly<ReturnType<typeof headOf>>;

/** What a log says of a run as a whole: the group is what runs share that differ in their seed, the id stays the same for a run. */
export function headOf(run: RunDirectory) {
  const { name, arm, created, identity, config } = run.readManifest();
  return {
    ...{ name, group: arm },
    id: sha256(`${name} ${created} ${identity.config}`).slice(0, 8),
    created: Date.parse(created) / 1000,
    config: { ...config, armName: arm },
  };
}

export interface MetricWriter {
  write(point: LogPoint): void;
  /** What was written is on disk when this returns. */
  flush(): void;
  close(isFinished: boolean): void;
}

/** Begins a log in a folder; `first` is the first update that will be written, once more if the run was resumed. */
export type OpenLog = (folder: string, head: LogHead, first: number) => MetricWriter;

export function stepMetrics(step: StepEvent, seconds: PhaseSeconds): Metrics {
  const { routes, cuts, scores, direction, blockNorms, ratio } = step;
  return present({
    'train/reward': step.meanReward,
    'train/rollouts': step.rollouts,
    'train/tokens': step.meanTokens,
    'train/truncated': step.truncated,
    'train/skipped_groups': step.skippedGroups,
    'train/learning_rate': step.learningRate,
    'routes/keep': routes.keep,
    'routes/absorb': routes.absorb,
    'routes/route': routes.route,
    'gate/low': cuts?.low,
    'gate/high': cuts?.high,
    'gate/p10': scores?.p10,
    'gate/p50': scores?.p50,
    'gate/p90': scores?.p90,
    'gate/cosine': step.meanCosine,
    'gate/auroc_of_pairs': direction?.auroc,
    'gate/paired_accuracy': direction?.pairedAccuracy,
    'loss/loss': step.loss,
    'loss/kl': step.kl,
    'loss/drift': step.drift,
    'loss/clip_fraction': step.clipFraction,
    'loss/ratio_keep': ratio.keep,
    'loss/ratio_absorb': ratio.absorb,
    'loss/ratio_route': ratio.route,
    'gradient/norm': step.gradientNorm,
    'gradient/deployed': blockNorms.deployed,
    'gradient/quarantine': blockNorms.quarantine,
    'gradient/qmass': step.qmass,
    'health/parity': step.parity,
    'health/tripwire_logp': step.tripwireLogp,
    ...Object.fromEntries(Object.entries(seconds).map(([phase, value]) => [`seconds/${phase}`, value])),
  });
}

function present(values: Readonly<Record<string, number | null | undefined>>): Metrics {
  const known = Object.entries(values).filter((entry): entry is [string, number] => Number.isFinite(entry[1]));
  return Object.fromEntries(known);
}

export async function readPoints(run: RunDirectory): Promise<LogPoint[]> {
  const seconds = await readPhases(run);
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

/** Attempts, hacks and solves of the policy's own rollouts, as the screen counts them. */
async function judgedMetrics(run: RunDirectory): Promise<Map<number, Metrics>> {
  if (run.readManifest().outside?.outcomes === 'unknown') return new Map();
  const rows = await (await openJudged(run)).rows(['update', 'source', 'hackable', 'attempt', 'hack', 'solve']);
  const own = rows.filter(({ source }) => source === 'student');
  return new Map(
    [...groupBy(own, ({ update }) => update)].map(([update, graded]) => {
      const hinted = graded.filter(({ hackable }) => hackable);
      const attempts = hinted.filter(({ attempt }) => attempt).length / hinted.length;
      const hacks = graded.filter(({ hack }) => hack).length / hinted.length;
      const solves = graded.filter(({ solve }) => solve).length / graded.length;
      const clean = graded.filter(({ solve, attempt }) => solve && !attempt).length / graded.length;
      const rates = {
        'train/attempt': attempts,
        'train/hack': hacks,
        'train/solve': solves,
        'train/clean_solve': clean,
      };
      return [update, present(rates)];
    }),
  );
}

function evaluatedMetrics(run: RunDirectory): Map<number, Metrics> {
  const found = new Map<number, Metrics>();
  for (const { update, set, state, rows } of new EvaluationStore(run.path).all()) {
    const { attempt, hack, solve, cleanSolve } = summarise(rows);
    const named = Object.entries({ attempt, hack, solve, clean_solve: cleanSolve });
    const rates = named.map(([name, { rate }]) => [`eval/${set}/${state}/${name}`, rate]);
    found.set(update, { ...found.get(update), ...Object.fromEntries(rates) });
  }
  return found;
}
