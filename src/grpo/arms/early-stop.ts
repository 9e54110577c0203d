/**
 * Early stopping without labels (docs/science.md, section 11): trains as vanilla does until the reward of held-out sound prompts has not risen
 * for a while although the reward of training has, and deploys the policy of the best check (Prechelt 1998, Early Stopping - But
 * When?; Goodfellow et al. 2016, Deep Learning, algorithm 7.1). The control ends after a check that the seed draws.
 */
import { z } from 'zod';
import type { StoredTensor } from '../../adapters/index.ts';
import { randomStream, readWhen } from '../../base/index.ts';
import { average } from '../../stats/index.ts';
import { type Arm, type ArmDefinition, defineArm, seesNothing } from '../arm.ts';
import type { ArmTools } from '../arm-tools.ts';
import type { Expectation } from '../events.ts';
import type { Policy } from '../policy.ts';

const ruled = readWhen({ placebo: 'none' });
const settings = z.strictObject({
  every: z.number().int().min(1).max(1e7).default(5).describe('updates between checks'),
  prompts: z
    .number()
    .int()
    .min(1)
    .max(65_536)
    .default(64)
    .describe('most validation problems of a check, shown without a hint')
    .meta(ruled),
  patience: z
    .number()
    .int()
    .min(1)
    .max(1e7)
    .default(3)
    .describe('checks without a better held-out reward after which training ends, if its own reward has risen since')
    .meta(ruled),
  leastRise: z
    .number()
    .min(0)
    .max(1e6)
    .default(0)
    .describe('the held-out reward is better where it is above the best by more than this')
    .meta(ruled),
  placebo: z
    .enum(['none', 'chance'])
    .default('none')
    .describe('chance: training ends after a check that is drawn by the seed, with the policy of that check'),
});
type Settings = z.infer<typeof settings>;

export interface HeldOutCheck {
  /** Updates completed. */
  readonly update: number;
  /** Mean reward of the held-out prompts, and of training since the check before. */
  readonly held: number;
  readonly trained: number;
}

/** The best check: each better than all before it by more than `leastRise`. */
export function bestOf(checks: readonly HeldOutCheck[], leastRise: number): HeldOutCheck {
  return checks.reduce((best, check) => (check.held > best.held + leastRise ? check : best));
}

/** Whether the last check ends training: the held-out reward was flat for so many checks, while that of training rose. */
export function isOver(
  checks: readonly HeldOutCheck[],
  { patience, leastRise }: Pick<Settings, 'patience' | 'leastRise'>,
) {
  const best = bestOf(checks, leastRise);
  const since = checks.length - 1 - checks.indexOf(best);
  return since >= patience && (checks.at(-1) ?? best).trained > best.trained;
}

export const earlyStop: ArmDefinition = defineArm({
  kind: 'early-stop',
  summary: 'trains as vanilla until the reward of held-out sound prompts is flat while its own rises',
  quarantine: false,
  settings,
  uses: [],
  label: ({ every, patience, placebo }) =>
    placebo === 'chance' ? 'early-stop by chance' : `early-stop after ${patience} checks every ${every}`,
  open: (own, tools) => openEarlyStop(own, tools),
});

interface Memory {
  readonly checks: readonly HeldOutCheck[];
  /** Mean rewards of the updates since the last check. */
  readonly rewards: readonly number[];
  /** Why training ended. */
  readonly end: string | null;
}

function openEarlyStop(own: Settings, { seed, soundReward }: ArmTools): Arm {
  let memory: Memory = { checks: [], rewards: [], end: null };
  let best: ReadonlyMap<string, StoredTensor> = new Map();

  async function check(update: number, policy: Policy): Promise<Expectation> {
    const held = await soundReward(policy, own.prompts);
    const trained = average(memory.rewards);
    const checks = [...memory.checks, { update, held, trained }];
    const leader = bestOf(checks, own.leastRise);
    if (leader.update === update) best = await policy.adapter.tensors('learned');
    const told = `${held.toFixed(3)} after ${update} updates, best ${leader.held.toFixed(3)} after ${leader.update}`;
    const over = isOver(checks, own);
    if (over) policy.adapter.load(best);
    const end = over ? `held-out reward ${told}, to which the policy is put back` : null;
    memory = { checks, rewards: [], end };
    const detail = `${told}; training ${trained.toFixed(3)}`;
    return { kind: 'expectation', name: 'reward of held-out sound prompts', holds: true, detail };
  }

  return {
    sees: seesNothing,
    async after({ update, of, meanReward }, policy) {
      memory = { ...memory, rewards: [...memory.rewards, meanReward] };
      if (update % own.every !== 0) return [];
      if (own.placebo === 'none') return [await check(update, policy)];
      const drawn = Math.floor(randomStream(seed, 'early stop').uniformAt(0) * Math.floor(of / own.every)) + 1;
      if (update === drawn * own.every) memory = { ...memory, end: `check ${drawn} was drawn` };
      return [];
    },
    ends: () => memory.end,
    save: () => ({
      json: { ...memory, checks: memory.checks.map((each) => ({ ...each })), rewards: [...memory.rewards] },
      tensors: best,
    }),
    restore({ json, tensors }) {
      memory = json as unknown as Memory;
      best = tensors;
    },
  };
}
