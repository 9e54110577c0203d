/** What is wrong with a call is said before a process is started for each rank. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../../test/lab/hand-made.ts';
import { runCli } from './program.ts';

afterEach(() => void vi.unstubAllEnvs());

it('more ranks than shards and wrong keys are refused without a call of mpirun', async () => {
  const folder = temporaryFolder();
  const called = join(folder, 'called');
  writeFileSync(join(folder, 'mpirun'), `#!/bin/sh\necho 'mpirun (Open MPI) 4.1.4'\n: > ${called}\n`, { mode: 0o755 });
  vi.stubEnv('PATH', folder);
  const train = async (...words: readonly string[]): Promise<string> => {
    let said = '';
    const stream = { write: (text: string) => (said += text) };
    const code = await runCli(['train', '--out', join(folder, 'run'), ...words], { stdout: stream, stderr: stream });
    return `${code} ${said}`;
  };
  expect(await train('--ranks', '1024')).toContain('2 gq: ranks: expected a power of two that is at most parallel.shards (8), found 1024'); // biome-ignore format: one line
  expect(await train('--ranks', '2', '--set', 'updates=none')).toMatch(/^2 gq: .*updates/);
  expect(await train('--ranks', '2', '--resume', join(folder, 'absent'))).toMatch(/^2 gq: .*absent/);
  expect([called, join(folder, 'run')].filter(existsSync)).toEqual([]);
  expect(await train('--ranks', '2')).toBe('0 ');
  expect(existsSync(called)).toBe(true);
});
