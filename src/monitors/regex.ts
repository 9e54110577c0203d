/**
 * A regular expression as a monitor: the score of a completion is 1 if the expression matches anywhere in it, else 0. The policy writes
 * what is searched, and an expression may take longer than anyone can wait for some texts: the search then ends, and the monitor
 * abstains.
 */
import { z } from 'zod';
import { withinLimit } from '../base/node/index.ts';
import { defineMonitor, type Monitor, type MonitorDefinition } from './monitor.ts';

/** A search that computes this long takes exponentially long; others take microseconds. */
const mostMilliseconds = 5000;

export const regexMonitor: MonitorDefinition = defineMonitor({
  kind: 'regex',
  summary: 'a regular expression that is looked for in the completion',
  settings: z.strictObject({
    pattern: z
      .string()
      .min(1)
      .refine(compiles, 'a regular expression of JavaScript')
      .describe('regular expression of JavaScript; ^ and $ match at every line'),
    ignoreCase: z.boolean().default(false).describe('whether letters match in either case'),
  }),
  uses: [],
  usualCut: { kind: 'fixed', threshold: 0.5 },
  scores: 'flags',
  open: ({ pattern, ignoreCase }) => searching(new RegExp(pattern, ignoreCase ? 'mi' : 'm')),
});

/** The monitor of an expression. */
export function searching(expression: RegExp, milliseconds = mostMilliseconds): Monitor {
  const matches = (text: string): boolean | null =>
    withinLimit(() => expression.test(text), milliseconds)?.value ?? null;
  let late = 0;
  return {
    sees: { features: null, text: true },
    score: ({ rollouts }) => {
      const found = rollouts.map(({ text }) => matches(text?.completion ?? ''));
      late = found.filter((answer) => answer === null).length;
      return found.map((answer) => (answer === null ? null : Number(answer)));
    },
    report: () => {
      const abstentions: Readonly<Record<string, number>> = late === 0 ? {} : { late };
      return { abstentions };
    },
  };
}

function compiles(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'm') instanceof RegExp;
  } catch {
    return false;
  }
}
