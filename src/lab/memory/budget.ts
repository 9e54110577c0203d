/** Compares a memory plan with a budget: the table that is shown before the first update, and the error that says what to lower. */
import { UserError } from '../../base/index.ts';
import type { RunConfig } from '../../run/index.ts';
import type { MemoryPart, MemoryPlan } from './plan.ts';

function gibibytes(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(2)} GiB`;
}

export interface Budget {
  readonly bytes: number;
  /** Where the budget comes from, such as `in device.arenaMiB` or `free on NVIDIA H200`. */
  readonly source: string;
}

export function renderPlan({ standing, phases, marginBytes, totalBytes }: MemoryPlan, budget: Budget): string {
  const largest = largestPhase(phases);
  const rows: [string, number, string][] = [
    ...standing.map(({ name, bytes }): [string, number, string] => [name, bytes, '']),
    ...phases.map((part): [string, number, string] => [
      part.name,
      part.bytes,
      part === largest ? 'the largest phase, which counts' : 'not at the same time',
    ]),
    ['margin', marginBytes, ''],
    ['planned', totalBytes, ''],
    ['left', budget.bytes - totalBytes, `of ${gibibytes(budget.bytes)} ${budget.source}`],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, bytes, note]) =>
    `  ${name.padEnd(width)} ${gibibytes(bytes).padStart(11)}  ${note}`.trimEnd(),
  );
  return `memory of the device\n${lines.join('\n')}`;
}

export function assertFits(plan: MemoryPlan, budget: Budget, config: RunConfig): void {
  if (plan.totalBytes <= budget.bytes) return;
  const { standing, phases, totalBytes, marginBytes } = plan;
  const parts = [...standing, largestPhase(phases), { name: 'margin', bytes: marginBytes }];
  throw new UserError({
    call: 'memory of the device',
    expected: `a run that fits into ${gibibytes(budget.bytes)} (${budget.source})`,
    found: `one that needs ${gibibytes(totalBytes)}: ${parts.map(({ name, bytes }) => `${name} ${gibibytes(bytes)}`).join(', ')}`,
    fix: adviceFor(plan, budget, config),
  });
}

function largestPhase(phases: readonly MemoryPart[]): MemoryPart {
  return phases.reduce((most, part) => (part.bytes > most.bytes ? part : most));
}

function adviceFor({ standing, phases, marginBytes }: MemoryPlan, budget: Budget, config: RunConfig): string {
  const room = budget.bytes - marginBytes - standing.reduce((sum, { bytes }) => sum + bytes, 0);
  if (room <= 0) {
    return 'The weights, the adapter and the optimiser alone need more than that: use a smaller model, lower adapter.rank, or use a GPU with more memory.';
  }
  const { compute, sampling } = config;
  const tooLarge = phases.filter(({ bytes }) => bytes > room);
  const advice = tooLarge.map(({ name, bytes }) => {
    const share = room / bytes;
    if (name === 'sampling') {
      const rows = Math.floor(sampling.promptsPerStep * share);
      return `lower sampling.promptsPerStep to about ${Math.max(1, rows)} (now ${sampling.promptsPerStep}), or sampling.group or sampling.maxNewTokens`;
    }
    const tokens = Math.max(1, Math.floor((compute.tokensPerPass * share) / 256)) * 256;
    const again = compute.recompute || name === 'scoring' ? '' : ', or set compute.recompute = true';
    return `for ${name} lower compute.tokensPerPass to about ${tokens} (now ${compute.tokensPerPass})${again}`;
  });
  const sentence = `${advice.join('; ')}.`;
  return `${sentence[0].toUpperCase()}${sentence.slice(1)}`;
}
