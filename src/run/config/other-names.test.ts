import { expect, it } from 'vitest';
import { gq } from '../../../test/run-gq.ts';
import { builtinParts } from '../../lab/parts.ts';
import { listKeys } from './issues.ts';
import { namedKeys } from './other-names.ts';

it('names stand for keys that exist', () => {
  const keys = listKeys(builtinParts).map(({ path }) => path.join('.'));
  expect(namedKeys.filter((key) => !keys.includes(key))).toEqual([]);
});

it.each([
  ['lr', 'optimiser.learningRate'],
  ['learning_rate', 'optimiser.learningRate'],
  ['optimiser.lr', 'optimiser.learningRate'],
  ['steps', 'updates'],
  ['batch', 'sampling.promptsPerStep'],
  ['group_size', 'sampling.group'],
  ['sampling.promptPerStep', 'sampling.promptsPerStep'],
])('--set %s=1 is told the key that is meant', async (name, key) => {
  const { code, err } = await gq('config', 'micro-vanilla', '--set', `${name}=1`);
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(`did you mean ${key}?`) });
});
