/** How the work is split up changes no byte: rare reads, batches that shrink in steps, activations computed again. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sha256 } from '../../src/base/node/hash.ts';
import { Lab } from './lab.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.open();
});
afterAll(() => lab[Symbol.asyncDispose]());

const gates = {
  activation: ['arm.kind=activation', 'arm.warmupRows=4', 'arm.tail=0.2', 'arm.refreshEvery=2', 'safety.healSteps=1'],
  gradient: ['arm.kind=gradient', 'arm.warmupRows=4', 'arm.tail=0.2', 'loss.klRoute=absorb'],
};

async function bytesOf(settings: readonly string[]): Promise<string[]> {
  const { run } = await lab.train([...settings, 'updates=3', 'sampling.promptsPerStep=4']);
  const last = run.listCheckpoints().at(-1);
  const files = ['events.jsonl', 'rollouts.jsonl', 'features.f32', 'directions.f32'].map(
    (name) => `${run.path}/${name}`,
  );
  const checkpoint = ['adapter.safetensors', 'trainer.safetensors'].map(
    (name) => `${run.path}/checkpoints/${String(last).padStart(5, '0')}/${name}`,
  );
  return [...files, ...checkpoint].map((path) => sha256(readFileSync(path)));
}

it.each(Object.entries(gates))('%s: the same bytes however the work is cut', async (_, gate) => {
  const plain = await bytesOf(gate);
  expect(await bytesOf([...gate, 'compute.readEvery=5'])).toEqual(plain);
  expect(await bytesOf([...gate, 'compute.readEvery=16', 'compute.rowStep=8'])).toEqual(plain);
  expect(await bytesOf([...gate, 'compute.recompute=true'])).toEqual(plain);
  // The comparison can fail: another seed is another run.
  expect(await bytesOf([...gate, 'seed=2'])).not.toEqual(plain);
});
