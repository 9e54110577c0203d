/** Trains a few updates of the tiny policy under any arm, from the start or from a saved state, with rewards by length. */
import { AdamW } from '../../src/engine/index.ts';
import type { Arm } from '../../src/grpo/arm.ts';
import type { TrainEvent } from '../../src/grpo/events.ts';
import type { Policy } from '../../src/grpo/policy.ts';
import { policySampler } from '../../src/grpo/sampler.ts';
import type { StepContext } from '../../src/grpo/stages.ts';
import { Trainer, type TrainerState } from '../../src/grpo/train.ts';
import { Shards } from '../../src/parallel/index.ts';
import { makePolicy, task, tinyVocabulary, tinyWith } from './tiny-policy.ts';

export interface Ended {
  readonly events: readonly TrainEvent[];
  readonly state: TrainerState;
}

/** Trains up to update `updates`. The learning rate follows a schedule of four updates. */
export async function trainTiny(
  open: (policy: Policy) => Arm | Promise<Arm>,
  updates: number,
  from: TrainerState | null = null,
): Promise<Ended> {
  const { scope, policy } = await makePolicy();
  const settings = tinyWith({ updates: 4 });
  using optimiser = new AdamW(policy.adapter.parameters);
  const context: StepContext = {
    policy,
    optimiser,
    arm: await open(policy),
    settings,
    tasks: ['a', 'b', 'c'].map((id) => task(id)),
    sampler: policySampler(policy, settings.compute),
    grader: { grade: async (given) => Float32Array.from(given, ({ completion }) => completion.length % 5) },
    pool: null,
    shards: Shards.alone,
    stopTokens: [0],
    vocabulary: tinyVocabulary,
    decode: (tokens) => Array.from(tokens).join(' '),
    showPrompt: () => '',
    enter: () => {},
  };
  const trainer = new Trainer({ context, tripwireSet: [], heal: null });
  if (from !== null) trainer.restore(from);
  const events: TrainEvent[] = [];
  for await (const event of trainer.train()) {
    events.push(event);
    if (event.kind === 'step' && event.update === updates) break;
  }
  const state = await trainer.state();
  scope[Symbol.dispose]();
  return { events, state };
}
