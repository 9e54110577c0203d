/** What the processes of an experiment are started with. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../../test/lab/hand-made.ts';
import { cacheFolder } from '../base/node/index.ts';
import type { ExperimentPlan } from './experiment.ts';
import { failureOf } from './failures.ts';
import { processOptions, runInProcesses } from './job.ts';

afterEach(() => void vi.unstubAllEnvs());

it('a process has room for what is young, and with one core it collects garbage on its own thread, in ways that this Node knows', () => {
  const young = ['--min-semi-space-size=32', '--max-semi-space-size=32'];
  const { execArgv } = processOptions({ GQ_CORES: '1' });
  expect(execArgv).toEqual([...process.execArgv, ...young, '--single-threaded-gc']);
  expect(spawnSync(process.execPath, [...young, '--single-threaded-gc', '-e', '0']).status).toBe(0);
  expect(processOptions({ GQ_CORES: '2' }).execArgv).toEqual([...process.execArgv, ...young]);
  expect(processOptions({}).execArgv).toEqual([...process.execArgv, ...young]);
});

it('compiled code is kept in the cache of the lab, or where the environment says', () => {
  vi.stubEnv('NODE_COMPILE_CACHE', undefined);
  vi.stubEnv('GQ_CACHE', '/somewhere');
  expect(processOptions({ GQ_CORES: '1' }).env).toMatchObject({
    NODE_COMPILE_CACHE: cacheFolder('node'),
    GQ_CORES: '1',
  });
  expect(cacheFolder('node')).toBe('/somewhere/node');
  vi.stubEnv('NODE_COMPILE_CACHE', '/elsewhere');
  expect(processOptions({}).env).toMatchObject({ NODE_COMPILE_CACHE: '/elsewhere' });
});

it('a process that is gone before it was told what to do is a failure of its run', async () => {
  const isGone = (): boolean =>
    spawnSync('ps', ['-A', '-o', 'ppid=,stat='], { encoding: 'utf8' })
      .stdout.split('\n')
      .some((line) => /^\s*(\d+)\s+Z/.exec(line)?.[1] === `${process.pid}`);
  const directory = temporaryFolder();
  const { failed } = await runInProcesses({ runs: [{ folder: 'one' }] } as unknown as ExperimentPlan, directory, {
    pack: 1,
    slots: [{ NODE_OPTIONS: '--import=data:text/javascript,process.exit(3)' }],
    signal: new AbortController().signal,
    reportOf: () => {
      // Between its start and the message.
      while (!isGone());
      return () => undefined;
    },
  });
  expect(failed).toEqual([{ folder: 'one', detail: 'ended with 3' }]);
  expect(failureOf(join(directory, 'one'))).toBe('ended with 3');
});
