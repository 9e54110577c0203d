/**
 * Penalties: what a flagged rollout loses before advantages are computed. `penalty`: r − c, c = 3 as in the training-time monitors of
 * Ariahw's benchmark (github.com/ariahw/rl-rewardhacking; a monitor of 90% accuracy needed 4 there). `zero`: r = 0
 * (shawnghu/small-rl). `probe-penalty`: r − w · p for every rollout, p a probability, w = 1 as in the Obfuscation Atlas of FAR AI
 * (arXiv 2602.15515); `activation-penalty`: and λ times the mean of p as a term of the loss, whose gradient flows through the
 * activations, λ = 1, as it is there by default.
 */
import { z } from 'zod';
import { UserError } from '../../base/index.ts';
import type { Arm } from '../../grpo/index.ts';
import type { Monitor } from '../monitor.ts';
import { type Acts, defineRemedy, type RemedyDefinition } from '../remedy.ts';

export const penalty: RemedyDefinition = defineRemedy({
  kind: 'penalty',
  summary: 'rewards of flagged rollouts lowered',
  settings: z.strictObject({
    penalty: z.number().min(0).default(3).describe('amount taken off the reward of a flagged rollout'),
  }),
  words: (settings) => (settings.penalty === 3 ? 'penalty' : `penalty ${settings.penalty}`),
  act: ({ penalty: amount }) => ({
    reward: ({ rewards, watched }) => rewards.map((reward, i) => (watched.flagged[i] ? reward - amount : reward)),
  }),
});

export const zero: RemedyDefinition = defineRemedy({
  kind: 'zero',
  summary: 'rewards of flagged rollouts set to 0',
  settings: z.strictObject({}),
  act: () => ({
    reward: ({ rewards, watched }) => rewards.map((reward, i) => (watched.flagged[i] ? 0 : reward)),
  }),
});

const doseKeys = {
  weight: z.number().min(0).default(1).describe("w: the monitor's probability times w is taken off every reward"),
};

/** A rollout on which the monitor abstained counts as p = 1 if the config flags abstentions, else as p = 0. */
const dose = (weight: number): Acts => ({
  reward: ({ rewards, watched: { scores, flagged } }) =>
    rewards.map((reward, i) => reward - weight * probabilityOf(scores[i] ?? (flagged[i] ? 1 : 0))),
});

export const probePenalty: RemedyDefinition = defineRemedy({
  kind: 'probe-penalty',
  summary: 'every reward lowered by the probability that the monitor gives',
  settings: z.strictObject(doseKeys),
  needs: 'probabilities',
  words: ({ weight }) => (weight === 1 ? 'probe-penalty' : `probe-penalty ${weight}`),
  act: ({ weight }) => dose(weight),
});

export const activationPenalty: RemedyDefinition = defineRemedy({
  kind: 'activation-penalty',
  summary: 'the probability that the monitor gives, taken off rewards and lowered through the activations',
  settings: z.strictObject({
    ...doseKeys,
    lossWeight: z
      .number()
      .min(0)
      .default(1)
      .describe('λ: the mean of those probabilities times λ is a term of the loss, through the activations'),
  }),
  needs: 'slopes',
  words: ({ weight, lossWeight }) =>
    ['activation-penalty', ...(weight === 1 && lossWeight === 1 ? [] : [weight, lossWeight])].join(' '),
  act: ({ weight, lossWeight }) => ({
    ...dose(weight),
    term: (monitor) => weighted(slopesOf(monitor), lossWeight),
  }),
});

/** The term of the loss, times its weight. */
const weighted =
  (slopes: NonNullable<Monitor['slopes']>, lambda: number): NonNullable<Arm['term']> =>
  (features) => {
    const own = slopes(features);
    return { values: own.values.map((value) => lambda * value), slopes: own.slopes.map((slope) => lambda * slope) };
  };

function slopesOf(monitor: Monitor): NonNullable<Monitor['slopes']> {
  const { slopes } = monitor;
  if (slopes !== undefined) return (features) => slopes.call(monitor, features);
  throw new UserError({
    call: 'arm activation-penalty',
    expected: 'a monitor that is a smooth function of activations',
    found: 'one that is not',
    fix: 'Choose the monitor probe.',
  });
}

function probabilityOf(score: number): number {
  if (score >= 0 && score <= 1) return score;
  throw new UserError({
    call: 'arm probe-penalty',
    expected: 'probabilities from the monitor, from 0 to 1',
    found: `${score}`,
    fix: 'Choose a monitor that gives probabilities, such as probe.',
  });
}
