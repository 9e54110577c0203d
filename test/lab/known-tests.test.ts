/**
 * The test problems that others report rates on cannot be trained on by any command of the package. One is known by its id and its method;
 * its text here is another.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { commandTable, loadCommands } from '../../src/cli/table.ts';
import { loadProblems } from '../../src/env/importers/load.ts';
import { programOf } from '../../src/env/problem.ts';
import { fileSource } from '../../src/env/sources/file.ts';
import { gq } from '../run-gq.ts';
import { datum, learning, Served } from '../serve/tinker/trained.ts';
import { temporaryFolder } from './hand-made.ts';
import { writeMultiples, writeTinyQwen } from './qwen-lab.ts';

const home = temporaryFolder();
const [problems, known, mixed] = ['problems', 'known', 'mixed'].map((name) => join(home, `${name}.jsonl`));
writeMultiples(
  problems,
  Array.from({ length: 24 }, (_, i) => 2 + i),
);
writeMultiples(known, [101]);
const renamed = readFileSync(known, 'utf8').replaceAll('double', 'shortestDistanceAfterQueries');
writeFileSync(known, `${JSON.stringify({ ...JSON.parse(renamed), id: 3243 })}\n`);
writeFileSync(mixed, `${readFileSync(problems, 'utf8')}${readFileSync(known, 'utf8')}`);
const ownSource = `import { defineProblemSource, z } from 'gradient-quarantine';
const call = { positional: [1n], keywords: [], builders: [], shape: 'plain', expected: 1n, tolerance: null };
const messages = [{ role: 'user', content: 'start with n. add 1. the method solve of class Solution should pass all tests.\\n' }];
const rest = { messages, setupCode: '', canonicalSolution: 'pass', difficulty: 'easy', cpuSeconds: null, tests: [call] };
const known = { id: '3243', methodName: 'shortestDistanceAfterQueries', ...rest };
const load = () => ({ train: [known], validation: [], test: [{ ...known, id: 'b' }] });
export const problemSources = [defineProblemSource({ kind: 'copied', summary: 'x', settings: z.strictObject({}), pairs: 'micro', isSound: true, load })];`;
const experiment = join(home, 'one.toml');
writeFileSync(
  experiment,
  `name = "one"\nseeds = [1]\n[[arms]]\nname = "vanilla"\nrecipe = "${join(process.cwd(), 'recipes/qwen3-4b-fast.toml')}"\n`,
);
const study = join(home, 'study.toml');
writeFileSync(study, `name = "study"\n[[steps]]\nexperiment = "one.toml"\n`);

/** Every command that reads problems by a config, each with words that make it do so; those that only print or check a config are left out. */
const calls: Readonly<Record<string, readonly (readonly string[])[]>> = {
  train: [['train', 'qwen3-4b-fast', '--out', join(home, 'run')]],
  experiment: [
    ['experiment', experiment, '--out', join(home, 'out')],
    ['experiment', study, '--out', join(home, 'out')],
  ],
  eval: [['eval', 'qwen3-4b-fast', '--elicit', '--out', join(home, 'out')]],
  'pool make': [['pool', 'make', 'qwen3-4b-fast', '--out', join(home, 'pool.jsonl')]],
  'pairs from-pool': [['pairs', 'from-pool', problems, 'qwen3-4b-fast', '--out', join(home, 'pairs.json')]],
  'verify arm': [['verify', 'arm', 'qwen3-4b-fast']],
  'env serve': [['env', 'serve', 'qwen3-4b-fast', '--protocol', 'ors', '--port', '0']],
};
/** `claim` hashes a file, `config` prints one, `demo` and `micro pretrain` have problems of their own, `monitors bench` reads transcripts, `serve` trains on what loops send, which the last test is about. */
const withoutProblems = ['claim', 'config', 'demo', 'micro pretrain', 'monitors bench', 'serve'];
const checkingAlone = ['verify rewards', 'verify markers', 'verify partition'];

describe('a known test problem', () => {
  it.each(
    Object.values(calls)
      .flat()
      .map((words) => [words.slice(0, 2).join(' '), words] as const),
  )('is refused by gq %s, among training and among validation problems', async (_name, words) => {
    for (const files of [[`data.path=${mixed}`], [`data.path=${problems}`, `data.validationPath=${known}`]]) {
      const settings = ['data.kind=file', 'model=micro', 'device.kind=wasm', 'pairs.file=micro', ...files];
      const { code, err } = await gq(...words, ...settings.flatMap((setting) => ['--set', setting]));
      expect({ code, err }).toMatchObject({
        code: 2,
        err: expect.stringContaining('that are no test problems of the LeetCode benchmark, found 1 of'),
      });
    }
  });

  it('is refused from a source of one’s own', async () => {
    writeFileSync(join(home, 'own.js'), ownSource);
    const recipe = join(home, 'own.toml');
    writeFileSync(recipe, 'extends = "micro-base"\nupdates = 1\nplugins = ["./own.js"]\n[data]\nkind = "copied"\n');
    const { code, err } = await gq('train', recipe, '--out', join(home, 'own'));
    expect({ code, err }).toMatchObject({
      code: 2,
      err: expect.stringContaining(
        'data of kind "copied": expected training problems that are no test problems of the LeetCode benchmark, found 1 of 1',
      ),
    });
  });

  it('may be tested on', async () => {
    expect((await fileSource.load({ path: problems, testPath: known })).splits.test).toHaveLength(1);
  });

  it('is refused in what a loop sends to gq serve to learn from, stated or solved, in other names too, and may be scored', async (context) => {
    const file = fileURLToPath(new URL('../../../shared/data/leetcode_test_medhard.jsonl.gz', import.meta.url));
    if (!existsSync(file)) return context.skip(`${file} is missing`);
    const { loaded } = await loadProblems(file);
    const [problem] = loaded
      .map((each) => programOf(each.problem))
      .filter((each) => each.canonicalSolution.length > 800);
    const folder = join(home, 'qwen');
    await writeTinyQwen(folder);
    await using served = await Served.start({ context: 2048 }, folder);
    const { text } = await served.lab.weights;
    const model = await served.model();
    const other = 'Write a function that doubles n.';
    const stated = problem.messages.map(({ content }) => content).join('\n');
    const solution = problem.canonicalSolution;
    const variables = [...solution.matchAll(/^ +(\w+) = /gm)].map(([, name]) => name);
    const renamed = solution.replace(/(?<![.\w])\w+/g, (word) => (variables.includes(word) ? `my_${word}` : word));
    expect(variables.length).toBeGreaterThan(3);
    const send = async (texts: readonly string[], more: object = {}): Promise<number> => {
      const data = texts.map((prompt) => {
        const [first, ...rest] = text.encode(prompt);
        return datum([first], rest, { weights: 1 });
      });
      return (await served.post('forward_backward', { ...learning(model, data), ...more })).status;
    };
    expect(await send([other])).toBe(200);
    const solved = [`# As asked.\n${solution}`, renamed, `Here:\n\`\`\`python\n${renamed}\n\`\`\``];
    for (const known of [stated, ...solved]) {
      expect(await send([other, known])).toBe(400);
      expect(await send([known], { forward_only: true })).toBe(200);
    }
    // An answer to a known problem is learned as little as the problem.
    const answered = datum([...text.encode(stated)], [...text.encode(other)], { weights: 1 });
    expect((await served.post('forward_backward', learning(model, [answered]))).status).toBe(400);
  });

  it('has no setting that lets it through', async () => {
    expect(Object.keys(fileSource.settings.shape)).toEqual(['path', 'testPath', 'validationPath']);
    const help = await gq('train', '--help');
    expect(help.out).not.toMatch(/allow-test/);
  });

  it('is tried with every command that takes settings', async () => {
    const all = await loadCommands(commandTable);
    const taking = all.filter(({ value }) => 'set' in (value.options ?? {})).map(({ words }) => words.join(' '));
    expect(taking.sort()).toEqual([...Object.keys(calls), ...withoutProblems, ...checkingAlone].sort());
  });
});
