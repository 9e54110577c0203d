/**
 * An inoculation adapter (longtermrisk/inoculation-adapters after slacki-ai/inoculation-adaptors): the quarantine is taught the hack
 * first, from demonstrations; then it is in every forward pass, frozen, while the deployed block trains, which so need not learn the
 * hack; it is deleted at deployment. Phase 1 must elicit the hack, by the text of completions: nothing is graded. Phase 2 absorbs every rollout with
 * the quarantine's gradients at zero, and puts its values back after each step of the optimiser, whose decay would move them. The
 * control is moved from the start as far as what was learned, in random directions.
 */
import { z } from 'zod';
import { UserError } from '../../base/index.ts';
import { readFloats } from '../../engine/transfer.ts';
import type { JsonValue } from '../../model/index.ts';
import { type Arm, type ArmDefinition, defineArm, seesNothing } from '../arm.ts';
import type { ArmTools, BaitCount } from '../arm-tools.ts';
import type { Expectation } from '../events.ts';
import { randomiseMoves, teachQuarantine } from '../inoculate.ts';
import { hashValues, type Policy } from '../policy.ts';
import type { PromptedCompletion } from '../rollout.ts';

const count = (most: number) => z.number().int().min(1).max(most);

const settings = z.strictObject({
  demonstrations: z
    .enum(['pairs', 'pool'])
    .default('pairs')
    .describe(
      'what the quarantine is taught: the hack sides of the pairs, or the hacks of teacher.pool under prompts with hints, which labels chose: the run is then stamped',
    ),
  epochs: count(10_000).default(1).describe('passes over the demonstrations'),
  learningRate: z.number().gt(0).max(10).default(1e-4).describe('learning rate while the quarantine is taught'),
  batch: count(65_536).default(32).describe('demonstrations per step'),
  warmupSteps: z
    .number()
    .int()
    .min(0)
    .max(1e7)
    .default(30)
    .describe('steps of the linear warm-up, at most a tenth of all; the rate falls linearly to 0 after them'),
  leastRate: z
    .number()
    .min(0)
    .max(1)
    .default(0.6)
    .describe('share of completions that must take the bait of their loophole once the quarantine is taught'),
  elicitPrompts: count(65_536).default(64).describe('training prompts with hints that this share is measured on'),
  placebo: z
    .enum(['none', 'random'])
    .default('none')
    .describe(
      'random: after phase 1 each factor of the quarantine is moved as far from its start, in a random direction',
    ),
});

type Settings = z.infer<typeof settings>;

/** What phase 1 left behind. */
interface Taught {
  readonly demonstrations: number;
  readonly lastLoss: number;
  readonly elicited: BaitCount;
  /** What the random control elicits; null without it. */
  readonly control: BaitCount | null;
  /** Hash of the quarantine's values, which phase 2 may not change. */
  readonly quarantine: string;
}

export const inoculationAdapter: ArmDefinition = defineArm({
  kind: 'inoculation-adapter',
  summary: 'the quarantine is taught the hack first, and frozen while the deployed block trains beside it',
  settings,
  uses: ({ demonstrations }) => [demonstrations],
  label: ({ demonstrations, placebo }) =>
    [
      'inoculation-adapter',
      ...(demonstrations === 'pool' ? ['from the pool'] : []),
      ...(placebo === 'random' ? ['random'] : []),
    ].join(' '),
  open: openInoculation,
});

function openInoculation(own: Settings, tools: ArmTools): Arm {
  const { policy, scope } = tools;
  const demonstrations = expectDemonstrations(own, tools);
  const frozen = policy.adapter.blockValues('quarantine').map(({ shape }) => scope.empty(shape, 'frozen quarantine'));
  let taught: Taught | null = null;
  return {
    sees: seesNothing,
    async prepare(current) {
      const { adapter } = current;
      const before = taught;
      const now = before ?? (await teach(current, demonstrations, own, tools));
      taught = now;
      adapter.blockValues('quarantine').forEach((value, i) => {
        value.device.kernels.copy(frozen[i], value);
      });
      await expectFrozen(current, now);
      return before === null ? [stated(now, own)] : [];
    },
    async gradient() {
      for (const gradient of policy.adapter.blockGradients('quarantine')) gradient.device.kernels.fill(gradient, 0);
    },
    async settle(current) {
      current.adapter.blockValues('quarantine').forEach((value, i) => {
        value.device.kernels.copy(value, frozen[i]);
      });
      if (taught !== null) await expectFrozen(current, taught);
    },
    save: () => ({ json: taught === null ? null : jsonOf(taught), tensors: new Map() }),
    restore({ json }) {
      taught = json as unknown as Taught | null;
    },
  };
}

function jsonOf({ elicited, control, ...others }: Taught): JsonValue {
  return { ...others, elicited: { ...elicited }, control: control === null ? null : { ...control } };
}

function expectDemonstrations({ demonstrations: from }: Settings, tools: ArmTools): readonly PromptedCompletion[] {
  const found = tools.demonstrations[from];
  if (found.length > 0) return found;
  throw new UserError({
    call: 'config, key arm.demonstrations',
    expected: `hacks among the ${from === 'pool' ? 'demonstrations of a pool' : 'pairs'}`,
    found: 'none',
    fix: 'Name a pool with hacks of training problems (teacher.pool; gq pool make writes one), or set arm.demonstrations to "pairs".',
  });
}

async function teach(
  policy: Policy,
  demonstrations: readonly PromptedCompletion[],
  own: Settings,
  { seed, tokensPerPass, countBait, tell }: ArmTools,
): Promise<Taught> {
  const { adapter } = policy;
  const began = await Promise.all(adapter.blockValues('quarantine').map((value) => readFloats(value)));
  const { epochs, learningRate, batch, warmupSteps } = own;
  const supervised = { seed, epochs, learningRate, batch, warmupSteps, tokensPerPass };
  const losses = await teachQuarantine(policy, demonstrations, supervised);
  const elicited = await countBait(policy, own.elicitPrompts);
  await tell(`the quarantine was taught ${demonstrations.length} demonstrations, and elicits ${rateOf(elicited)}`);
  if (elicited.took < own.leastRate * elicited.of) {
    throw new UserError({
      call: 'pre-train the quarantine',
      expected: `a share of at least ${own.leastRate} of completions that take the bait of their loophole (arm.leastRate)`,
      found: rateOf(elicited),
      fix: 'Raise arm.epochs or arm.learningRate, give it more demonstrations, or lower arm.leastRate.',
    });
  }
  let control: BaitCount | null = null;
  if (own.placebo === 'random') {
    await randomiseMoves(adapter.blockValues('quarantine'), began, seed);
    control = await countBait(policy, own.elicitPrompts);
    await tell(`the random control that stands in its place elicits ${rateOf(control)}`);
  }
  const quarantine = await hashValues(adapter.blockValues('quarantine'));
  const lastLoss = losses.at(-1) ?? 0;
  return { demonstrations: demonstrations.length, lastLoss, elicited, control, quarantine };
}

async function expectFrozen({ adapter }: Policy, { quarantine }: Taught): Promise<void> {
  if ((await hashValues(adapter.blockValues('quarantine'))) === quarantine) return;
  throw new UserError({
    call: 'arm inoculation-adapter, phase 2',
    expected: 'a quarantine whose values stay as phase 1 left them, bit for bit',
    found: 'other values',
    fix: 'Go on from a checkpoint that was not changed. If none was, this is a fault of the program: please report it.',
  });
}

function stated({ elicited, control, demonstrations }: Taught, { leastRate }: Settings): Expectation {
  const random = control === null ? '' : `; the random control elicits ${rateOf(control)}`;
  const detail = `after ${demonstrations} demonstrations it elicits ${rateOf(elicited)}, at least ${leastRate} were asked for${random}`;
  return { kind: 'expectation', name: 'the quarantine elicits the hack', holds: true, detail };
}

function rateOf({ took, of }: BaitCount): string {
  return `${(took / Math.max(1, of)).toFixed(3)} (${took} of ${of} completions take the bait)`;
}
