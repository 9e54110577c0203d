import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../lab/hand-made.ts';
import { missingPmix } from './ranks.ts';

/** A machine whose srun does what these lines of a shell do. */
function machine(lines: string): NodeJS.ProcessEnv {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'srun'), `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
  return { ...process.env, PATH: `${folder}:${process.env['PATH']}` };
}

it('a Slurm whose PMIx plugin cannot load its library says what is missing, and with which package it comes', async () => {
  const says = 'srun: error: mpi/pmix: init: can not load PMIx library';
  const missing = await missingPmix(machine(`[ "$1" = --mpi=pmix ] && { echo "${says}" >&2; exit 1; }`));
  expect(missing).toContain('libpmix-dev');
  expect(missing).toContain(says);
});

it('one that starts a task lacks nothing', async () => {
  expect(await missingPmix(machine('[ "$1" = --mpi=pmix ] && shift 3 && exec "$@"'))).toBeNull();
});
