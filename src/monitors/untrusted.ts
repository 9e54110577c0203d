/**
 * Trust as a monitor (docs/science.md, section 11): it flags every rollout of a prompt that is not sound, so that a screen by it trains on
 * trusted prompts alone, and a route by it trains the quarantine on all others. Which prompts are sound, shown without a hint and graded by
 * ground truth alone, is known to whoever made them; it reads no rollout and no label. The placebo trusts as many prompts of every update,
 * drawn at random.
 */
import { z } from 'zod';
import { randomStream } from '../base/index.ts';
import { defineMonitor, type MonitorDefinition } from './monitor.ts';

export const untrustedMonitor: MonitorDefinition = defineMonitor({
  kind: 'untrusted',
  summary: 'flags every rollout of a prompt that is not sound: what is left is trusted prompts alone',
  settings: z.strictObject({
    placebo: z
      .enum(['none', 'dealt'])
      .default('none')
      .describe('dealt: as many prompts of every update are trusted, drawn at random among all of them'),
  }),
  usualCut: { kind: 'fixed', threshold: 0.5 },
  scores: 'flags',
  placebos: ['dealt'],
  uses: [],
  abstains: false,
  label: ({ placebo }) => `${placebo === 'none' ? '' : 'dealt '}untrusted prompts`,
  open: ({ placebo }, { seed }) => ({
    sees: { features: null, text: false, sound: true },
    score: ({ step, rollouts }) => {
      const sound = new Set(rollouts.filter((rollout) => rollout.sound === true).map(({ group }) => group));
      const trusted = placebo === 'none' ? sound : drawn(rollouts, sound.size, seed, step);
      return rollouts.map(({ group }) => (trusted.has(group) ? 0 : 1));
    },
  }),
});

/** So many of the prompts of an update, by the seed. */
function drawn(
  rollouts: readonly { readonly group: number }[],
  count: number,
  seed: number,
  step: number,
): ReadonlySet<number> {
  const groups = [...new Set(rollouts.map(({ group }) => group))];
  const order = randomStream(seed, 'trusted prompts', step).permutation(groups.length);
  return new Set(Array.from(order.slice(0, count), (i) => groups[i]));
}
