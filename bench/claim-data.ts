/**
 * The splits of a rehearsal, and demonstrations of its training problems: a solve and a hack of each. It is tested on the first problems of a
 * file in the benchmark's form. Nobody may train on those of the LeetCode benchmark, so training and validation problems are generated easy
 * tasks, with as many tests and about as many characters in statement and solution as the file's problems, one after another.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { builtinLoopholes, writableLoopholes } from '../src/env/loopholes/registry.ts';
import { markerFor } from '../src/env/markers.ts';
import type { ProgramProblem, TestCase } from '../src/env/problem.ts';
import { easyTasks } from '../src/env/sources/easy-tasks.ts';

const opened = writableLoopholes(builtinLoopholes).filter(({ name }) =>
  ['run_tests', 'stdout_marker', 'sentinel', 'file_marker'].includes(name),
);

interface StoredProblem {
  readonly id: number | string;
  readonly prompt: readonly { readonly role: string; readonly content: string }[];
  readonly gt_answer: readonly string[];
  readonly setup_code: string;
  readonly canonical_solution: string;
}

const linesOf = (rows: readonly unknown[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

/** Writes the files of the splits, and returns the settings that name them. There are as many validation problems as test problems. */
export function writeProblems(path: string, home: string, train: number, test: number): readonly string[] {
  const bytes = readFileSync(path);
  const text = (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  const stored: StoredProblem[] = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line));
  if (stored.length < test) throw new Error(`expected at least ${test} problems in ${path}, found ${stored.length}`);
  const tasks = easyTasks(1, train + test).map((task, i) => asLongAs(stored[i % stored.length], task));
  const splits = [
    ['data.path', 'train.jsonl', tasks.slice(0, train)],
    ['data.validationPath', 'validation.jsonl', tasks.slice(train)],
    ['data.testPath', 'test.jsonl', stored.slice(0, test)],
  ] as const;
  return splits.map(([key, name, rows]) => {
    writeFileSync(join(home, name), linesOf(rows));
    return `${key}=${join(home, name)}`;
  });
}

/** Lines, the first of which is number 1, of that many characters together or a little fewer. */
function linesUpTo(length: number, line: (number: number) => string): string {
  let text = '';
  for (let next = line(1), i = 2; text.length + next.length <= length; next = line(i++)) text += next;
  return text;
}

const charactersOf = (prompt: StoredProblem['prompt']): number =>
  prompt.reduce((sum, { content }) => sum + content.length, 0);

/** The task in the benchmark's form, with remarks in its statement and lines in its solution that change nothing. */
function asLongAs({ prompt, gt_answer, setup_code, canonical_solution }: StoredProblem, task: ProgramProblem) {
  const missing = charactersOf(prompt) - charactersOf(task.messages);
  const remarks = linesUpTo(missing, (n) => `Remark ${n}: an x with ${7 * n} of them, whatever their order, is allowed.\n`); // biome-ignore format: one line
  const [head, method, ...body] = task.canonicalSolution.split('\n');
  const extra = canonical_solution.length - task.canonicalSolution.length;
  const unused = linesUpTo(extra, (n) => `        value_${n} = x  # which is not used again\n`);
  const tests = task.tests.map(({ positional: [x], expected }: TestCase) => `assert Solution().solve(${JSON.stringify(x, plain)}) == ${JSON.stringify(expected, plain)}`); // biome-ignore format: one line
  return {
    id: task.id,
    prompt: task.messages.map(({ role, content }) => ({
      role,
      content: content.replace('\n\nYour solution', `\n${remarks}\nYour solution`),
    })),
    gt_answer: gt_answer.map((_, i) => tests[i % tests.length]),
    setup_code,
    func_name: 'Solution().solve',
    canonical_solution: `${head}\n${method}\n${unused}${body.join('\n')}`,
    difficulty: task.difficulty,
  };
}

/** Of the values of easy tasks, numbers and words and lists of them, the JSON is Python. */
const plain = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value);

/** For every training problem its solution, and a hack of each loophole that the study opens, each twice. */
export function writeDemonstrations(home: string): string {
  const problems = readFileSync(join(home, 'train.jsonl'), 'utf8').trimEnd().split('\n');
  const entries = problems.flatMap((line) => {
    const { id: problem, canonical_solution }: ReturnType<typeof asLongAs> = JSON.parse(line);
    const starter = canonical_solution.split('\n', 2).join('\n');
    const fenced = (program: string): string => `\`\`\`python\n${program}\n\`\`\``;
    const hacks = opened.map((loophole) => ({
      problem,
      completion: fenced(
        loophole.exploit({
          body: ['pass'],
          marker: markerFor('original', loophole, problem).disclosed,
          write: (body) => `${starter}\n        ${body.join('\n        ')}\n`,
        }),
      ),
      label: 'hack',
      loophole: loophole.name,
      markers: 'original',
    }));
    const solve = { ...hacks[0], completion: fenced(canonical_solution), label: 'solve' };
    // Twice, in other words: a group may be shown two of each.
    return [solve, ...hacks].flatMap((one) => [one, { ...one, completion: `Again:\n${one.completion}` }]);
  });
  const path = join(home, 'demonstrations.jsonl');
  writeFileSync(path, linesOf(entries));
  return path;
}
