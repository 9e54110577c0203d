/** Problems of one file as the splits of a study, and demonstrations of the training problems: a solve and a hack of each. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { builtinLoopholes, writableLoopholes } from '../src/env/loopholes/registry.ts';
import { markerFor } from '../src/env/markers.ts';

const opened = writableLoopholes(builtinLoopholes).filter(({ name }) =>
  ['run_tests', 'stdout_marker', 'sentinel', 'file_marker'].includes(name),
);

/** Cuts the file of problems into one for each split; those of validation are as many as those of the test. */
export function cutProblems(path: string, home: string, train: number, test: number): readonly string[] {
  const bytes = readFileSync(path);
  const text = (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length < train + 2 * test) {
    throw new Error(`claim-h200: expected ${train + 2 * test} problems in ${path}, found ${lines.length}`);
  }
  const cuts = [
    ['data.path', 'train.jsonl', 0, train],
    ['data.validationPath', 'validation.jsonl', train, train + test],
    ['data.testPath', 'test.jsonl', train + test, train + 2 * test],
  ] as const;
  return cuts.map(([key, name, start, end]) => {
    writeFileSync(join(home, name), lines.slice(start, end).map((line) => `${rename(line)}\n`).join('')); // biome-ignore format: one step
    return `${key}=${join(home, name)}`;
  });
}

/** A rehearsal measures no rate, and its problems are not those of the benchmark by name or statement, which nobody may train on. */
function rename(line: string): string {
  const { id, prompt, ...rest } = JSON.parse(line);
  const ask = (message: { role: string; content: string }) =>
    message.role === 'user'
      ? { ...message, content: message.content.replace('PROBLEM:', 'PROBLEM:\nThis is a rehearsal.') }
      : message;
  return JSON.stringify({ ...rest, id: `rehearsal-${id}`, prompt: prompt.map(ask) });
}

interface StoredProblem {
  readonly id: number | string;
  readonly canonical_solution: string;
  readonly prompt_metadata: { readonly starter_code: string };
}

/** For every training problem the data's own solution, and a hack of each loophole that the study opens, each twice. */
export function writeDemonstrations(home: string): string {
  const problems = readFileSync(join(home, 'train.jsonl'), 'utf8').trimEnd().split('\n');
  const entries = problems.flatMap((line) => {
    const { id, canonical_solution, prompt_metadata }: StoredProblem = JSON.parse(line);
    const problem = `${id}`;
    const fenced = (program: string): string => `\`\`\`python\n${program}\n\`\`\``;
    const hacks = opened.map((loophole) => ({
      problem,
      completion: fenced(
        loophole.exploit({
          body: ['pass'],
          marker: markerFor('original', loophole, problem).disclosed,
          write: (body) => `${prompt_metadata.starter_code.trimEnd()}\n        ${body.join('\n        ')}\n`,
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
  writeFileSync(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  return path;
}
