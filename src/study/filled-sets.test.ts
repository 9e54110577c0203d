import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../test/lab/hand-made.ts';
import { runCli } from '../cli/program.ts';
import { checkExperiment, checkInputs, planExperiment } from './experiment.ts';

/** Problems for training and for tests, none for validation. */
const source = `import { defineProblemSource, z } from 'gradient-quarantine';
const call = { positional: [1n], keywords: [], builders: [], shape: 'plain', expected: 1n, tolerance: null };
const messages = [{ role: 'user', content: 'start with n. add 1. the method solve of class Solution should pass all tests.\\n' }];
const rest = { messages, methodName: 'solve', setupCode: '', canonicalSolution: 'pass', difficulty: 'easy', cpuSeconds: null };
const problem = (id) => ({ id, ...rest, tests: [call] });
const load = () => ({ train: [problem('a')], validation: [], test: [problem('b')] });
export const problemSources = [defineProblemSource({ kind: 'three', summary: 'x', settings: z.strictObject({}), pairs: 'micro', isSound: true, load })];`;

function write(evaluation: string): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'three.js'), source);
  writeFileSync(join(folder, 'plain.toml'), 'extends = "micro-base"\n');
  writeFileSync(join(folder, 'own.toml'), 'extends = "micro-base"\nplugins = ["./three.js"]\n[data]\nkind = "three"\n');
  const arms = ['plain', 'own'].map((name) => `[[arms]]\nname = "${name}"\nrecipe = "${name}.toml"\n`).join('');
  writeFileSync(join(folder, 'both.toml'), `name = "both"\nseeds = [1]\n${arms}[evaluation]\n${evaluation}\n`);
  return folder;
}

describe('a set without problems', () => {
  it('of any arm is refused before the first run, and nothing is written', async () => {
    const folder = write('curveEvery = 10');
    let err = '';
    const streams = { stdout: { write: () => undefined }, stderr: { write: (text: string) => (err += text) } };
    const out = join(folder, 'out');
    expect(await runCli(['experiment', join(folder, 'both.toml'), '--out', out], streams)).toBe(2);
    expect(err).toContain(
      'gq: experiment both, arm own: expected problems in the split "validation", for the set curve, found none (1 train, 0 validation, 1 test)',
    );
    expect(existsSync(out)).toBe(false);
  });

  it('does not matter where it is not asked for', async () => {
    const folder = write('curveEvery = 0');
    const arms = [{ name: 'own', recipe: 'own.toml' }];
    const experiment = checkExperiment({ name: 'one', seeds: [1], evaluation: { curveEvery: 0 }, arms }, 'one');
    const plan = await planExperiment(experiment, join(folder, 'one.toml'));
    expect(await checkInputs(plan)).toEqual([{ model: 'micro', splits: { train: 1, validation: 0, test: 1 } }]);
  });
});

describe('a test prompt that is too long', () => {
  it.each([
    ['sampling.maxPromptTokens=3', 'at most 3 tokens \\(sampling.maxPromptTokens\\)'],
    ['sampling.maxNewTokens=250', "at most 6 tokens \\(the model's context of 256 less sampling.maxNewTokens\\)"],
  ])('is refused before the first run, and not when it is evaluated: %s', async (setting, said) => {
    const folder = write('curveEvery = 0');
    const arms = [{ name: 'plain', recipe: 'plain.toml', set: [setting] }];
    const experiment = checkExperiment({ name: 'one', seeds: [1], evaluation: { curveEvery: 0 }, arms }, 'one');
    const plan = await planExperiment(experiment, join(folder, 'one.toml'));
    await expect(checkInputs(plan)).rejects.toThrow(new RegExp(`^prompt of problem .*: expected ${said}`));
  });
});
