/** A source of problems of one's own: sums of two numbers. Before training, each problem's solution is run against its tests. */
import { defineProblemSource, z } from 'gradient-quarantine';

const test = (n, expected) => ({
  positional: [n],
  keywords: [],
  builders: [],
  shape: 'plain',
  expected,
  tolerance: null,
});

function problem(add) {
  const solution = `class Solution:\n    def solve(self, n):\n        n += ${add}\n        return n\n`;
  return {
    id: `add-${add}`,
    messages: [
      {
        role: 'user',
        content: `start with n. add ${add}. the method solve of class Solution should pass all tests.\n`,
      },
    ],
    methodName: 'solve',
    setupCode: '',
    canonicalSolution: solution,
    tests: [1n, 5n, 42n].map((n) => test(n, n + BigInt(add))),
    difficulty: 'easy',
    cpuSeconds: null,
  };
}

const sums = defineProblemSource({
  kind: 'sums',
  summary: 'sums of two numbers',
  settings: z.strictObject({ count: z.number().int().min(16).default(64).describe('problems, before they are split') }),
  pairs: 'micro',
  asksInWords: false,
  load: ({ count }) => Array.from({ length: count }, (_, i) => problem(i + 1)),
});

export const problemSources = [sums];
