/** An arm's memory survives a checkpoint: a resumed run ends with the bytes of one that was not interrupted. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { plainArm } from '../../test/grpo/tiny-lab.ts';
import { trainTiny } from '../../test/grpo/tiny-trainer.ts';
import { readFloats } from '../engine/index.ts';
import { loadCheckpoint, saveCheckpoint } from '../run/checkpoint.ts';
import { RunDirectory } from '../run/directory.ts';
import type { Arm, ArmState } from './arm.ts';
import type { TrainerState } from './train.ts';

let home = '';
let runs = 0;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'gq-arm-state-'));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const save = (run: RunDirectory, state: TrainerState): Promise<string> =>
  saveCheckpoint(run, state, { keepState: 'newest', initial: new Map() });

function makeRun(): RunDirectory {
  const run = RunDirectory.create(join(home, `run-${runs++}`));
  run.cutTo();
  return run;
}

/** An arm that pays for lengths it has not seen and adds old gradients to new ones: each update depends on all before it. */
function rememberingArm(): Arm {
  let seen: { readonly lengths: readonly number[]; readonly name: string | null } = { lengths: [], name: null };
  let lingering: ReadonlyMap<string, Float32Array> = new Map();
  return {
    ...plainArm,
    reward({ rewards, rollouts }) {
      const paid = rewards.map((reward, i) => reward + (seen.lengths.includes(rollouts[i].length) ? 0 : 1.5));
      seen = { lengths: [...seen.lengths, rollouts[0].length].slice(-3), name: rollouts[0].id };
      return paid;
    },
    async gradient(parameters) {
      const mixed = new Map<string, Float32Array>();
      for (const { name, gradient } of parameters) {
        const old = lingering.get(name);
        const own = (await readFloats(gradient)).map((g, i) => g + 0.5 * (old?.[i] ?? 0));
        gradient.device.write(gradient, own);
        mixed.set(name, own);
      }
      lingering = mixed;
    },
    save: () => ({
      json: { lengths: [...seen.lengths], name: seen.name, nested: [{ third: 1 / 3, tiny: 1e-300 }, null, true, 'π'] },
      tensors: new Map([...lingering].map(([name, data]) => [name, { shape: [data.length], data: data.slice() }])),
    }),
    restore({ json, tensors }) {
      const { lengths, name } = json as unknown as typeof seen;
      seen = { lengths, name };
      lingering = new Map([...tensors].map(([own, { data }]) => [own, data]));
    },
  };
}

const train = (arm: Arm, updates: number, from: TrainerState | null = null) => trainTiny(() => arm, updates, from);

describe('what an arm remembers', () => {
  it('comes back through a checkpoint as it was', async () => {
    const run = makeRun();
    const { state } = await train(rememberingArm(), 2);
    expect(state.arm?.tensors.size).toBeGreaterThan(0);
    expect(state.arm?.json).toMatchObject({ name: '2-0-0' });
    await save(run, state);
    const loaded = (await loadCheckpoint(run, 2)).state;
    expect(loaded).toEqual(state);
    const arm = rememberingArm();
    arm.restore?.(loaded.arm as ArmState);
    expect(arm.save?.()).toEqual(state.arm);
  });

  it('makes a resumed run end with the same bytes, and a run that forgets with others', async () => {
    const whole = await train(rememberingArm(), 4);
    const first = await train(rememberingArm(), 2);
    const run = makeRun();
    await save(run, first.state);
    const { state: saved } = await loadCheckpoint(run, 2);
    const second = await train(rememberingArm(), 4, saved);
    expect([...first.events, ...second.events]).toEqual(whole.events);
    expect(second.state).toEqual(whole.state);
    const forgetful = await train(rememberingArm(), 4, { ...saved, arm: null });
    expect(forgetful.state.adapter).not.toEqual(whole.state.adapter);
    const [one, other] = [makeRun(), makeRun()];
    for (const name of ['adapter.safetensors', 'trainer.safetensors', 'state.json']) {
      await save(one, whole.state);
      await save(other, second.state);
      expect(readFileSync(join(one.checkpoint(4), name))).toEqual(readFileSync(join(other.checkpoint(4), name)));
    }
  });

  it('is null for an arm without a state, before and after', async () => {
    const run = makeRun();
    const { state } = await train(plainArm, 1);
    expect(state.arm).toBeNull();
    await save(run, state);
    expect(JSON.parse(readFileSync(join(run.checkpoint(1), 'state.json'), 'utf8'))).toMatchObject({ arm: null });
    expect((await loadCheckpoint(run, 1)).state).toEqual(state);
  });

  it.each([
    { what: 'words alone', saved: { json: { count: 3, list: [1, [2]] }, tensors: new Map() } },
    { what: 'one word', saved: { json: 'ready', tensors: new Map() } },
    { what: 'a zero', saved: { json: 0, tensors: new Map() } },
    {
      what: 'tensors alone, one of them empty',
      saved: {
        json: null,
        tensors: new Map([
          ['a.b', { shape: [2, 2], data: Float32Array.of(-0, 1e-40, 3e38, -3) }],
          ['moment1.a', { shape: [0, 4], data: new Float32Array() }],
        ]),
      },
    },
  ])('may be $what', async ({ saved }) => {
    const run = makeRun();
    const { state } = await train({ ...plainArm, save: () => saved }, 1);
    expect(state.arm).toBe(saved);
    await save(run, state);
    expect((await loadCheckpoint(run, 1)).state).toEqual(state);
  });
});
