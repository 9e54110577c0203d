/** Runs that are over: their results are kept once their files are old enough, and a run that cannot be read stops nothing. */
import { mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import { EndedRuns } from './ended-runs.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

it('are kept when their files are no longer fresh', async () => {
  const cache = mkdtempSync(join(tmpdir(), 'kept-'));
  vi.stubEnv('GQ_CACHE', cache);
  const directory = temporaryFolder();
  await writeRun(join(directory, 'vanilla-1'), {});
  mkdirSync(join(directory, 'broken-1'));
  const ended = new EndedRuns(directory);
  ended.add('broken-1');
  ended.add('vanilla-1');
  await ended.keep();
  expect(readdirSync(cache)).toEqual([]);
  const ahead = Date.now() + 60_000;
  vi.spyOn(Date, 'now').mockImplementation(() => ahead);
  await ended.keep();
  expect(readdirSync(join(cache, 'results'))).toHaveLength(1);
});
