/** What results say of the flags of monitors: which arms flagged nothing, and how well the flags of the others find attempts. */
import { findIdle, type Idle, idleText } from '../monitors/idle.ts';
import type { ArmResults, Results } from './aggregate.ts';
import { sampleOf } from './aggregate.ts';
import { isDealt } from './training-tables.ts';

/** One line for each arm that acted on nothing in some of its runs, with their seeds where others did act. */
export function describeIdle({ arms }: Pick<Results, 'arms'>): string[] {
  return arms.flatMap(({ arm, runs, hasQuarantine }) => {
    const found = runs.flatMap(({ seed, steps, config }): { readonly seed: number; readonly idle: Idle }[] => {
      const idle = findIdle(steps, { arm: config.arm, hasQuarantine });
      return idle === null ? [] : [{ seed, idle }];
    });
    if (found.length === 0) return [];
    const sum = (name: 'updates' | 'rollouts'): number => found.reduce((total, { idle }) => total + idle[name], 0);
    const text = idleText({ ...found[0].idle, updates: sum('updates'), rollouts: sum('rollouts') });
    const which =
      found.length === runs.length
        ? ''
        : ` (${found.length === 1 ? 'seed' : 'seeds'} ${found.map(({ seed }) => seed).join(', ')})`;
    return [`Warning: ${arm}${which}: ${text}.`];
  });
}

/** Mean AUROCs below this are called about chance, which is 0.5, or below: a word for the reader, and no test. */
const chanceAuroc = 0.55;

/** Against attempts, means over seeds; flags by chance and flags that were not what was routed say nothing of a monitor. */
export function flagFacts({ results: { arms } }: { readonly results: Results }) {
  const judged = arms.flatMap((own) => {
    const rate = (value: (run: ArmResults['runs'][number]) => number | null | undefined): number | null =>
      sampleOf(own.runs, (run) => value(run) ?? null)?.mean ?? null;
    const recall = rate(({ monitor }) => monitor?.attempts.recall?.rate);
    const falseFlags = rate(({ monitor }) => monitor?.attempts.falsePositiveRate?.rate);
    const auroc = rate(({ monitor }) => monitor?.attempts.separation?.auroc);
    const isChance = Object(own.runs[0].config.arm['monitor']).kind === 'chance';
    if (recall === null || falseFlags === null || isChance || isDealt(own)) return [];
    return [{ arm: own.arm, recall, falseFlags, auroc }];
  });
  return judged.length === 0 ? [] : [{ judged }];
}

export function flagText({ judged }: ReturnType<typeof flagFacts>[number]): string {
  const parts = judged.map(({ arm, recall, falseFlags, auroc }) => {
    const meaning = auroc !== null && auroc < chanceAuroc ? ': about chance or below' : '';
    const separated = auroc === null ? '' : ` (AUROC ${auroc.toFixed(2)}${meaning})`;
    return `${arm}: recall ${recall.toFixed(2)}, false flags ${falseFlags.toFixed(2)}${separated}`;
  });
  return `Flags of attempts while training: ${parts.join('; ')}.`;
}
