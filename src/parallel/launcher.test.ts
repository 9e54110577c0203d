import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../test/lab/hand-made.ts';
import { RankFailure } from './communicator.ts';
import { decodeControl, encodeControl } from './control.ts';
import {
  codeOfRanks,
  expectOwnMpirun,
  expectPmix,
  launchedRanks,
  mpirunArguments,
  ranksEnvironment,
  readPatience,
} from './launcher.ts';
import { expectOpenMpi } from './mpi-library.ts';

describe('the launcher', () => {
  it('mpirun of Open MPI is known by its variables, also with one rank', () => {
    const environment = { OMPI_COMM_WORLD_RANK: '3', OMPI_COMM_WORLD_SIZE: '8', OMPI_COMM_WORLD_LOCAL_RANK: '1' };
    const local = { OMPI_COMM_WORLD_LOCAL_SIZE: '2' };
    const found = launchedRanks({ ...environment, ...local });
    expect(found).toEqual({ launcher: 'mpirun', rank: 3, size: 8, localRank: 1, localSize: 2 });
    expect(launchedRanks({ OMPI_COMM_WORLD_RANK: '0', OMPI_COMM_WORLD_SIZE: '1' })?.size).toBe(1);
  });

  it('srun is known by the tasks of its step; a batch script with one task is alone', () => {
    const step = {
      SLURM_PROCID: '5',
      SLURM_LOCALID: '1',
      SLURM_STEP_NUM_TASKS: '8',
      SLURM_STEP_TASKS_PER_NODE: '4(x2)',
    };
    expect(launchedRanks(step)).toEqual({ launcher: 'srun', rank: 5, size: 8, localRank: 1, localSize: 4 });
    expect(launchedRanks({ SLURM_PROCID: '0', SLURM_NTASKS: '8' })).toBeNull();
    expect(launchedRanks({})).toBeNull();
  });

  it('MPICH is refused by its name, as a launcher and as a library', () => {
    expect(() => launchedRanks({ PMI_RANK: '0', PMI_SIZE: '2' })).toThrow('the launcher of MPICH');
    expect(() => launchedRanks({ PMI_RANK: '1', PMI_SIZE: '2' })).toThrow(RankFailure);
    expect(() => expectOpenMpi('MPICH Version:      4.0.2')).toThrow('found MPICH Version:      4.0.2');
    expect(() => expectOpenMpi('Open MPI v4.1.4')).not.toThrow();
  });

  it('an mpirun that is not Open MPI is refused by its name before it is given anything to do', () => {
    const folder = temporaryFolder();
    const says = (text: string): void =>
      writeFileSync(join(folder, 'mpirun'), `#!/bin/sh\necho '${text}'\n`, { mode: 0o755 });
    const expectIt = () => expectOwnMpirun({ PATH: folder });
    expect(expectIt).toThrow('expected the program mpirun');
    says('HYDRA build details:');
    expect(expectIt).toThrow('found that of MPICH or of a library built from it (HYDRA build details:)');
    says('mpirun (Open MPI) 4.1.4');
    expect(expectIt).not.toThrow();
  });

  it('codes of mpirun that gq does not have mean that it failed', () => {
    expect([0, 1, 2, 75, 137, 255, null].map(codeOfRanks)).toEqual([0, 1, 2, 75, 1, 1, 1]);
  });

  it('srun without PMIx is refused, by rank 0 for all', () => {
    const srun = { launcher: 'srun', rank: 0, size: 2, localRank: 0, localSize: 2 } as const;
    expect(() => expectPmix(srun, {})).toThrow('Start them with srun --mpi=pmix');
    expect(() => expectPmix({ ...srun, rank: 1 }, {})).toThrow(RankFailure);
    expect(() => expectPmix(srun, { PMIX_RANK: '0' })).not.toThrow();
    expect(() => expectPmix({ ...srun, launcher: 'mpirun' }, {})).not.toThrow();
  });

  it('a patience that is no number of seconds is refused, by rank 0 for all', () => {
    const patience = (rank: number, text: string) => readPatience({ rank }, { GQ_PATIENCE: text });
    expect([patience(1, ''), patience(1, '60')]).toEqual([25, 60]);
    expect(() => patience(0, 'long')).toThrow('GQ_PATIENCE: expected seconds from 1 to 86400, found long');
    expect(() => patience(1, 'long')).toThrow(RankFailure);
  });

  it('ranks that this program starts are bound to no core, since each has threads', () => {
    expect(mpirunArguments(2, ['node', 'gq.ts'], false).join(' ')).toBe(
      '--oversubscribe --bind-to none -np 2 node gq.ts',
    );
    expect(mpirunArguments(2, ['node'], true)[0]).toBe('--allow-run-as-root');
  });

  it('ranks whose output is a file take the terminal that mpirun gives them for none', () => {
    expect(ranksEnvironment({ TERM: 'xterm' }, false)['TERM']).toBe('dumb');
    expect(ranksEnvironment({ TERM: 'xterm' }, true)['TERM']).toBe('xterm');
  });
});

describe('control messages', () => {
  it.each([
    { kind: 'alive' },
    { kind: 'arrived', sequence: 2 ** 40, call: 'allGather', bytes: 528e6 },
    { kind: 'failed', reason: 'disk: ε voll', exitCode: 2 },
  ] as const)('$kind comes back as it was sent', (control) => {
    expect(decodeControl(encodeControl(control))).toEqual(control);
  });

  it('a long reason is cut, not refused', () => {
    const cut = decodeControl(encodeControl({ kind: 'failed', reason: 'é'.repeat(1000), exitCode: 1 }));
    expect(cut).toEqual({ kind: 'failed', reason: 'é'.repeat(240), exitCode: 1 });
  });
});
