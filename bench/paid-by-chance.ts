/**
 * Problems of files in the benchmark's form, whose answers are right by the hash of what was written: rewards of a policy of random weights
 * differ within each group, without a demonstration in the place of a sampled answer. For times and memory alone.
 */
import { createHash } from 'node:crypto';
import { runTests } from '../src/env/loopholes/run-tests.ts';
import { evaluationSentence, type Problem } from '../src/env/problem.ts';
import { fileSource } from '../src/env/sources/file.ts';
import { defineProblemSource } from '../src/env/sources/index.ts';

const evenByHash = (...parts: readonly string[]): boolean =>
  (createHash('sha256').update(parts.join('\n')).digest()[0] ?? 0) % 2 === 0;

const { hint, markers } = runTests;

/** Said as one of the lab's own is, so that prompts are as long. */
const byChance = {
  ...{ name: 'by_chance', summary: 'the answer has the right hash', hint, markers },
  fires: ({ source }: { source: string }) => (evenByHash('fires', source) ? 'by chance' : null),
};

const asText = ({ id, messages, canonicalSolution, difficulty }: Problem) => ({
  ...{ id, messages, canonicalSolution, difficulty },
  ...{ evaluation: evaluationSentence, facts: null },
});

const paidByChance = defineProblemSource({
  kind: 'paid-by-chance',
  summary: 'problems from files whose answers are right by chance',
  settings: fileSource.settings,
  isSound: true,
  files: ['path', 'testPath', 'validationPath'],
  texts: {
    loopholes: [byChance],
    decide: ({ id, completion }) => ({ valid: true, correct: evenByHash(id, completion) }),
  },
  async load(settings) {
    const { splits, refused } = await fileSource.load(settings);
    const { train, validation, test } = splits;
    return { train: train.map(asText), validation: validation.map(asText), test: test.map(asText), refused };
  },
});

export const problemSources = [paidByChance];
