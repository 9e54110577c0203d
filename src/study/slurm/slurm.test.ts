import { spawnSync } from 'node:child_process';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/lab/hand-made.ts';
import { checkExperiment } from '../experiment.ts';
import { indicesOf, parseTasks, taskState } from './client.ts';
import { followLog, lastLine } from './log-tail.ts';
import { arrayScript, rangesOf, slurmSchema } from './script.ts';

describe('states of tasks', () => {
  it.each([
    ['PENDING', '0:0', 'waiting'],
    ['RUNNING', '0:0', 'running'],
    ['COMPLETED', '0:0', 'done'],
    ['FAILED', '1:0', 'failed'],
    ['FAILED', '2:0', 'refused'],
    ['FAILED', '75:0', 'interrupted'],
    ['TIMEOUT', '0:0', 'interrupted'],
    ['PREEMPTED', '0:0', 'interrupted'],
    ['NODE_FAIL', '1:0', 'interrupted'],
    ['OUT_OF_MEMORY', '0:125', 'failed'],
    ['CANCELLED by 1000', '0:0', 'cancelled'],
    ['CANCELLED+', '0:15', 'cancelled'],
  ])('%s with %s is %s', (words, exit, outcome) => {
    expect(taskState(words, exit).outcome).toBe(outcome);
  });

  it('are read from the lines of sacct, where tasks that wait share one', () => {
    const states = parseTasks('12_0|COMPLETED|0:0\n12_[2-3,5%2]|PENDING|0:0\n13_1|FAILED|1:0\n12_1|FAILED|2:0\n', '12');
    expect([...states].map(([index, { outcome }]) => `${index} ${outcome}`)).toEqual([
      '0 done',
      '2 waiting',
      '3 waiting',
      '5 waiting',
      '1 refused',
    ]);
  });

  it('number tasks as Slurm does', () => {
    expect(rangesOf([0, 1, 2, 5, 7, 8])).toBe('0-2,5,7-8');
    for (const text of ['0-2,5,7-8', '[0-2,5,7-8%3]', '[0-2,5,7-8]'])
      expect(indicesOf(text)).toEqual([0, 1, 2, 5, 7, 8]);
    expect(indicesOf('[0-6:3,...]')).toEqual([0, 3, 6]);
  });
});

describe('the script of an array', () => {
  const table = slurmSchema.parse({ partition: 'gpu', time: '8:00:00', gpus: 2, options: ['--qos=low'] });
  const script = arrayScript({
    name: 'pair',
    indices: [0, 1, 3],
    jobs: 2,
    command: ["/o'x/node", 'gq.mjs', 'task', '/a b/plan.json'],
    workingFolder: '/a b',
    logFolder: '/a b/100%',
    table,
  });

  it('asks for what the table says, and survives strange paths', () => {
    expect(script.split('\n').filter((line) => line.startsWith('#SBATCH'))).toEqual([
      '#SBATCH --job-name=gq-pair',
      '#SBATCH --array=0-1,3%2',
      '#SBATCH "--chdir=/a b"',
      '#SBATCH "--output=/a b/100%%/%A_%a.log"',
      '#SBATCH --open-mode=append',
      '#SBATCH --requeue',
      '#SBATCH --partition=gpu',
      '#SBATCH --time=8:00:00',
      '#SBATCH --gres=gpu:2',
      '#SBATCH --signal=B:USR1@120',
      '#SBATCH --qos=low',
    ]);
    expect(script).toContain(`'/o'\\''x/node' gq.mjs task '/a b/plan.json' "$SLURM_ARRAY_TASK_ID" &`);
  });

  it('refuses paths that would end a line of options and begin one of the script', () => {
    const at = (workingFolder: string, logFolder: string) => () =>
      arrayScript({ name: 'x', indices: [0], jobs: null, command: ['gq'], workingFolder, logFolder, table });
    for (const path of ['/a\n$(touch obeyed)\n', '/a\r', '/a\\b']) {
      expect(at(path, '/')).toThrow('expected folders without line breaks');
      expect(at('/', path)).toThrow('expected folders without line breaks');
    }
    expect(at('/$(id) `id` "x" \'y\'', '/')().split('\n')[3]).toBe('#SBATCH "--chdir=/$(id) `id` \\"x\\" \'y\'"');
  });

  /** Runs the script with a command of its own in place of gq, and a scontrol that tells its words. */
  function run(command: string, signal: string | null) {
    const folder = temporaryFolder();
    writeFileSync(
      join(folder, 'scontrol'),
      '#!/bin/sh\necho "scontrol $*"; ( sleep 0.2; kill -TERM $PPID ) >/dev/null 2>&1 &\n',
      { mode: 0o755 },
    );
    writeFileSync(join(folder, 'task'), `#!/bin/bash\ncd ${folder}\n${command}\n`, { mode: 0o755 });
    writeFileSync(
      join(folder, 'job'),
      arrayScript({
        name: 'x',
        indices: [4],
        jobs: null,
        command: [join(folder, 'task')],
        workingFolder: '/',
        logFolder: '/',
        table,
      }),
    );
    const send = signal === null ? '' : `( until test -e ready; do sleep 0.02; done; kill -${signal} $job ) &`;
    const { stdout, status } = spawnSync('bash', ['-c', `bash ${folder}/job & job=$!; ${send} wait $job`], {
      encoding: 'utf8',
      cwd: folder,
      env: { PATH: `${folder}:${process.env['PATH']}`, SLURM_ARRAY_JOB_ID: '9', SLURM_ARRAY_TASK_ID: '4' },
    });
    return { stdout, status };
  }
  const going = 'touch ready; for i in $(seq 12000); do sleep 0.05; done';
  const saves = `trap "exit 75" USR1 TERM; ${going}`;

  it('puts a task back into the queue when its time limit is near, by the name of the task', () => {
    const { stdout, status } = run(saves, 'USR1');
    expect(stdout).toContain('scontrol requeue 9_4');
    expect(status).toBe(75);
  });

  it('leaves a task alone that was cancelled, failed or is done, and ends with its code', () => {
    // It is cancelled while it saves.
    const saving = 'touch saving; until test -e cancelled; do sleep 0.02; done; exit 75';
    const cancel = 'until test -e saving; do sleep 0.02; done; kill -TERM $job; touch cancelled; true';
    expect(run(`trap "${saving}" USR1; trap "" TERM; ${going}`, `USR1 $job; ${cancel}`)).toMatchObject({
      status: 75,
      stdout: expect.not.stringContaining('requeue'),
    });
    expect(run(saves, 'TERM')).toMatchObject({ status: 75, stdout: expect.not.stringContaining('requeue') });
    expect(run('exit 2', null)).toMatchObject({ status: 2, stdout: expect.not.stringContaining('requeue') });
    expect(run('exit 0', null)).toMatchObject({ status: 0, stdout: expect.not.stringContaining('requeue') });
  });
});

describe('the table', () => {
  const check = (slurm: object) =>
    checkExperiment({ name: 'x', seeds: [1], arms: [{ name: 'vanilla', recipe: 'r' }], slurm }, 'x.toml');
  it.each([
    [{ partiton: 'gpu' }, 'unknown key slurm.partiton, did you mean partition?'],
    [{ partition: 'a\n#SBATCH --uid=0' }, 'slurm.partition: the name of a partition'],
    [{ time: '1 hour' }, 'slurm.time: a time limit such as "8:00:00", or minutes such as "90", found "1 hour"'],
    [{ gpus: 0 }, 'slurm.gpus: a whole number of at least 1, found 0'],
    [{ options: ['--a="b"'] }, 'slurm.options.0: options of sbatch'],
    [{ warnSeconds: 1 }, 'slurm.warnSeconds: at least 10 seconds, found 1'],
  ])('%j is refused', (slurm, message) => {
    expect(() => check(slurm)).toThrow(message);
  });
});

describe('a log', () => {
  it('is read line by line as it grows; its last line is what failed', () => {
    const path = join(temporaryFolder(), 'log');
    const newLines = followLog(path);
    expect(newLines()).toEqual([]);
    writeFileSync(path, 'one\ntw');
    expect(newLines()).toEqual(['one']);
    appendFileSync(path, 'o\ngq: no ü\n\n');
    expect(newLines()).toEqual(['two', 'gq: no ü', '']);
    expect(lastLine(path)).toBe('gq: no ü');
    writeFileSync(path, 'x\n');
    expect(newLines()).toEqual(['x']);
  });
});
