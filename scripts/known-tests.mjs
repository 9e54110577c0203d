/**
 * Prints the hashes of the solutions of a file of problems, whatever their variables are called, which src/env/sources/known-tests.ts keeps of
 * the benchmark's test problems: npx node scripts/known-tests.mjs ../shared/data/leetcode_test_medhard.jsonl.gz
 */
import { loadProblems } from '../src/env/importers/load.ts';
import { renamedPrintOf } from '../src/env/sources/known-tests.ts';

const { loaded } = await loadProblems(process.argv[2]);
const prints = loaded.map(({ problem }) => renamedPrintOf(problem.canonicalSolution));
process.stdout.write(`${[...new Set(prints)].sort().join('\n')}\n`);
