/** Parts of one experiment that are begun at the same moment, each by a process of its own: nothing of either may be lost. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RunDirectory, trainedStatus } from '../../src/run/index.ts';
import { readRegister } from '../../src/study/claim.ts';
import { findExperiment } from '../../src/study/directory.ts';
import { gqProgram } from '../gq-command.ts';
import { gq } from '../run-gq.ts';
import { tinyModel, tinySettings } from '../smoke/lab.ts';

const parts = ['vanilla', 'haar'];

/** Begins both parts so many times, each time in another folder; returns what was wrong. */
export async function beginTogether(rounds: number): Promise<readonly string[]> {
  const home = mkdtempSync(join(tmpdir(), 'gq-parts-'));
  const surprises: string[] = [];
  try {
    const recipe = await writeRecipe(home);
    for (let round = 0; round < rounds; round++) {
      const out = join(home, `round-${round}`);
      const ends = await Promise.all(parts.map((arm) => beginPart(recipe, arm, out)));
      const { runs, missing, experiment } = findExperiment(out);
      const found = JSON.stringify({
        codes: ends.map(({ code }) => code),
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

/** Begins one part by two processes at once; returns what was wrong with them, or with the study afterwards. */
export async function beginSame(): Promise<readonly string[]> {
  const home = mkdtempSync(join(tmpdir(), 'gq-parts-'));
  try {
    const recipe = await writeRecipe(home);
    const out = join(home, 'study');
    const begin = (): Promise<PartEnd> => beginPart(recipe, 'vanilla', out);
    const ends = await Promise.all([begin(), begin()]);
    const surprises = ends
      .filter(({ code, said }) => code !== 0 && !(code === 75 && said.includes('vanilla-1 is left to process')))
      .map(({ code, said }) => `ended with ${code}: ${said}`);
    if (ends.every(({ code }) => code !== 0)) surprises.push('neither trained the run');
    const begun = readRegister(out).begun.length;
    if (begun !== 1) surprises.push(`counted as begun ${begun} times`);
    // A claim whose prediction is open ends with 1.
    const claim = await gq('claim', out);
    if (claim.code !== 0 && claim.code !== 1) surprises.push(`claim afterwards ended with ${claim.code}: ${claim.err}`);
    for (const { code, err } of [await gq('results', out), await gq(...partOf(recipe, 'vanilla', out))]) {
      if (code !== 0) surprises.push(`afterwards ended with ${code}: ${err}`);
    }
    return surprises;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Begins a study of which a living process holds the first run; returns what was wrong with what it did. */
export async function beginHeld(): Promise<readonly string[]> {
  const home = mkdtempSync(join(tmpdir(), 'gq-parts-'));
  try {
    const recipe = await writeRecipe(home);
    const surprises: string[] = [];
    for (const words of [[], ['--jobs', '2'], ['--pack', '2']]) {
      const out = join(home, words.join('') || 'alone');
      const argv = ['experiment', recipe, '--out', out, ...words];
      // With --jobs in a process of its own: it begins others, which an older Node cannot begin from the sources.
      const beginAll = () => (words.includes('--jobs') ? begin(argv) : beginHere(argv));
      const held = RunDirectory.create(join(out, 'vanilla-1'));
      {
        using _lock = held.lock();
        const { code, said } = await beginAll();
        if (code !== 75) surprises.push(`${out}: ended with ${code} beside another process: ${said}`);
        if (!said.includes(`vanilla-1 is left to process ${process.pid}`))
          surprises.push(`${out} does not say so: ${said}`);
        if ((await trainedStatus(join(out, 'haar-1'))) !== 'finished') surprises.push(`${out}: haar-1 is not trained`);
        if (held.hasManifest()) surprises.push(`${out}: vanilla-1 was begun`);
      }
      const { code, said } = await beginAll();
      if (code !== 0) surprises.push(`${out}: ended with ${code} afterwards: ${said}`);
    }
    return surprises;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function writeRecipe(home: string): Promise<string> {
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
[[predictions]]
what = "vanilla attempts"
arm = "vanilla"
metric = "attempt"
atLeast = 0.1
inSeeds = 1
`,
  );
  return recipe;
}

interface PartEnd {
  readonly code: number | null;
  /** What it printed to standard error. */
  readonly said: string;
}

const partOf = (recipe: string, arm: string, out: string): string[] => [
  ...['experiment', recipe, '--arms', arm, '--out', out],
];

const beginPart = (recipe: string, arm: string, out: string): Promise<PartEnd> => begin(partOf(recipe, arm, out));

async function beginHere(words: readonly string[]): Promise<PartEnd> {
  const { code, err } = await gq(...words);
  return { code, said: err };
}

function begin(words: readonly string[]): Promise<PartEnd> {
  const child = spawn(process.execPath, [gqProgram(), ...words], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  return new Promise((resolve, reject) => child.on('error', reject).on('close', (code) => resolve({ code, said })));
}
