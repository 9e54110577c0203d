/** Generated easy tasks in Python, for small language models: seeded, with tests, dealt out to splits by the hash of their ids. */
import { z } from 'zod';
import { defineProblemSource, type ProblemSource } from './source.ts';

export const easySource: ProblemSource = defineProblemSource({
  kind: 'easy',
  summary: 'generated easy tasks in Python, for small language models',
  settings: z.strictObject({
    problems: z
      .number()
      .int()
      .min(16)
      .max(4096)
      .default(1024)
      .describe('number of tasks; 12 in 16 are trained on, 3 are test problems, by the hash of the id'),
    seed: z.number().int().min(0).default(1).describe('seed of the order in which tasks are drawn'),
  }),
  pairs: 'generic',
  isSound: true,
  load: async ({ problems, seed }) => (await import('./easy-tasks.ts')).easyTasks(seed, problems),
});
