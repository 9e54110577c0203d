/** An experiment without any placebo says so before it trains: results would say it when the hours are spent. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { gq } from '../run-gq.ts';
import { tinyModel } from '../smoke/lab.ts';
import { temporaryFolder } from './hand-made.ts';

const folder = temporaryFolder();
const model = await tinyModel();
const shorter = ['updates=1', 'data.problems=64', 'sampling.promptsPerStep=2', 'sampling.group=2', `model=${model}`];
const settings = [...shorter, 'sampling.maxNewTokens=4'].flatMap((setting) => ['--set', setting]);
const evaluation = '[evaluation]\nsets = ["test-original"]\ncurveEvery = 0\nlimit = 1\n';

function experiment(name: string, head: string, ...arms: readonly string[]): readonly string[] {
  const listed = arms.map((arm) => `[[arms]]\nname = "${arm}"\nrecipe = "micro-${arm}"\n`);
  const path = join(folder, `${name}.toml`);
  writeFileSync(path, `name = "${name}"\nseeds = [1]\n${head}${evaluation}${listed.join('')}`);
  return ['experiment', path, '--out', join(folder, name), ...settings];
}

const warned = /^placebo {2}none for activation: deleting any part/m;

it('the dry run and the start say it, where an arm claims something', async () => {
  const call = experiment('bare', '', 'vanilla', 'activation');
  const dry = await gq(...call, '--dry-run');
  expect(dry.out).toMatch(warned);
  expect(dry.err).not.toMatch(warned);
  expect((await gq(...call)).err).toMatch(warned);
});

it.each([
  ['with a placebo', 'placebo = "haar"\n', ['vanilla', 'activation', 'haar']],
  ['of arms without a remedy', '', ['vanilla', 'no-loophole']],
])('an experiment %s does not', async (name, head, arms) => {
  const { code, out } = await gq(...experiment(name.replaceAll(' ', '-'), head, ...arms), '--dry-run');
  expect(code).toBe(0);
  expect(out).not.toContain('placebo  none');
});
