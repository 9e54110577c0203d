/** What the label-flip check says of runs that cannot show anything. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { resolveBuiltin } from '../../src/lab/index.ts';
import { verifyLabelFlip } from '../../src/verify/index.ts';
import { tinyModel, tinySettings } from './lab.ts';

const failedChecks = async (...settings: readonly string[]): Promise<string[]> => {
  const { config } = resolveBuiltin(null, [`model=${await tinyModel()}`, ...tinySettings, ...settings]);
  const folder = mkdtempSync(join(tmpdir(), 'gq-flip-'));
  const { checks } = await verifyLabelFlip(config, { updates: 1, folder });
  return checks.filter(({ pass }) => !pass).map(({ quantity }) => quantity);
};

it('an arm that learned nothing has shown nothing: equal bytes of untouched adapters do not pass the label flip', async () => {
  expect(await failedChecks('arm.kind=vanilla')).toEqual([]);
  // One token is no program: all rollouts of a group get the same reward, and no update carries gradient.
  expect(await failedChecks('arm.kind=vanilla', 'sampling.maxNewTokens=1')).toEqual(['something was learned']);
});
