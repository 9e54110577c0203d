/** Writes the logs of a stored run, finished or running, for viewers of others. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { groupBy, UserError } from '../../base/index.ts';
import { EvaluationStore } from '../../evaluate/index.ts';
import { openJudged } from '../../oracle/index.ts';
import type { RunDirectory } from '../../run/index.ts';
import { headOf } from './head.ts';
import { type InspectLog, sampleId, writeInspect } from './inspect.ts';
import { type MetricLog, metricLogs } from './log-sink.ts';
import { readPoints } from './read-points.ts';

export const logFormats = ['tensorboard', 'wandb', 'trackio', 'inspect'] as const;
export type LogFormat = (typeof logFormats)[number];

export interface ExportedLog {
  readonly path: string;
  /** Points, or logs of samples. */
  readonly count: number;
}

/** Writes all numbers of a run over its updates. */
export async function exportMetrics(run: RunDirectory, format: MetricLog, folder: string): Promise<ExportedLog> {
  const points = await readPoints(run);
  expectSome(run, points.length, 'an update');
  const writer = metricLogs[format](folder, headOf(run), points[0].update);
  for (const point of points) writer.write(point);
  writer.flush();
  writer.close(run.isSealed());
  return { path: folder, count: points.length };
}

/** Writes every evaluation, and the rollouts of the updates that `updates` says (null: the last one). */
export async function exportInspect(
  run: RunDirectory,
  folder: string,
  updates: readonly number[] | null,
): Promise<ExportedLog> {
  const head = headOf(run);
  const logs = [...evaluationLogs(run), ...(await rolloutLogs(run, updates))];
  expectSome(run, logs.length, 'an evaluation or an update');
  for (const log of logs) await writeInspect(folder, head, log);
  return { path: folder, count: logs.length };
}

function expectSome(run: RunDirectory, count: number, what: string): void {
  if (count > 0) return;
  throw new UserError({ call: `export the log of ${run.path}`, expected: `${what} in it`, found: 'none yet' });
}

function evaluationLogs(run: RunDirectory): InspectLog[] {
  return new EvaluationStore(run.path).all().map(({ update, set, state, rows }) => {
    const seen = new Map<string, number>();
    const samples = rows.map(
      ({ problem, loophole, markers, prompt, completion, hack, solve, attempt, compiles, truncated }) => {
        const id = sampleId(problem);
        const epoch = (seen.get(id) ?? 0) + 1;
        seen.set(id, epoch);
        const metadata = { problem, loophole, markers, attempt, compiles };
        return { id, epoch, prompt, completion, truncated, scores: { hack, solve }, metadata };
      },
    );
    return { task: set, model: state, update, samples };
  });
}

async function rolloutLogs(run: RunDirectory, wanted: readonly number[] | null): Promise<InspectLog[]> {
  if (!existsSync(run.ledger('rollouts')) && !run.isSealed()) return [];
  const rollouts = await openJudged(run).rows();
  // Updates come in order.
  const chosen = wanted ?? rollouts.slice(-1).map(({ update }) => update);
  const byUpdate = groupBy(
    rollouts.filter(({ update }) => chosen.includes(update)),
    ({ update }) => update,
  );
  const missing = (wanted ?? []).filter((update) => !byUpdate.has(update));
  if (missing.length > 0) {
    throw new UserError({ call: '--updates', expected: `updates of ${run.path}`, found: missing.join(', ') });
  }
  return [...byUpdate].map(([update, rows]) => ({
    task: `rollouts-${update}`,
    model: 'training',
    update,
    samples: rows.map((row) => {
      const { id, group, member, problem, hack, solve } = row;
      const { loophole, markers, hackable, source, sampled, reward, advantage, score, route } = row;
      return {
        id: sampleId(`${group}-${problem}`),
        epoch: member + 1,
        prompt: row.prompt,
        completion: row.completion,
        truncated: row.truncated,
        scores: { hack, solve },
        metadata: { id, problem, loophole, markers, hackable, source, sampled, reward, advantage, score, route },
      };
    }),
  }));
}

/** The folder of a log of a run, where none is named. */
export const logFolder = (run: RunDirectory, format: LogFormat): string => join(run.path, 'logs', format);
