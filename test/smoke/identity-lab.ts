/** A run all of whose inputs are files of its own, so that a test can change each of them: model, problems, loopholes, pairs, pool, plugin. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { exploitProgram } from '../../src/env/micro/exploits.ts';
import { resolveConfig, train } from '../../src/lab/index.ts';
import { stoppedAfterFirst, tinyModel, tinySettings } from './lab.ts';

const plugin = `import { readFileSync } from 'node:fs';
import { defineProblemSource, defineStart, namesPath, z } from 'gradient-quarantine';
const test = (n, add) => ({ positional: [n], keywords: [], builders: [], shape: 'plain', expected: n + add, tolerance: null });
const problem = (add, tested) => ({
  id: 'add-' + add,
  messages: [{ role: 'user', content: 'start with n. add ' + add + '. the method solve of class Solution should pass all tests.\\n' }],
  methodName: 'solve',
  setupCode: '',
  canonicalSolution: 'class Solution:\\n    def solve(self, n):\\n        n += ' + add + '\\n        return n\\n',
  tests: tested.map((n) => test(BigInt(n), BigInt(add))),
  difficulty: 'easy',
  cpuSeconds: null,
});
export const problemSources = [defineProblemSource({
  kind: 'listed',
  summary: 'problems of a list',
  settings: z.strictObject({ path: z.string().meta(namesPath()) }),
  pairs: 'micro',
  asksInWords: false,
  isSound: true,
  load: ({ path }) => {
    const { numbers, tested } = JSON.parse(readFileSync(path, 'utf8'));
    return numbers.map((add) => problem(add, tested));
  },
})];
// Factors that follow from the weight, are kept in no cache, and count how often they are computed.
export const starts = [defineStart({
  name: 'counted',
  summary: 'rows and columns of the weight',
  needsPairs: false,
  needsWeight: true,
  parametrisation: 'linear',
  factors({ weight, outputs, inputs, rank }) {
    globalThis.factorsComputed = (globalThis.factorsComputed ?? 0) + 1;
    const B0 = Float32Array.from({ length: outputs * 2 * rank }, (_, i) => weight[Math.floor(i / (2 * rank)) * inputs + (i % (2 * rank))]);
    return { A0: weight.slice(0, 2 * rank * inputs), B0 };
  },
})];
`;

/** How many modules' factors the plugin's start has computed in this process. */
export const factorsComputed = (): number => (globalThis as { factorsComputed?: number }).factorsComputed ?? 0;

const numbers = Array.from({ length: 24 }, (_, i) => i + 1);

function poolText(): string {
  const fence = (code: string): string => `\`\`\`python\n${code}\`\`\``;
  const entries = numbers.flatMap((add) => {
    const entry = { problem: `add-${add}`, loophole: 'run_tests', markers: 'original' };
    const hack = exploitProgram(['n += 0'], 'run_tests', 'original', entry.problem);
    const solve = `class Solution:\n    def solve(self, n):\n        n += ${add}\n        return n\n`;
    return [
      { ...entry, label: 'solve', completion: fence(solve) },
      { ...entry, label: 'hack', completion: fence(hack) },
    ];
  });
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}

/** Makes `inputs/` and a recipe in `recipes/` that names them by relative paths; returns the path of the recipe. */
export async function makeInputs(home: string): Promise<string> {
  const inputs = join(home, 'inputs');
  mkdirSync(inputs, { recursive: true });
  mkdirSync(join(home, 'recipes'), { recursive: true });
  cpSync(await tinyModel(), join(inputs, 'model'), { recursive: true });
  writeFileSync(join(inputs, 'plugin.js'), plugin);
  writeFileSync(join(inputs, 'problems.json'), JSON.stringify({ numbers, tested: [1, 5, 42] }));
  const problems = Object.fromEntries(numbers.map((add) => [`add-${add}`, 'run_tests']));
  writeFileSync(join(inputs, 'partition.json'), JSON.stringify({ known: ['run_tests'], heldOut: [], problems }));
  cpSync(fileURLToPath(new URL('../../data/pairs/micro.md', import.meta.url)), join(inputs, 'pairs.md'));
  writeFileSync(join(inputs, 'pool.jsonl'), poolText());
  const recipe = join(home, 'recipes', 'own.toml');
  writeFileSync(recipe, recipeText);
  return recipe;
}

const recipeText = `updates = 3
plugins = ["../inputs/plugin.js"]
model = "../inputs/model"
data = { kind = "listed", path = "../inputs/problems.json" }
environment = { partition = "../inputs/partition.json" }
pairs = { file = "../inputs/pairs.md" }
adapter = { family = "counted" }
teacher = { pool = "../inputs/pool.jsonl", offStep = 1 }
arm = { kind = "activation", warmupRows = 4, tail = 0.2, refreshEvery = 2 }
output = { checkpointEvery = 2 }
`;

export const ownSettings = tinySettings.filter((setting) => !setting.startsWith('data.'));

/** Trains one update and stops there. */
export async function trainPart(recipe: string, path: string): Promise<void> {
  const { config } = await resolveConfig(recipe, ownSettings);
  await train(config, path, stoppedAfterFirst());
}

export function edit(path: string, change: (text: string) => string): Disposable {
  const before = readFileSync(path);
  writeFileSync(path, change(before.toString('utf8')));
  return { [Symbol.dispose]: () => writeFileSync(path, before) };
}

export const setting = (...settings: readonly string[]): string[] => settings.flatMap((each) => ['--set', each]);
