import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import type { TrainerState } from '../grpo/index.ts';
import { forkState } from './train.ts';

it('an arm remembers nothing after a fork to other settings of its own or other pairs', async () => {
  const arm = { kind: 'penalty', monitor: { kind: 'probe' } };
  const run = await writeRun(join(temporaryFolder(), 'parent'), { config: { arm } });
  const { config } = run.readManifest();
  const state = {
    arm: { json: 'a probe of the pairs', tensors: new Map() },
    directionAge: 3,
  } as unknown as TrainerState;
  const parent = { run: run.path, update: 2, adapterOnly: false };
  const forked = (changes: object) => forkState(state, parent, { ...config, ...changes });
  const forgotten = { arm: null, directionAge: null };
  expect(forked({ seed: 9, updates: 40 })).toEqual(state);
  expect(forked({ arm: { ...config.arm, penalty: 4 } })).toEqual(forgotten);
  expect(forked({ pairs: { ...config.pairs, file: '/other-pairs.json' } })).toEqual(forgotten);
  expect(forked({ data: { ...config.data, kind: 'file' } })).toEqual(forgotten);
});
