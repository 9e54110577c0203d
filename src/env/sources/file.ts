/** Problems from a file, in either format that the importers read. */
import { z } from 'zod';
import { loadProblems } from '../importers/load.ts';
import { defineProblemSource, type ProblemSource } from './source.ts';

export const fileSource: ProblemSource = defineProblemSource({
  kind: 'file',
  summary: 'problems from a JSONL file of the benchmark or of LeetCodeDataset',
  settings: z.strictObject({ path: z.string().describe('file of problems, .jsonl or .jsonl.gz') }),
  async load({ path }) {
    const { loaded, refused } = await loadProblems(path);
    return { problems: loaded.map(({ problem }) => problem), refused };
  },
});
