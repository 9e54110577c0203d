/** Values that no machine can serve are refused at once, by the key; too little memory names the keys to change. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { gq } from '../run-gq.ts';

const home = mkdtempSync(join(tmpdir(), 'gq-range-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

let runs = 0;
const train = (...argv: string[]) => gq('train', ...argv, '--out', join(home, `run-${runs++}`));

describe('gq train', () => {
  it.each([
    'device.arenaMiB=1',
    'device.arenaMiB=100000000',
    'device.threads=10000',
    'data.problems=100000000',
    'adapter.rank=100000',
    'adapter.rank=4000',
    'sampling.group=1000000000',
    'sampling.promptsPerStep=1000000000',
    'sampling.maxNewTokens=1000000000',
    'compute.tokensPerPass=1e300',
    'updates=1000000000000',
  ])('refuses %s at once and names the key', async (setting) => {
    const { code, err } = await train('recipes/micro-activation.toml', '--set', setting);
    expect({ code, stack: err.includes('\n    at ') }).toEqual({ code: 2, stack: false });
    expect(err).toContain(setting.split('=')[0]);
    expect(existsSync(join(home, `run-${runs - 1}`))).toBe(false);
  });

  it.each([
    ['seed=99999999999999999999', 'of at most 9007199254740991, found "99999999999999999999"'],
    ['optimiser.learningRate=1e400', 'at most 1.8e308 in size, found Infinity'],
  ])('says of %s that it is too large', async (setting, words) => {
    const { code, err } = await train('recipes/micro-vanilla.toml', '--set', setting);
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining(words) });
  });

  it('names the keys to lower when the device has too little memory', async () => {
    const settings = ['updates=1', 'device.arenaMiB=64', 'sampling.promptsPerStep=64', 'sampling.group=64'];
    const { code, err } = await train('recipes/micro-vanilla.toml', ...settings.flatMap((each) => ['--set', each]));
    expect({ code, stack: err.includes('\n    at ') }).toEqual({ code: 2, stack: false });
    for (const key of ['compute.tokensPerPass', 'sampling.promptsPerStep', 'device.arenaMiB']) {
      expect(err).toContain(key);
    }
  });

  it('says that a model is missing when other problems meet the micro model', async () => {
    const data = ['data.kind=file', 'data.path=test/data/problems-benchmark.jsonl'];
    const { code, err } = await train(...data.flatMap((each) => ['--set', each]));
    expect(code).toBe(2);
    expect(err).toContain('--set model=DIR');
  });
});
