/** What a run of a few updates had to learn from and what it cost, read from its files. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { StepEvent } from '../src/grpo/events.ts';

export interface ArmReport {
  readonly arm: string;
  /** Groups of all updates whose rewards differ, of how many. */
  readonly groupsWithSpread: number;
  readonly groups: number;
  /** Of each update. */
  readonly gradientNorms: readonly number[];
  /** Over all updates: the norms of the gradients of both blocks, and how many rollouts took each route. */
  readonly largestBlockNorms: StepEvent['blockNorms'];
  readonly routes: StepEvent['routes'];
  /** What told rollouts apart: the cuts of a gate, which keeps and routes, or labels, by which a hack is routed and the rest absorbed. */
  readonly gate: 'cuts' | 'labels' | null;
  readonly firstUpdateSeconds: number;
  /** Means over the updates after the first, which also loads kernels, by phase; `other` is mostly the checkpoint. */
  readonly seconds: Readonly<Record<string, number>>;
  readonly gigabytes: number;
}

const total = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);
const linesOf = (path: string) =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

function bytesIn(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return total(entries.map((each) => (each.isFile() ? statSync(join(each.parentPath, each.name)).size : 0)));
}

/** Whether a run was refused, or ended, because others have the GPU's memory. Every log tells how much is free. */
export const foundNoMemory = (log: string): boolean =>
  /fits into .* \(free on |that are free on|left to it now|out of memory/i.test(log);

export function reportOf(run: string, arm: string): ArmReport {
  const steps: StepEvent[] = linesOf(join(run, 'events.jsonl')).filter(({ kind }) => kind === 'step');
  // An update that was trained again after a kill has two lines, and the newer counts.
  const newest = new Map<number, Record<string, number>>(
    linesOf(join(run, 'timings.jsonl')).map(({ update, seconds }) => [update, seconds]),
  );
  const [first, ...later] = [...newest].sort(([a], [b]) => a - b).map(([, phases]) => phases);
  const phases = [...new Set(later.flatMap((each) => Object.keys(each)))];
  const mean = (phase: string): number => total(later.map((each) => each[phase] ?? 0)) / later.length;
  const sumOf = (pick: (step: StepEvent) => number): number => total(steps.map(pick));
  const largest = (block: 'deployed' | 'quarantine'): number =>
    Math.max(...steps.map(({ blockNorms }) => blockNorms[block]));
  const groups = sumOf((step) => step.groups);
  return {
    arm,
    groups,
    groupsWithSpread: groups - sumOf(({ skippedGroups }) => skippedGroups),
    gradientNorms: steps.map(({ gradientNorm }) => gradientNorm),
    largestBlockNorms: { deployed: largest('deployed'), quarantine: largest('quarantine') },
    routes: {
      keep: sumOf(({ routes }) => routes.keep),
      absorb: sumOf(({ routes }) => routes.absorb),
      route: sumOf(({ routes }) => routes.route),
    },
    gate: arm === 'oracle' ? 'labels' : steps.some(({ cuts }) => cuts !== null) ? 'cuts' : null,
    firstUpdateSeconds: total(Object.values(first)),
    seconds: Object.fromEntries(phases.map((phase) => [phase, mean(phase)])),
    gigabytes: bytesIn(run) / 1e9,
  };
}

/** What the arm should have had to learn from and had not, in words. */
export function lacksOf({ arm, groupsWithSpread, gradientNorms, gate, routes }: ArmReport): string[] {
  const lacks: string[] = [];
  if (groupsWithSpread === 0) lacks.push(`${arm}: no group had different rewards`);
  if (!gradientNorms.every((norm) => norm > 0)) lacks.push(`${arm}: an update had no gradient`);
  const others = gate === 'cuts' ? 'keep' : 'absorb';
  if (gate !== null && (routes[others] === 0 || routes.route === 0)) {
    lacks.push(
      `${arm}: its gate routed ${routes.route} rollouts, and the route ${others} was taken by ${routes[others]}`,
    );
  }
  return lacks;
}

export function armTable(arms: readonly ArmReport[]): string {
  const phases = ['sample', 'grade', 'score', 'learn', 'other'];
  const head = ['arm', 'groups with spread', 'gradient norm, by update', 'keep', 'absorb', 'route'];
  const rows = arms.map((each) => [
    each.arm,
    `${each.groupsWithSpread} of ${each.groups}`,
    each.gradientNorms.map((norm) => norm.toPrecision(3)).join(' '),
    ...[each.routes.keep, each.routes.absorb, each.routes.route].map(String),
    ...phases.map((phase) => (each.seconds[phase] ?? 0).toFixed(2)),
    total(Object.values(each.seconds)).toFixed(2),
    each.firstUpdateSeconds.toFixed(2),
    each.gigabytes.toFixed(3),
  ]);
  const columns = [...head, ...phases.map((phase) => `${phase} s`), 'an update s', 'the first s', 'GB a run'];
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(columns), line(columns.map(() => '---')), ...rows.map(line)].join('\n');
}
