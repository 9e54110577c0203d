/** The real command on a machine of two GPUs that are stand-ins: its processes are real, and tell which GPU they were given before they fail to open it. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { gqProgram } from '../gq-command.ts';
import { tinyModel, tinySettings } from '../smoke/lab.ts';
import { temporaryFolder } from './hand-made.ts';

const home = temporaryFolder();
const names = Array.from({ length: 2 }, (_, i) => `GPU-stand-in-${i}`);
const settings = [`model=${await tinyModel()}`, ...tinySettings, 'device.kind=cuda', 'updates=1'];
const recipe = join(home, 'three.toml');
writeFileSync(
  recipe,
  `name = "three"\nseeds = [1, 2, 3]\n[evaluation]\ncurveEvery = 0\nlimit = 2\nsets = ["test-original"]\n` +
    `[[arms]]\nname = "vanilla"\nrecipe = "${resolve('recipes', 'micro-vanilla.toml')}"\n`,
);
mkdirSync(join(home, 'bin'));
const lines = names.map((name, i) => `${i}, ${name}, 81000`).join('\n');
writeFileSync(join(home, 'bin', 'nvidia-smi'), `#!/bin/sh\ncat <<'E'\n${lines}\nE\n`, { mode: 0o755 });
const recorder = join(home, 'record.mjs');
writeFileSync(
  recorder,
  `import { appendFileSync } from 'node:fs';
  const { CUDA_VISIBLE_DEVICES, GQ_GPU_MIB, GPU_RECORD } = process.env;
  if (process.send !== undefined) appendFileSync(GPU_RECORD, CUDA_VISIBLE_DEVICES + ' ' + (GQ_GPU_MIB ?? 'all') + '\\n');`,
);

/** The GPU of each process that the command started, with the memory that it may take. */
function gpusOf(...words: readonly string[]): string[] {
  const record = join(home, `record-${words.join('')}`);
  const command = ['experiment', recipe, '--out', join(home, `out${words.join('')}`), ...words];
  const sets = settings.flatMap((setting) => ['--set', setting]);
  const { status, stderr } = spawnSync(process.execPath, [gqProgram(), ...command, ...sets], {
    encoding: 'utf8',
    env: {
      ...process.env,
      PATH: `${join(home, 'bin')}${delimiter}${process.env['PATH']}`,
      CUDA_VISIBLE_DEVICES: names.join(','),
      NODE_OPTIONS: `--import=${pathToFileURL(recorder)}`,
      GPU_RECORD: record,
    },
  });
  expect({ status, failed: stderr.includes('failed:') }, stderr).toEqual({ status: 1, failed: true });
  return readFileSync(record, 'utf8').trim().split('\n').sort();
}

it('three jobs share them: two on one GPU have half of nine tenths of its memory each', () => {
  const [shared] = names;
  const expected = [`${shared} 36450`, ...names.map((name) => (name === shared ? `${name} 36450` : `${name} all`))];
  expect(gpusOf('--jobs', '3')).toEqual(expected.sort());
});
