/** Submission against programs that stand in for Slurm's: they print what files of the test say. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../../../test/lab/hand-made.ts';
import type { ExperimentPlan } from '../experiment.ts';
import { taskStates } from './client.ts';
import { slurmSchema } from './script.ts';
import { cancelRuns, followRuns, readArrays, submitRuns } from './submission.ts';

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
  vi.stubEnv('PATH', `${folder}:${process.env['PATH']}`);
  program('sbatch', 'n=$(cat "$0.n" 2>/dev/null || echo 6); n=$((n + 1)); echo $n > "$0.n"; sleep 0.2; echo "$n;lab"');
  program('scontrol', 'echo "MaxArraySize            = 1001"');
  answer('sacct', '');
  answer('squeue', '');
});
afterEach(() => void vi.unstubAllEnvs());

const program = (name: string, lines: string): void =>
  writeFileSync(join(folder, name), `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
const answer = (name: string, text: string, code = 0): void =>
  program(name, `cat <<'END'\n${text}\nEND\necho "${name} is silent" >&2; exit ${code}`);

const plan = {
  experiment: { name: 'pair' },
  runs: Array.from({ length: 4 }, (_, i) => ({ arm: 'a', seed: i, folder: `a-${i}`, config: {}, configHash: '' })),
} as unknown as ExperimentPlan;
const options = { table: slurmSchema.parse({}), jobs: null, gq: ['gq'] };
const states = () => [...(taskStates('7') ?? [])].map(([index, { detail }]) => `${index} ${detail}`).sort().join(', '); // biome-ignore format: one line

describe('states of an array', () => {
  it('are those of the controller, where it knows the task; accounting lags behind', () => {
    answer('sacct', '7_0|PREEMPTED|0:0\n7_1|COMPLETED|0:0\n7_2|RUNNING|0:0');
    answer('squeue', '  7_0   PENDING   0:0\n  7_2  TIMEOUT  0:0');
    expect(states()).toBe('0 PENDING, 1 COMPLETED, 2 TIMEOUT');
  });

  it('come from one of the two, where the other is off or has forgotten the job', () => {
    answer('sacct', 'Slurm accounting storage is disabled', 1);
    answer('squeue', '  7_3   RUNNING   0:0');
    expect(states()).toBe('3 RUNNING');
    answer('sacct', '7_3|FAILED|2:0');
    program('squeue', 'echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1');
    expect(states()).toBe('3 FAILED, exit code 2');
  });
});

describe('a submission', () => {
  it('submits no run twice, whoever submits at the same time', async () => {
    program('squeue', `cat > /dev/null; test -e "${folder}/sbatch.n" && printf "7_0 RUNNING 0:0\\n7_1 PENDING 0:0\\n"`);
    const out = join(folder, 'out');
    const both = await Promise.all([submitRuns(plan, out, [0, 1], options), submitRuns(plan, out, [0, 1, 2], options)]);
    expect(both.map((each) => each?.indices.join())).toEqual(['0,1', '2']);
    expect(readArrays(out).map(({ job, tasks }) => `${job}: ${tasks.map(({ folder: run }) => run)}`)).toEqual([
      '7: a-0,a-1',
      '8: a-2',
    ]);
  });

  it('submits nothing while Slurm does not say which jobs work', async () => {
    const out = join(folder, 'out');
    await submitRuns(plan, out, [0], options);
    answer('squeue', '', 1);
    await expect(submitRuns(plan, out, [0], options)).rejects.toThrow('expected an answer of squeue');
    expect(() => cancelRuns(out)).toThrow('expected an answer of squeue');
    expect(readFileSync(join(folder, 'sbatch.n'), 'utf8')).toBe('7\n');
  });

  it('of packs has a task for each pack, whose runs are submitted together', async () => {
    const out = join(folder, 'out');
    const packed = { ...options, pack: 2 };
    expect((await submitRuns(plan, out, [0, 1, 3], packed))?.indices).toEqual([0, 1, 3]);
    const script = readFileSync(join(out, '.jobs', 'slurm.sh'), 'utf8');
    expect(script).toContain('#SBATCH --array=0,2\n');
    expect(script).toMatch(/gq task --pack 2 \S+plan-\w+\.json "\$SLURM_ARRAY_TASK_ID"/);
    expect(readArrays(out)[0].tasks).toEqual([
      { index: 0, folder: 'a-0' },
      { index: 0, folder: 'a-1' },
      { index: 2, folder: 'a-3' },
    ]);
    // While one task works, its other runs wait for it; those of the other task may be submitted again.
    answer('squeue', '7_0 RUNNING 0:0');
    expect((await submitRuns(plan, out, [0, 1, 2, 3], packed))?.indices).toEqual([2, 3]);
    answer('squeue', '7_0 RUNNING 0:0\n8_2 RUNNING 0:0');
    program('scancel', 'true');
    expect(cancelRuns(out)).toEqual(['7_0', '8_2']);
  });

  it('says how large an array may be', async () => {
    program('scontrol', 'echo "MaxArraySize            = 3"');
    const out = join(folder, 'out');
    await expect(submitRuns(plan, out, [3], options)).rejects.toThrow(
      'expected an experiment of at most 3 runs (MaxArraySize of this cluster), found run 4',
    );
    expect((await submitRuns(plan, out, [0, 2], options))?.job).toBe('7');
  });
});

describe('following', () => {
  it('names how each run ended, also one that Slurm has forgotten by the end', async () => {
    const out = join(folder, 'out');
    const both = { ...plan, runs: plan.runs.slice(0, 2) };
    await submitRuns(both, out, [0, 1], options);
    const active = '7_1 RUNNING 0:0';
    const looks = [`7_0 RUNNING 0:0;${active}`, `7_0 CANCELLED 0:15;${active}`, active, '7_1 FAILED 1:0'];
    writeFileSync(join(folder, 'looks'), looks.join('\n'));
    // Each look sees the next line; the last one stays.
    const next = '[ $(wc -l < looks) = 0 ] || { sed 1d looks > rest; mv rest looks; }';
    program('squeue', `cd ${folder}; head -1 looks | tr ';' '\\n'; ${next}`);
    const said: string[] = [];
    const say = (text: string) => void said.push(text);
    const { signal } = new AbortController();
    const { end, failed } = await followRuns(both, out, { ...options, say, signal, pollSeconds: 0.01 });
    expect(end).toBe('finished');
    expect(failed.map(({ folder: run, detail }) => `${run} ${detail}`)).toEqual([
      'a-0 CANCELLED; it has no log',
      'a-1 FAILED, exit code 1; it has no log',
    ]);
    expect(said).toEqual(
      ['7_0 RUNNING', '7_1 RUNNING', '7_0 CANCELLED', '7_1 FAILED, exit code 1'].map(
        (text) => `a-${text[2]}: job ${text}`,
      ),
    );
  });
});
