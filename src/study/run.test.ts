/** Attacks of a pack: they follow it, alone, and each has an end whatever becomes of it. */
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../test/lab/hand-made.ts';
import { HeldError } from '../base/node/index.ts';
import type { ExperimentPlan } from './experiment.ts';
import { type ExperimentWorker, runPlan } from './run.ts';

const arms = ['vanilla', 'gate', 'gate', 'gate'];
const plan = {
  experiment: { relearn: { arms: ['gate'], updates: 3 } },
  runs: arms.map((arm, i) => ({ arm, folder: `${arm}-${i}`, seed: i, plugins: null })),
} as unknown as ExperimentPlan;

type Attack = (folder: string) => void;

/** Does the four runs as a pack; training and evaluation succeed at once. */
async function runPack(attack: Attack, signal: AbortSignal, onEvaluated: () => void = () => undefined) {
  const ends: string[] = [];
  const workerOf = (_: number, place: object | null): ExperimentWorker => ({
    train: async () => 'finished',
    async evaluate() {
      onEvaluated();
      return 'finished';
    },
    async relearn({ folder }) {
      attack(`${folder}${place === null ? '' : ' in the pack'}`);
      return 'finished';
    },
  });
  const onEnd: Parameters<typeof runPlan>[2]['onEnd'] = (index, { end }) =>
    void ends.push(`${plan.runs[index].folder} ${end}`);
  return { ends, ...(await runPlan(plan, temporaryFolder(), { size: 4, signal, workerOf, onEnd })) };
}

it('follow one after another once it is closed; one that fails or is held does not stop the others', async () => {
  const attacked: string[] = [];
  const { ends, end, failed, held } = await runPack((folder) => {
    attacked.push(folder);
    if (folder === 'gate-1') throw new RangeError('no memory');
    if (folder === 'gate-2') {
      const holder = { pid: 7, host: 'elsewhere' } as HeldError['holder'];
      throw new HeldError('lock.json', { call: 'attack', expected: 'no other process' }, holder);
    }
  }, new AbortController().signal);
  expect(attacked).toEqual(['gate-1', 'gate-2', 'gate-3']);
  expect(ends).toEqual(['vanilla-0 finished', 'gate-1 failed', 'gate-2 held', 'gate-3 finished']);
  expect(end).toBe('finished');
  expect(failed).toMatchObject([{ folder: 'gate-1' }]);
  expect(held).toEqual([{ folder: 'gate-2', detail: 'process 7 on elsewhere' }]);
});

it('are interrupted, not failed, where the signal comes before them', async () => {
  const controller = new AbortController();
  const attacked: string[] = [];
  const { ends, end } = await runPack(
    (folder) => void attacked.push(folder),
    controller.signal,
    () => controller.abort(),
  );
  expect(attacked).toEqual([]);
  expect(ends).toEqual(['vanilla-0 finished', 'gate-1 interrupted', 'gate-2 interrupted', 'gate-3 interrupted']);
  expect(end).toBe('interrupted');
});
