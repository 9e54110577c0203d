/** `gq diff A B`: how two runs differ, in their configs and in what they answer to the same prompts. */
import { type ComparedEvaluation, compareRuns } from '../../evaluate/index.ts';
import { configDifferences, RunDirectory } from '../../run/index.ts';
import { argument, command } from '../command.ts';
import { jsonOption } from '../options.ts';
import { printAnswer } from '../outputs.ts';
import { alignRows } from '../terminal/tables.ts';

export const diffCommand = command({
  arguments: { first: argument('<first>', 'a run directory'), second: argument('<second>', 'another run directory') },
  options: { json: jsonOption('the differences') },
  examples: ['gq diff runs/micro-claim/vanilla-1 runs/micro-claim/activation-1'],
  run({ first, second, json }, context) {
    const [a, b] = [first, second].map((path) => RunDirectory.open(path));
    const keys = configDifferences(a.readManifest().config, b.readManifest().config);
    const results = compareRuns(a, b);
    printAnswer(context, json, { first, second, keys, results }, (width) =>
      renderDiff(first, second, keys, results, width),
    );
  },
});

function renderDiff(
  first: string,
  second: string,
  keys: readonly string[],
  results: readonly ComparedEvaluation[],
  width: number,
): string {
  const differing = keys.length === 0 ? ['The configs are the same.'] : keys.map((key) => `  ${key}`);
  const sets = [...new Set(results.map(({ set }) => set))];
  const tables = sets.flatMap((set) => {
    const own = results.filter((one) => one.set === set);
    const rows = own.flatMap(({ state, attempt, hack, solve, onlyFirst, onlySecond }) => [
      [state, 'attempt', ...attempt, ''],
      ['', 'hack', ...hack, onlyFirst === null ? '-' : `${onlyFirst} and ${onlySecond}`],
      ['', 'solve', ...solve, ''],
    ]);
    const columns = ['state', 'rate', 'first', 'second', 'hacks in one'];
    return ['', `${set}, ${own[0].prompts} prompts`, ...alignRows([columns, ...rows], width)];
  });
  const words = [
    '',
    'full: as trained; deployed: without the quarantine.',
    'hacks in one: prompts that only the first, and only the second, hacks.',
  ];
  const table = sets.length === 0 ? ['', 'No evaluation that both have.'] : [...tables, ...words];
  return `${[`first: ${first}`, `second: ${second}`, ...differing, ...table].join('\n')}\n`;
}
