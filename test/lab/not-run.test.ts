/**
 * The studies of the atlas that docs/results.md names as not run, rehearsed: each of their arms trains for two updates on a tiny base, takes
 * the steps that follow training, and is evaluated. Of a study that is run at some sizes of base the arms have run.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { EvaluationStore } from '../../src/evaluate/index.ts';
import { RunDirectory } from '../../src/run/index.ts';
import { readExperiment } from '../../src/study/experiment.ts';
import { gq } from '../run-gq.ts';
import { tinyModel } from '../smoke/lab.ts';
import { temporaryFolder } from './hand-made.ts';

const ran = readdirSync('bench/results').filter((file) => file.endsWith('-rates.csv')).join('\n'); // biome-ignore format: one line
const [, section] = readFileSync('docs/results.md', 'utf8').split('\n## Stated and not run\n');
const stated = [...section.split('\n## ')[0].matchAll(/^\|[^|]*\| `recipes\/(atlas-[\w-]+)\.toml`/gm)].map(([, name]) => name); // biome-ignore format: one line
const notRun = stated.filter((name) => !ran.includes(`${name.replace(/-(?:ladder|small)$/, '')}-`));

const small = ['updates=2', 'data.problems=32', 'sampling.promptsPerStep=2', 'sampling.group=4', 'sampling.maxNewTokens=24', 'optimiser.warmupUpdates=0', 'safety.tripwirePrompts=1', 'device.kind=wasm', 'device.threads=1']; // biome-ignore format: one line

it('the page names these studies as not run', () => {
  expect(notRun).toEqual(['atlas-b', 'atlas-j', 'atlas-i-monitors', 'atlas-k', 'atlas-b-times']);
});

it.each(notRun)('every arm of %s makes two updates and is evaluated', async (name) => {
  const { arms, relearn, seeds } = readExperiment(`recipes/${name}.toml`);
  // Arms that differ in their updates alone are one arm here.
  const names = [...new Map(arms.map((arm) => [arm.name.replace(/-u\d+$/, ''), arm.name])).values()];
  const settings = [`model=${await tinyModel()}`, ...small].flatMap((each) => ['--set', each]);
  const out = join(temporaryFolder(), 'runs');
  const { code, err } = await gq('experiment', name, '--arms', names.join(), '--seeds', `${seeds[0]}`, '--out', out, ...settings); // biome-ignore format: one line
  expect({ code, err }).toMatchObject({ code: 0 });
  for (const arm of names) {
    const path = join(out, `${arm}-${seeds[0]}`);
    const run = RunDirectory.open(path);
    expect([arm, run.isSealed(), existsSync(run.file('relearn'))]).toEqual([arm, true, relearn?.arms.includes(arm) ?? false]); // biome-ignore format: one line
    const evaluated = new EvaluationStore(path).all().map(({ update }) => update);
    expect(Math.max(...evaluated), arm).toBeGreaterThanOrEqual(2);
  }
});
