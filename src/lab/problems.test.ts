import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { cacheFolder, scratchFolder } from '../base/node/index.ts';
import { SandboxJudge } from '../env/index.ts';
import { generateMicroProblems } from '../env/micro/problems.ts';
import { Sandbox } from '../env/sandbox/index.ts';
import { keptSoundness } from './problems.ts';

test('what passed is not run again, what failed is; other problems, or a file that is damaged, are checked', async () => {
  using home = scratchFolder('soundness');
  vi.stubEnv('GQ_CACHE', home.path);
  const [good, other] = generateMicroProblems({ seed: 2, split: 'train', count: 2 });
  const bad = { ...other, canonicalSolution: other.canonicalSolution.replace('return n', 'return n + 1') };
  await using sandbox = await Sandbox.start({ workers: 1 });
  const ran: string[] = [];
  class Counting extends SandboxJudge {
    override judge(...given: Parameters<SandboxJudge['judge']>) {
      ran.push(given[0].problem.id);
      return super.judge(...given);
    }
  }
  const check = async (problems: readonly (typeof good)[]) => {
    ran.length = 0;
    const { sound, unsound } = await keptSoundness(problems, new Counting(sandbox), { plugins: [] }, 0);
    expect(unsound.map(({ id }) => id)).toEqual(problems.includes(bad) ? [bad.id] : []);
    expect(sound.map(({ id, cpuSeconds }) => [id, cpuSeconds])).toEqual([[good.id, 1]]);
    return [...ran];
  };
  expect(await check([bad, good])).toEqual([bad.id, good.id]);
  expect(await check([bad, good])).toEqual([bad.id]);
  expect(await check([good])).toEqual([good.id]);
  const folder = cacheFolder('soundness');
  for (const name of readdirSync(folder)) writeFileSync(join(folder, name), '[["');
  expect(await check([good])).toEqual([good.id]);
  vi.unstubAllEnvs();
});
