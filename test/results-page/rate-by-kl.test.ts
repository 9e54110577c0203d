/** The rule for the learning rates of study E, as its program applies it. */
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { temporaryFolder, writeRun } from '../lab/hand-made.ts';

const call = process.argv;
afterEach(() => {
  process.argv = call;
  vi.restoreAllMocks();
  vi.resetModules();
});

/** Vanilla runs by rate and seed, each with this KL in all of its updates; null: it did not come to its end. */
async function ratesOf(runs: Readonly<Record<string, readonly (number | null)[]>>): Promise<string> {
  const study = temporaryFolder();
  for (const [rate, kls] of Object.entries(runs)) {
    for (const [i, kl] of kls.entries()) {
      const config = { seed: i + 1, updates: 2, optimiser: { learningRate: Number(rate) } };
      const steps = [1, 2].map((update) => ({ update, kl: kl ?? 0.001 }));
      await writeRun(join(study, `vanilla-${rate}-${i + 1}`), { config, steps, finished: kl !== null });
    }
  }
  return study;
}

async function lastLine(...folders: readonly string[]): Promise<string | undefined> {
  const lines: string[] = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
  process.argv = [...call.slice(0, 2), ...folders];
  await import('../../bench/rate-by-kl.ts');
  return lines.at(-1);
}

it('is the largest rate whose KL is bounded in every seed, and the least where none is', async () => {
  const shipped = await ratesOf({ '4e-4': [0.1, 0.3] });
  expect(await lastLine(shipped, await ratesOf({ '1e-4': [0.1, 0.1], '2e-4': [0.3, 0.29], '4e-4': [0.1, 0.31] }))).toBe('0.0002'); // biome-ignore format: one line
  vi.resetModules();
  expect(await lastLine(shipped, await ratesOf({ '2e-4': [0.5, 0.1], '4e-4': [0.4, 0.4] }))).toBe('0.0002');
});

it('is not chosen while a run is unfinished: one that was lost could be the largest', async () => {
  const shipped = await ratesOf({ '4e-4': [0.1, 0.1] });
  const lost = await ratesOf({ '4e-4': [0.1, 0.1], '8e-4': [0.1, null] });
  await expect(lastLine(shipped, lost)).rejects.toThrow(/vanilla-8e-4-2 did not come to its end/);
});
