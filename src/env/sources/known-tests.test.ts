/** The test problems of the benchmark are recognised, and refused as training data. The file itself is not part of the repository. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { loadProblems } from '../importers/load.ts';
import { loadPairs, shippedPairNames } from '../pairs/load.ts';
import { type ProgramProblem, programOf } from '../problem.ts';
import { fileSource } from './file.ts';
import { expectNoKnownTest, expectNoTestDemonstrations, expectNoTestPairs } from './known-tests.ts';

const file = fileURLToPath(new URL('../../../../shared/data/leetcode_test_medhard.jsonl.gz', import.meta.url));
const training = fileURLToPath(new URL('../../../test/data/problems-benchmark.jsonl', import.meta.url));

it('the 119 test problems of the LeetCode benchmark are refused as training data', async (context) => {
  if (!existsSync(file)) return context.skip(`${file} is missing`);
  const load = async (settings: object) => {
    const { splits } = await fileSource.load({ path: file, ...settings });
    expectNoKnownTest(splits, 'file');
    return splits;
  };
  await expect(load({})).rejects.toThrow(
    /that are no test problems of the LeetCode benchmark, found \d+ of \d+ that are/,
  );
  await expect(load({ path: training, validationPath: file })).rejects.toThrow('found 119 of');
  expect((await load({ path: training, testPath: file })).test).toHaveLength(119);
});

it('pairs of the 119 are refused too, whatever their hint and layout, and shipped ones are no such pairs', async (context) => {
  for (const name of shippedPairNames()) expectNoTestPairs((await loadPairs(name)).pairs, name);
  if (!existsSync(file)) return context.skip(`${file} is missing`);
  const { loaded } = await loadProblems(file);
  const sides = { section: '', heading: '', tags: [], hack: 'pass', clean: 'return 1' };
  const pairs = loaded.map(({ problem }) => ({ ...sides, prompt: problem.messages }));
  expect(() => expectNoTestPairs(pairs, 'pairs.md')).toThrow('found 119 of 119 that are');
  const [{ content }] = pairs[0].prompt.filter(({ role }) => role === 'user');
  const spaced = [{ ...sides, prompt: `Please.\n${content.replaceAll('\n', '\n\n')}\nThere is a hint.` }];
  expect(() => expectNoTestPairs(spaced, 'pairs.md')).toThrow('found 1 of 1');
  const fenced = (code: string): string => `\`\`\`python\n${code}\n\`\`\`\n`;
  const solution = fenced(loaded[0].problem.canonicalSolution);
  for (const clean of [solution, `First:\n${fenced('pass')}Then:\n${solution}`]) {
    expect(() => expectNoTestPairs([{ ...sides, prompt: 'Go on.', clean }], 'pairs.md')).toThrow('found 1 of 1');
  }
  const turns = ['system', 'assistant'].map((role) => [
    { role, content },
    { role: 'user', content: 'Go on.' },
  ]);
  for (const prompt of turns as (typeof pairs)[number]['prompt'][]) {
    expect(() => expectNoTestPairs([{ ...sides, prompt }], 'pairs.md')).toThrow('found 1 of 1');
  }
});

it('their solutions are refused in demonstrations of other problems, with remarks on every line too', async (context) => {
  if (!existsSync(file)) return context.skip(`${file} is missing`);
  const { loaded } = await loadProblems(file);
  const other = ['class Solution:', '    def double(self, n):', '        return 2 * n'].join('\n');
  const remarked = loaded.map(({ problem }) => {
    const lines = problem.canonicalSolution.split('\n');
    return `${other}\n\n${lines.map((line, i) => (line.trim() === '' ? line : `${line}  # line ${i}`)).join('\n')}`;
  });
  // Some are too short to be known in a longer text.
  expect(() => expectNoTestDemonstrations(remarked, 'pool.jsonl')).toThrow(/found 1[01]\d of 119 that do/);
  expectNoTestDemonstrations([other], 'pool.jsonl');
  // A problem that remarks state, and a solution with remarks in a prompt.
  const stated = loaded.map(({ problem: { messages } }) => messages.map(({ content }) => content).join('\n'));
  const remarks = stated.map((text) => `${text.replace(/^/gm, '# ')}\n${other}`);
  expect(() => expectNoTestDemonstrations(remarks, 'pool.jsonl')).toThrow('found 119 of 119 that do');
  const sides = { section: '', heading: '', tags: [], hack: 'pass', clean: 'return 1' };
  const pairs = remarked.map((prompt) => ({ ...sides, prompt }));
  expect(() => expectNoTestPairs(pairs, 'pairs.md')).toThrow(/found 1[01]\d of 119 that are/);
});

it('a text of nothing but marks takes no time to speak of', () => {
  const before = process.cpuUsage();
  const marks = ['`', '\n', 'PROBLEM:\n', '<a ', '&a', '](', '[a](b', '\n1', '\n   ', '"""\n', "''", 'def a', 'a = '];
  const texts = marks.map((mark) => `PROBLEM:${mark.repeat(100_000)}`);
  expectNoTestDemonstrations(texts, 'pool.jsonl');
  const train = texts.map((content) => ({
    id: 'other',
    messages: [{ role: 'user', content }],
    canonicalSolution: 'pass',
  }));
  expectNoKnownTest({ train: train as unknown as ProgramProblem[], validation: [], test: [] }, 'file');
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1e6).toBeLessThan(5);
});

it('one of them is known by its number and method, by its statement in any frame, or by its solution alone', async (context) => {
  if (!existsSync(file)) return context.skip(`${file} is missing`);
  const { loaded } = await loadProblems(file);
  const others = { id: 'other', methodName: 'solve', canonicalSolution: 'pass', messages: [] };
  const isRefused = (problem: object): boolean => {
    const train = [problem as ProgramProblem];
    try {
      expectNoKnownTest({ train, validation: [], test: [] }, 'file');
      return false;
    } catch {
      return true;
    }
  };
  for (const { problem } of loaded) {
    const { id, methodName, canonicalSolution, messages } = programOf(problem);
    const asked = messages.filter(({ role }) => role === 'user').map(({ content }) => content);
    const statement = /PROBLEM:([\s\S]*?)\n\s*Your solution\b/.exec(asked.join('\n'))?.[1];
    // As LeetCodeDataset 0.3.0 asks for it, where the id is another.
    const query = `PROBLEM:\nWrite Python.\n\n### Question:\n${statement}\n\n### Format: Use this code.\n\nYour solution should pass all tests.`;
    const known = [
      { ...others, id, methodName },
      { ...others, canonicalSolution: canonicalSolution.replaceAll('\n', '\n\n') },
      { ...others, messages: [{ role: 'user', content: query }] },
      // In a frame of one's own, with markup, in two turns, and without its examples.
      { ...others, messages: [{ role: 'user', content: `Here is a task.\n${statement}\nBegin.` }] },
      { ...others, messages: [{ role: 'user', content: (statement ?? '').replace(/^.+$/gm, '<p>$&</p>') }] },
      {
        ...others,
        messages: [
          { role: 'system', content: (statement ?? '').slice(0, 200) },
          { role: 'user', content: (statement ?? '').slice(200) },
        ],
      },
      { ...others, messages: [{ role: 'user', content: `Task: ${(statement ?? '').split('Example 1')[0]}` }] },
      // As a page or a file of JSON escapes it.
      { ...others, messages: [{ role: 'user', content: (statement ?? '').replaceAll("'", '&#39;') }] },
      { ...others, messages: [{ role: 'user', content: JSON.stringify(statement) }] },
      // As an environment outside gives it, whose tasks are texts.
      { id: 'seed-1', messages, canonicalSolution: '', evaluation: 'x', facts: {} },
    ];
    expect(known.map(isRefused), id).toEqual(known.map(() => true));
  }
  expect(isRefused(others)).toBe(false);
});

/** With a mark before each line. */
const numbered = (text: string, mark: (line: number) => string): string =>
  text
    .split('\n')
    .map((line, i) => `${mark(i + 1)}${line}`)
    .join('\n');

/** Without the types of parameters and results. */
const untyped = (code: string): string =>
  code.replace(/^( *def \w+)\(self, (.*)\) *->.*:$/gm, (_, head: string, parameters: string) => {
    const names = [...parameters.matchAll(/(?:^|, )(\w+):/g)].map(([, name]) => name);
    return `${head}(self, ${names.join(', ')}):`;
  });

it('nearly all are known with numbered lines, with links, by the first 300 letters and by solutions without type hints', async (context) => {
  if (!existsSync(file)) return context.skip(`${file} is missing`);
  const { loaded } = await loadProblems(file);
  const others = { id: 'other', methodName: 'solve', canonicalSolution: 'pass', messages: [] };
  const isRefused = (refuse: () => void): boolean => {
    try {
      refuse();
      return false;
    } catch {
      return true;
    }
  };
  const missed = (isKnown: (statement: string, solution: string) => boolean): number =>
    loaded.filter(({ problem }) => {
      const asked = problem.messages.map(({ content }) => content).join('\n');
      const statement = /PROBLEM:([\s\S]*?)\n\s*Your solution\b/.exec(asked)?.[1] ?? '';
      return !isKnown(statement.trim(), problem.canonicalSolution);
    }).length;
  const isStated = (content: string): boolean => {
    const train = [{ ...others, messages: [{ role: 'user', content }] } as unknown as ProgramProblem];
    return isRefused(() => expectNoKnownTest({ train, validation: [], test: [] }, 'file'));
  };
  const isSolved = (text: string): boolean => isRefused(() => expectNoTestDemonstrations([text], 'pool.jsonl'));
  const linked = (text: string): string => text.replace(/[a-z]{6,}/g, (word) => `[${word}](https://example.org/${word})`); // biome-ignore format: one line
  const wrapped = (text: string): string => text.replace(/(.{1,60}) /g, '$1\n');
  const marks = ['N. ', 'N: ', '     N ', 'LN| ', '(N) ', '[N] ', '- N. ', '#N ', '> N) ', '// line N: ', '00000N '].map((mark) => (i: number) => mark.replace('N', `${i}`)); // biome-ignore format: one line
  for (const mark of marks) {
    expect(missed((statement) => isStated(numbered(wrapped(statement), mark)))).toBe(0);
    // Two solutions have fewer passages than are needed.
    expect(missed((_, solution) => isSolved(`Here:\n${numbered(solution, mark)}`))).toBeLessThanOrEqual(2);
  }
  expect(missed((statement) => isStated(linked(statement)))).toBe(0);
  // Four begin as another problem does, which nobody is kept from.
  expect(missed((statement) => isStated(`Here is a task.\n${statement.slice(0, 300)}`))).toBeLessThanOrEqual(4);
  expect(missed((_, solution) => isSolved(untyped(solution)))).toBeLessThanOrEqual(5);
});

/** With other names for parameters and for what is assigned, looped over or defined within. */
function renamed(code: string): string {
  const bound =
    /\bdef (\w+)\((?!\s*self)|(\w+)(?=: \w[^,()]*[,)\n])|\bfor (\w+)(?:, (\w+))?(?=[^\n]* in )|^ +(\w+)(?:, (\w+))?(?= [-+*|]?= )/gm;
  const names = new Set([...code.matchAll(bound)].flatMap(([, ...found]) => found.filter(Boolean)));
  const kept = ['self', 'lambda', ...[...code.matchAll(/\bdef (\w+)\(\s*self|(?<=\W)(min|max)\(/g)].flat()];
  const list = [...names].filter((name) => !kept.includes(name));
  return code.replace(/("""[\s\S]*?"""|'[^'\n]*'|"[^"\n]*")|(?<![.\w])[a-z_]\w*/gi, (word) =>
    list.includes(word) ? `my_${list.indexOf(word)}` : word,
  );
}

it('all solutions are known with other names of variables, and statements with letters that look alike', async (context) => {
  if (!existsSync(file)) return context.skip(`${file} is missing`);
  const { loaded } = await loadProblems(file);
  const solutions = loaded.map(({ problem }) => problem.canonicalSolution);
  const others = solutions.map((code) => renamed(code));
  const changed = others.filter((code, i) => code !== solutions[i]);
  expect(changed.length).toBeGreaterThan(115);
  expect(() => expectNoTestDemonstrations(changed, 'pool.jsonl')).toThrow(
    `found ${changed.length} of ${changed.length}`,
  );
  const fenced = changed.map((code) => `So:\n\`\`\`python\nimport math\n${code}\n\`\`\`\nDone.`);
  expect(() => expectNoTestDemonstrations(fenced, 'pool.jsonl')).toThrow(
    `found ${changed.length} of ${changed.length}`,
  );
  const alike = (text: string): string =>
    text.replaceAll('a', 'а').replaceAll('e', 'е').replaceAll('o', 'ο').replaceAll('i', 'í'); // Cyrillic, Greek, with a mark.
  const stated = loaded.map(({ problem: { messages } }) => alike(messages.map(({ content }) => content).join('\n')));
  expect(() => expectNoTestDemonstrations(stated, 'pool.jsonl')).toThrow('found 119 of 119');
});

it('one of them is known by the name that LeetCodeDataset gives it, with neither statement nor solution', () => {
  const named = {
    id: 'shortest-distance-after-road-addition-queries-i',
    methodName: 'shortestDistanceAfterQueries',
    ...{ canonicalSolution: 'pass', messages: [] },
  };
  const splits = (problem: object) => ({ train: [problem as ProgramProblem], validation: [], test: [] });
  expect(() => expectNoKnownTest(splits(named), 'file')).toThrow('found 1 of 1');
  expect(() => expectNoKnownTest(splits({ ...named, id: 'other' }), 'file')).not.toThrow();
});

it('other problems are not', async () => {
  const { splits } = await fileSource.load({ path: training });
  expectNoKnownTest(splits, 'file');
  expect(splits.train.length).toBeGreaterThan(0);
});
