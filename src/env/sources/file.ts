/**
 * Problems from files, in either format that the importers read. A split with a file of its own is that whole file; the others are
 * taken from the file of training by the hash of their ids.
 */
import { existsSync, statSync } from 'node:fs';
import { z } from 'zod';
import { namesPath, UserError } from '../../base/index.ts';
import type { Problem } from '../problem.ts';
import { expectNoOverlap } from './overlap.ts';
import { defineProblemSource, type ProblemSource, type Refusal } from './source.ts';
import { type Split, splitNames, splitOfId } from './splits.ts';

const pathOf = (split: string, share: string) =>
  z
    .string()
    .nullable()
    .default(null)
    .describe(`file of the ${split} problems, used whole; null: ${share} in 16 of data.path, by hash of the id`)
    .meta(namesPath());

export const fileSource: ProblemSource = defineProblemSource({
  kind: 'file',
  summary: 'problems from files of the benchmark or of LeetCodeDataset',
  settings: z.strictObject({
    path: z.string().describe('file of problems: .jsonl, .jsonl.gz or .parquet').meta(namesPath()),
    testPath: pathOf('test', '3'),
    validationPath: pathOf('validation', '1'),
  }),
  files: ['path', 'testPath', 'validationPath'],
  async load({ path, testPath, validationPath }) {
    const own: Readonly<Record<Split, string | null>> = { train: null, validation: validationPath, test: testPath };
    const splitIn = (id: string): Split => (own[splitOfId(id)] === null ? splitOfId(id) : 'train');
    const problems: Record<Split, Problem[]> = { train: [], validation: [], test: [] };
    const { loadProblems } = await import('../importers/load.ts');
    const refused: Refusal[] = [];
    const read = async (file: string, splitOf: (id: string) => Split): Promise<void> => {
      expectLasting(file);
      const found = await loadProblems(file);
      for (const { problem } of found.loaded) problems[splitOf(problem.id)].push(problem);
      refused.push(...found.refused.map(({ id, reason }) => ({ id, reason, split: splitOf(id) })));
    };
    await read(path, splitIn);
    for (const split of splitNames) {
      const file = own[split];
      if (file !== null) await read(file, () => split);
    }
    const names = { train: path, validation: validationPath ?? path, test: testPath ?? path };
    return { ...expectNoOverlap(problems, names), refused };
  },
});

/** A pipe is empty when it is read again, for its hash and whenever the run is opened; one without a writer never ends. */
function expectLasting(file: string): void {
  const found = existsSync(file) ? statSync(file) : null;
  if (found === null || found.isFile() || found.isDirectory()) return;
  throw new UserError({
    call: `read ${file}`,
    expected: 'a file, which can be read again when the run is opened',
    found: found.isFIFO() ? 'a pipe' : 'a device',
    fix: 'Write the problems to a file, and name that.',
  });
}
