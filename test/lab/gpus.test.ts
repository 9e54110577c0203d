/** The real command on machines whose GPUs are stand-ins: its processes are real, and tell which GPU they were given before they fail to open it, or end. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { gqProgram } from '../gq-command.ts';
import { tinyModel, tinyWith } from '../smoke/lab.ts';
import { temporaryFolder } from './hand-made.ts';

const home = temporaryFolder();
const namesOf = (count: number): string[] => Array.from({ length: count }, (_, i) => `GPU-stand-in-${i}`);
const settings = [`model=${await tinyModel()}`, ...tinyWith('device.kind=cuda', 'updates=1')];
function writeRecipe(seeds: readonly number[]): string {
  const path = join(home, `of-${seeds.length}.toml`);
  writeFileSync(
    path,
    `name = "of-${seeds.length}"\nseeds = [${seeds.join(', ')}]\n[evaluation]\ncurveEvery = 0\nlimit = 2\nsets = ["test-original"]\n` +
      `[[arms]]\nname = "vanilla"\nrecipe = "${resolve('recipes', 'micro-vanilla.toml')}"\n`,
  );
  return path;
}
const recorder = join(home, 'record.mjs');
writeFileSync(
  recorder,
  `import { appendFileSync } from 'node:fs';
  const { CUDA_VISIBLE_DEVICES, GQ_GPU_MIB, GPU_RECORD, ENDS } = process.env;
  if (process.send !== undefined) {
    appendFileSync(GPU_RECORD, CUDA_VISIBLE_DEVICES + ' ' + (GQ_GPU_MIB ?? 'all') + '\\n');
    if (ENDS === 'at once') process.exit(1);
  }`,
);

interface Machine {
  readonly gpus: number;
  readonly runs: number;
  /** Whether processes end as soon as they have told their GPU: opening nothing, many of them cost little. */
  readonly ends: 'at once' | 'by themselves';
  readonly freeMiB?: number;
}

/** Calls the command in a place of its own, with a file in which each process tells its GPU. */
function callOn({ gpus, runs, ends, freeMiB = 81_000 }: Machine, words: readonly string[]) {
  const names = namesOf(gpus);
  const place = join(home, `${gpus} ${freeMiB} ${words.join('')}`);
  mkdirSync(place);
  const lines = names.map((name, i) => `${i}, ${name}, ${freeMiB}`).join('\n');
  writeFileSync(join(place, 'nvidia-smi'), `#!/bin/sh\ncat <<'E'\n${lines}\nE\n`, { mode: 0o755 });
  const seeds = Array.from({ length: runs }, (_, i) => i + 1);
  const command = ['experiment', writeRecipe(seeds), '--out', join(place, 'out')];
  const sets = settings.flatMap((setting) => ['--set', setting]);
  const called = spawnSync(process.execPath, [gqProgram(), ...command, ...sets, ...words], {
    encoding: 'utf8',
    env: {
      ...process.env,
      PATH: `${place}${delimiter}${process.env['PATH']}`,
      CUDA_VISIBLE_DEVICES: names.join(','),
      NODE_OPTIONS: `--import=${pathToFileURL(recorder)}`,
      GPU_RECORD: join(place, 'record'),
      ENDS: ends,
    },
  });
  return { ...called, record: join(place, 'record') };
}

/** The GPU of each process that the command started, with the memory that it may take. */
function gpusOf(machine: Machine, ...words: readonly string[]): string[] {
  const { status, stderr, record } = callOn(machine, words);
  expect({ status, failed: stderr.includes('failed:') }, stderr).toEqual({ status: 1, failed: true });
  return readFileSync(record, 'utf8').trim().split('\n').sort();
}

it('a pack for which too little is free is refused before any process is started', () => {
  const { status, stderr, record } = callOn({ gpus: 2, runs: 4, ends: 'at once', freeMiB: 900 }, ['--pack', '2']);
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: expect.stringMatching(
      /GPU GPU-stand-in-\d: expected \d+ MiB for a pack of 2 runs, found 810 MiB that each/,
    ),
  });
  expect(stderr).toContain('an experiment that was begun meanwhile');
  expect(existsSync(record)).toBe(false);
});

it('each of them has the state of a run on the disk at once, which counts where nobody says how many jobs', () => {
  const large = ['updates=10000000', 'output.checkpointEvery=1', 'arm.kind=activation', 'arm.bufferRows=10000000'];
  const neededOn = (gpus: number): number => {
    const words = ['--pack', '1', ...large.flatMap((setting) => ['--set', setting])];
    const { stderr } = callOn({ gpus, runs: 8, ends: 'at once' }, words);
    expect(stderr).toMatch(/expected [\d.]+ GB of room on its disk/);
    return Number(/expected ([\d.]+) GB/.exec(stderr)?.[1]);
  };
  const [one, four] = [neededOn(1), neededOn(4)];
  expect(four - one).toBeGreaterThan(0.5);
});

it('three jobs share two: two on one GPU have half of nine tenths of its memory each', () => {
  const [shared, other] = namesOf(2);
  const found = gpusOf({ gpus: 2, runs: 3, ends: 'by themselves' }, '--jobs', '3');
  expect(found).toEqual([`${shared} 36450`, `${shared} 36450`, `${other} all`]);
});

describe('eight GPUs', () => {
  const eight = { gpus: 8, runs: 12, ends: 'at once' } as const;
  const all = namesOf(8).map((name) => `${name} all`);

  it('have a pack each, which share all runs between them, also where nobody says so', () => {
    expect(gpusOf(eight, '--pack', '2')).toEqual(all);
    expect(gpusOf(eight)).toEqual(all);
  });

  it('have single runs in turn where that is asked for, none of them idle', () => {
    const found = gpusOf(eight, '--pack', '1');
    expect(found).toHaveLength(12);
    expect([...new Set(found)]).toEqual(all);
  });

  it('are shared by more processes than there are', () => {
    const found = gpusOf(eight, '--jobs', '10', '--pack', '2');
    const shared = namesOf(2).flatMap((name) => [`${name} 36450`, `${name} 36450`]);
    expect(found).toEqual([...shared, ...all.slice(2)]);
  });
});
