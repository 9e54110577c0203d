/** Two ranks on one GPU, or one each where there are two, give the bytes of one rank; needs Open MPI. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Check } from '../device/suite.ts';
import { gqProgram } from '../gq-command.ts';
import { fingerprint } from '../parallel/fingerprint.ts';
import { missingMpi, runMpirun } from '../parallel/mpirun.ts';
import { tinyModel, tinySettings } from '../smoke/lab.ts';

export async function compareRanks(precision: 'bf16' | 'f32'): Promise<Check[]> {
  const missing = missingMpi();
  if (missing !== null) {
    console.log(`ranks       not checked: ${missing}`);
    return [];
  }
  const folder = mkdtempSync(join(tmpdir(), 'gq-ranks-'));
  try {
    const settings = [
      ...tinySettings,
      ...['parallel.shards=8', 'updates=4', 'sampling.promptsPerStep=8', 'arm.kind=activation', 'arm.warmupRows=4'],
      ...['device.kind=cuda', `device.precision=${precision}`, 'device.arenaMiB=1024'],
    ].flatMap((setting) => ['--set', setting]);
    const hashes: string[] = [];
    for (const ranks of [1, 2]) {
      const out = join(folder, `${ranks}`);
      const argv = ['train', '--model', await tinyModel(), '--out', out, ...settings];
      const { code, err } = await runMpirun({ ranks, program: gqProgram(), argv });
      hashes.push(code === 0 ? fingerprint(out) : `${ranks} ranks ended with ${code}: ${err}`);
    }
    const pass = hashes[0] === hashes[1];
    const quantity = pass ? `bytes ${hashes[0]}` : hashes.join(' and ');
    return [
      { case: `1 and 2 ranks, ${precision}`, quantity, maxAbs: pass ? 0 : 1, maxRel: pass ? 0 : 1, bound: 0, pass },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
