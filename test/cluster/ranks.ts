/** One run on two ranks that srun starts, with Open MPI's PMIx, against the same run in one process. */
import { join } from 'node:path';
import { gqProgram } from '../gq-command.ts';
import { fingerprint } from '../parallel/fingerprint.ts';
import type { SlurmDaemons } from './daemons.ts';
import { expectThat, gq, say, settings, start } from './tools.ts';

/** What srun lacks to start ranks with PMIx, in words; null: nothing. Slurm may list the plugin and still not find its library. */
export async function missingPmix(environment: NodeJS.ProcessEnv): Promise<string | null> {
  const probe = start('srun', ['--mpi=pmix', '-n', '1', 'true'], environment);
  if ((await probe.ended) === 0) return null;
  return `a PMIx that Slurm's plugin can load: libpmix.so without a number, which Debian has in libpmix-dev (srun --mpi=pmix says: ${probe.said().trim()})`;
}

export async function checkRanks(home: string, slurm: SlurmDaemons): Promise<void> {
  const sets = await settings([
    'parallel.shards=8',
    'updates=6',
    'output.checkpointEvery=2',
    'sampling.promptsPerStep=8',
  ]);
  const train = (name: string): string[] => ['train', 'micro-activation', '--out', join(home, name), ...sets];
  const alone = gq(train('alone'), process.env);
  expectThat('the run in one process ends with 0', (await alone.ended) === 0, alone.said());
  const missing = await missingPmix(slurm.environment);
  if (missing !== null) say(`srun --mpi=pmix is not tried; missing: ${missing}`);
  for (const mpi of missing === null ? (['pmix', 'pmi2'] as const) : (['pmi2'] as const)) {
    const words = [`--mpi=${mpi}`, '--kill-on-bad-exit=1', '-n', '2', process.execPath, gqProgram()];
    const ranks = start('srun', [...words, ...train(mpi)], slurm.environment);
    const code = await ranks.ended;
    if (mpi === 'pmi2') {
      // Debian's Open MPI speaks PMIx only: ranks that cannot find each other must be told so, and leave nothing behind.
      expectThat(
        'srun without PMIx is refused, and the message says what to do',
        code === 2 && ranks.said().includes('srun --mpi=pmix'),
        `${code} ${ranks.said()}`,
      );
      continue;
    }
    expectThat(`srun --mpi=${mpi} ends with 0`, code === 0, ranks.said());
    if (code === 0)
      expectThat(
        'and leaves the bytes of one process',
        fingerprint(join(home, mpi)) === fingerprint(join(home, 'alone')),
      );
  }
}
