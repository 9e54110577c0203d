/** Parts of one experiment that are begun at the same moment, each by a process of its own: nothing of either may be lost. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findExperiment } from '../../src/study/index.ts';
import { gqProgram } from '../gq-command.ts';
import { tinyModel, tinySettings } from '../smoke/lab.ts';

const parts = ['vanilla', 'haar'];

/** Begins both parts so many times, each time in another folder; returns what was wrong. */
export async function beginTogether(rounds: number): Promise<readonly string[]> {
  const home = mkdtempSync(join(tmpdir(), 'gq-parts-'));
  const settings = [`model=${JSON.stringify(await tinyModel())}`, ...tinySettings, 'updates=1'];
  const recipe = join(home, 'parts.toml');
  writeFileSync(
    recipe,
    `name = "parts"
seeds = [1]
set = ${JSON.stringify(settings)}
[evaluation]
sets = ["test-original"]
curveEvery = 0
limit = 1
[[arms]]
name = "vanilla"
recipe = "micro-vanilla"
[[arms]]
name = "haar"
recipe = "micro-symmetric"
set = ["arm.placebo=haar"]
`,
  );
  const surprises: string[] = [];
  try {
    for (let round = 0; round < rounds; round++) {
      const out = join(home, `round-${round}`);
      const codes = await Promise.all(parts.map((arm) => beginPart(recipe, arm, out)));
      const { runs, missing, experiment } = findExperiment(out);
      const found = JSON.stringify({
        codes,
        runs: runs.map(({ arm }) => arm).sort(),
        missing: missing.length,
        design: experiment?.arms.map(({ name }) => name),
      });
      if (found !== JSON.stringify({ codes: [0, 0], runs: ['haar', 'vanilla'], missing: 0, design: parts })) {
        surprises.push(`round ${round}: ${found}`);
      }
      rmSync(out, { recursive: true, force: true });
    }
    return surprises;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** The exit code of the process that does one part. */
function beginPart(recipe: string, arm: string, out: string): Promise<number | null> {
  const words = ['experiment', recipe, '--arms', arm, '--out', out];
  const child = spawn(process.execPath, [gqProgram(), ...words], { stdio: 'ignore' });
  return new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
}
