/** The real command on machines whose GPUs are stand-ins: its processes are real, and tell which GPU they were given before they fail to open it, or end. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { gqProgram } from '../gq-command.ts';
import { tinyModel, tinySettings } from '../smoke/lab.ts';
import { temporaryFolder } from './hand-made.ts';

const home = temporaryFolder();
const namesOf = (count: number): string[] => Array.from({ length: count }, (_, i) => `GPU-stand-in-${i}`);
const settings = [`model=${await tinyModel()}`, ...tinySettings, 'device.kind=cuda', 'updates=1'];
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
}

/** The GPU of each process that the command started, with the memory that it may take. */
function gpusOf({ gpus, runs, ends }: Machine, ...words: readonly string[]): string[] {
  const names = namesOf(gpus);
  const place = join(home, `${gpus} ${words.join('')}`);
  mkdirSync(place);
  const lines = names.map((name, i) => `${i}, ${name}, 81000`).join('\n');
  writeFileSync(join(place, 'nvidia-smi'), `#!/bin/sh\ncat <<'E'\n${lines}\nE\n`, { mode: 0o755 });
  const seeds = Array.from({ length: runs }, (_, i) => i + 1);
  const command = ['experiment', writeRecipe(seeds), '--out', join(place, 'out'), ...words];
  const sets = settings.flatMap((setting) => ['--set', setting]);
  const { status, stderr } = spawnSync(process.execPath, [gqProgram(), ...command, ...sets], {
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
  expect({ status, failed: stderr.includes('failed:') }, stderr).toEqual({ status: 1, failed: true });
  return readFileSync(join(place, 'record'), 'utf8').trim().split('\n').sort();
}

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
