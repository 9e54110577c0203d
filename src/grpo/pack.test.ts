/** Several trainers on one device and one decoder, whose work is computed together: each leaves what it leaves alone. */
import { describe, expect, it } from 'vitest';
import { createLaneDevice } from '../../test/device/lane-device.ts';
import { makePolicy, makePolicyOn, task, tinyVocabulary, tinyWith } from '../../test/grpo/tiny-policy.ts';
import { AdamW, affine, type Device } from '../engine/index.ts';
import { createReferenceDevice } from '../engine/reference/index.ts';
import { createWasmDevice } from '../engine/wasm/index.ts';
import { Shards } from '../parallel/index.ts';
import { type Arm, seesNothing } from './arm.ts';
import type { TrainEvent } from './events.ts';
import { Pack } from './pack.ts';
import { type Policy, steerPolicy } from './policy.ts';
import type { PromptedCompletion } from './rollout.ts';
import { policySampler } from './sampler.ts';
import { Trainer, type TrainerState } from './train.ts';
import { type PassWork, type PolicyWork, workAlone } from './work.ts';

const byThirds: Arm['route'] = ({ rollouts }) => ({
  routes: rollouts.map((_, i) => [(['keep', 'absorb', 'route'] as const)[i % 3]]),
  scores: null,
  cuts: null,
  bufferRows: 0,
});

/** Arms that ask the device for different work in different numbers of passes. */
const arms: Readonly<Record<string, Arm>> = {
  absorb: { sees: seesNothing },
  routes: { sees: { features: { kind: 'activation', granularity: 'rollout' }, text: false }, route: byThirds },
  'routes by token': {
    sees: { features: { kind: 'activation', granularity: 'token' }, text: false },
    route: ({ rollouts }) => ({
      routes: rollouts.map(({ length }) => Array.from({ length }, (_, t) => (t % 2 === 0 ? 'keep' : 'route'))),
      scores: null,
      cuts: null,
      bufferRows: 0,
    }),
  },
  'gradient features': {
    sees: { features: { kind: 'gradient', granularity: 'rollout' }, text: false },
    route: byThirds,
  },
  steered: {
    sees: seesNothing,
    steer: (project) => (tape, x, layers, onto) =>
      project(tape, x, layers, onto).map((y, i) =>
        layers[i].module.endsWith('layers.0.mlp.down_proj') ? affine(tape, y, 1, 0.01) : y,
      ),
  },
  'early features': {
    sees: { features: { kind: 'activation', granularity: 'rollout' }, text: false },
    screen: ({ rewards }) => Array.from(rewards, (_, i) => (i % 4 === 3 ? 'leave-out' : 'train')),
    gradient: async (_parameters, again) => again(),
  },
};
const names = Object.keys(arms);

interface Ended {
  readonly events: readonly TrainEvent[];
  readonly state: TrainerState;
}

interface Options {
  readonly seed: number;
  readonly work?: PolicyWork;
  /** Poisons the adapter after so many updates. */
  readonly poisonAfter?: number;
  readonly updates?: number;
}

async function trainOn(
  policy: Policy,
  arm: Arm,
  { seed, work = workAlone, poisonAfter, updates = 2 }: Options,
): Promise<Ended> {
  const settings = tinyWith({ seed, updates, loss: { klRoute: seed % 2 === 0 ? 'absorb' : 'same' } });
  const own = steerPolicy({ ...policy, work }, arm);
  using optimiser = new AdamW(policy.adapter.parameters);
  const tasks = ['a', 'b', 'c'].map((id) => task(id));
  const context = {
    policy: own,
    optimiser,
    arm,
    settings,
    tasks,
    sampler: policySampler(own, settings.compute),
    grader: {
      grade: async (given: readonly { readonly completion: string }[]) => {
        // Lanes do not come back from grading in the order in which they went.
        for (let turn = 0; turn < (seed * 7) % 5; turn++) await new Promise((resolve) => setImmediate(resolve));
        return Float32Array.from(given, ({ completion }) => completion.length % 5);
      },
    },
    pool: null,
    shards: Shards.alone,
    stopTokens: [0],
    vocabulary: tinyVocabulary,
    decode: (tokens: Int32Array) => Array.from(tokens).join(' '),
    showPrompt: () => '',
    enter: () => {},
  };
  const tripwireSet: PromptedCompletion[] = tasks.map(({ hinted, unhinted }, group) => ({
    group,
    prompt: hinted,
    tokens: unhinted,
  }));
  const trainer = new Trainer({ context, tripwireSet, heal: null });
  const events: TrainEvent[] = [];
  for await (const event of trainer.train()) {
    events.push(event);
    if (event.kind !== 'step' || event.update !== poisonAfter) continue;
    const [{ value }] = policy.adapter.parameters;
    value.device.write(value, new Float32Array(value.size).fill(Number.NaN));
  }
  return { events, state: await trainer.state() };
}

const devices = {
  // Without steps that join layers, which round otherwise and which a batch of several policies does not have.
  reference: () => {
    const device = createReferenceDevice();
    const { jointFits: _jointFits, ...kernels } = device.kernels;
    return { ...device, kernels };
  },
  'a device with lanes': createLaneDevice,
  wasm: () => createWasmDevice({ threads: 1, variant: 'plain', arenaBytes: 2 ** 27 }),
};

/** Trains a policy of its own for each arm, all at once in a pack. */
async function trainPacked(
  pack: Pack,
  policies: readonly Policy[],
  optionsOf: (i: number) => Partial<Options> = () => ({}),
) {
  const lanes = policies.map(() => pack.join());
  return Promise.allSettled(
    policies.map(async (policy, i) => {
      using work = lanes[i];
      return await trainOn(policy, arms[names[i]], { seed: i + 1, work, ...optionsOf(i) });
    }),
  );
}

async function open(device: Device) {
  const {
    scope,
    policy: { decoder },
  } = await makePolicy(device);
  const policies = () => Promise.all(names.map((_, i) => makePolicyOn(scope, decoder, i + 1)));
  return { scope, decoder, policies };
}

describe.each(['reference', 'a device with lanes', 'wasm'] as const)('a pack on %s', (name) => {
  it('leaves the events and the state of every run alone, and computes together', async () => {
    using device: Device = await devices[name]();
    const { scope, policies } = await open(device);
    const alone: Ended[] = [];
    for (const [i, policy] of (await policies()).entries())
      alone.push(await trainOn(policy, arms[names[i]], { seed: i + 1 }));
    const counted = countPasses(device);
    const packed = await trainPacked(new Pack({ joint: true }), await policies());
    const passes = counted();
    expect(packed).toEqual(alone.map((value) => ({ status: 'fulfilled', value })));
    const inTurn = countPasses(device);
    const serial = await trainPacked(new Pack({ joint: false }), await policies());
    expect(serial).toEqual(packed);
    expect(passes).toBeLessThan(inTurn() / 3);
    scope[Symbol.dispose]();
  });
});

/** Counts calls of attention, of which a layer of a pass has one. */
function countPasses({ kernels }: Device): () => number {
  let count = 0;
  const { attention } = kernels;
  kernels.attention = (...inputs) => {
    count++;
    attention(...inputs);
  };
  return () => {
    kernels.attention = attention;
    return count;
  };
}

describe('a lane', () => {
  it('that diverges fails alone: the others end as they do without it', async () => {
    const { policies } = await open(await devices.reference());
    const whole = await trainPacked(new Pack({ joint: true }), await policies());
    const poisoned = await trainPacked(new Pack({ joint: true }), await policies(), (i) =>
      i === 1 ? { poisonAfter: 1 } : {},
    );
    expect(poisoned[1]).toMatchObject({
      status: 'rejected',
      reason: { message: expect.stringContaining('Training has diverged') },
    });
    for (const i of names.keys()) if (i !== 1) expect(poisoned[i]).toEqual(whole[i]);
  });

  it('that has ended is not waited for: runs of different lengths end', async () => {
    const { policies } = await open(await devices.reference());
    const ended = await trainPacked(new Pack({ joint: true }), await policies(), (i) => ({ updates: 1 + (i % 3) }));
    expect(ended.map((end) => (end.status === 'fulfilled' ? end.value.state.update : end.reason))).toEqual([
      1, 2, 3, 1, 2, 3,
    ]);
  });

  it('that leaves while it waits is told so', async () => {
    const { policies, decoder } = await open(await devices.reference());
    const [policy] = await policies();
    const pack = new Pack({ joint: true });
    const [lane] = [pack.join(), pack.join()];
    const work: PassWork<void> = {
      ...{
        decoder,
        groups: [{ prompt: Int32Array.of(1, 2), completions: [] }],
        packing: {},
        scores: false,
        recompute: false,
      },
      begin: () => ({ queue: () => ({ read: async () => undefined }) }),
    };
    expect(policy.decoder).toBe(decoder);
    const waiting = lane.pass(work);
    lane[Symbol.dispose]();
    await expect(waiting).rejects.toThrow('has left its pack');
  });
});
