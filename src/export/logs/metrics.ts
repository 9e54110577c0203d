/** The numbers of a run over its updates, under names that viewers group by their first part. What is null or not finite is left out. */
import type { StepEvent } from '../../grpo/index.ts';
import type { PhaseSeconds } from '../../run/index.ts';

export type Metrics = Readonly<Record<string, number>>;

export interface LogPoint {
  /** Updates completed. */
  readonly update: number;
  /** Seconds since 1970. */
  readonly time: number;
  readonly metrics: Metrics;
}

/** What a log says about the run as a whole. */
export interface LogHead {
  readonly name: string;
  /** What runs that differ only in their seed share. */
  readonly group: string;
  /** Eight digits that stay the same for a run. */
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly config: Readonly<Record<string, unknown>>;
}

/** A log that grows by points. */
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

export function present(values: Readonly<Record<string, number | null | undefined>>): Metrics {
  const known = Object.entries(values).filter((entry): entry is [string, number] => Number.isFinite(entry[1]));
  return Object.fromEntries(known);
}
