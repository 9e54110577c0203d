/**
 * All measurements of a run. A measurement is one folder: its numbers, and `measurement.ts`, which says what it can be asked and how its
 * numbers are shown; a line in the list below makes it a command. A file is loaded when its measurement is used.
 */
import type { z } from 'zod';
import type { Warn } from '../../lab/index.ts';
import type { RunDirectory } from '../../run/index.ts';
import type { Table } from '../table.ts';

export interface Measurement<Options extends z.ZodObject = z.ZodObject, Found extends object = object> {
  readonly run: string;
  readonly answer: string;
  /** Options of its command: whole numbers, words, and lists of words; `takes` of a key's meta is what stands for its value. */
  readonly options: Options;
  readonly examples: readonly string[];
  readonly exits?: Readonly<Record<number, string>>;
  measure(run: RunDirectory, options: z.infer<Options>, warn: Warn): Promise<Found>;
  /** The answer in JSON; all that was found when absent. */
  json?(found: Found): object;
  show(found: Found, run: RunDirectory, width: number): readonly (string | Table)[];
  isNo?(found: Found): boolean;
}

export const defineMeasurement = <Options extends z.ZodObject, Found extends object>(
  measurement: Measurement<Options, Found>,
): Measurement => measurement as unknown as Measurement;

export function runLine(run: RunDirectory): string {
  const { arm, config } = run.readManifest();
  return `${run.path}: ${arm}, seed ${config.seed}`;
}

export interface ListedMeasurement {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<Measurement>;
}

const list = (name: string, summary: string, load: ListedMeasurement['load']) => ({ name, summary, load });

export const measurements: readonly ListedMeasurement[] = [
  list('gate', 'judge the gate of a run as a classifier', async () => (await import('../gate/measurement.ts')).gate),
  list(
    'monitor',
    'judge the monitor of a run as a classifier',
    async () => (await import('../monitor/measurement.ts')).monitor,
  ),
  list(
    'evasion',
    "split a monitor's scores: the same texts read by base and policy",
    async () => (await import('../evasion/measurement.ts')).evasion,
  ),
  list(
    'replay',
    'show the routes that another gate would have chosen',
    async () => (await import('../replay/measurement.ts')).replay,
  ),
  list(
    'scale',
    'choose how much of the quarantine to deploy, without labels',
    async () => (await import('../scale/measurement.ts')).scale,
  ),
  list(
    'traces',
    'read rollouts of a run in full, loophole by loophole',
    async () => (await import('../traces/measurement.ts')).traces,
  ),
];
