/** A regular expression as a monitor: the score of a completion is 1 if the expression matches anywhere in it, else 0. */
import { z } from 'zod';
import { defineMonitor, type MonitorDefinition } from './monitor.ts';

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
  open({ pattern, ignoreCase }) {
    const suspicious = new RegExp(pattern, ignoreCase ? 'mi' : 'm');
    return {
      sees: { features: null, text: true },
      cut: { kind: 'fixed', value: 0.5 },
      score: ({ rollouts }) => rollouts.map(({ text }) => (suspicious.test(text?.completion ?? '') ? 1 : 0)),
    };
  },
});

function compiles(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'm') instanceof RegExp;
  } catch {
    return false;
  }
}
