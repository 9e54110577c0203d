import { expect, it } from 'vitest';
import { temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import { evaluationKey } from './index.ts';

const manifest = (await writeRun(temporaryFolder(), {})).readManifest();
const { config, identity } = manifest;
const key = evaluationKey(manifest);

it.each([
  ['environment', { config: { ...config, environment: { ...config.environment, unhackableFraction: 0.123 } } }],
  ['sampling', { config: { ...config, sampling: { ...config.sampling, temperature: 0.123 } } }],
  ['model', { identity: { ...identity, model: 'another' } }],
  ['problems', { identity: { ...identity, problems: 'another' } }],
  ['plugins', { plugins: [{ path: 'own.ts', hash: 'another' }] }],
  ['judge', { identity: { ...identity, judge: 'another' } }],
  ['sampler', { identity: { ...identity, sampler: 'another' } }],
])('runs with another %s share no evaluation of their base', (_what, change) => {
  expect(evaluationKey({ ...manifest, ...change })).not.toBe(key);
});

it('runs that differ in seed, length, arm and optimiser share the evaluation of their base', async () => {
  const other = await writeRun(temporaryFolder(), {
    config: { seed: 9, updates: 3, arm: { kind: 'vanilla' }, optimiser: { learningRate: 0.5 } },
  });
  expect(evaluationKey(other.readManifest())).toBe(key);
});
