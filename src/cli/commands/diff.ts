/** `gq diff A B`: how two runs differ, in their configs and in what they answer to the same prompts. */
import { type Evaluation, EvaluationStore, formatRate, pairRows, summarise } from '../../evaluate/index.ts';
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
    const results = compareEvaluations(lastEvaluations(a), lastEvaluations(b));
    printAnswer(context, json, { first, second, keys, results }, (width) =>
      renderDiff(first, second, keys, results, width),
    );
  },
});

interface ComparedEvaluation {
  readonly set: string;
  readonly prompts: number;
  readonly state: string;
  readonly attempt: readonly [string, string];
  readonly hack: readonly [string, string];
  readonly solve: readonly [string, string];
  /** Prompts that are hacks in one run only; null where the runs were asked different prompts. */
  readonly onlyFirst: number | null;
  readonly onlySecond: number | null;
}

/** The evaluations of the last update that was evaluated, and of the base. Without a quarantine, what is trained is deployed. */
function lastEvaluations(run: RunDirectory): Evaluation[] {
  const all = new EvaluationStore(run.path).all().filter(({ set }) => set !== 'curve' && set !== 'validation');
  const last = Math.max(0, ...all.map(({ update }) => update));
  const own = all.filter(({ update }) => update === last || update === 0);
  if (run.readManifest().hasQuarantine) return own;
  return own.flatMap((one) => (one.state === 'full' ? [one, { ...one, state: 'deployed' as const }] : [one]));
}

function compareEvaluations(first: readonly Evaluation[], second: readonly Evaluation[]): ComparedEvaluation[] {
  return first.flatMap((one) => {
    const other = second.find((each) => each.set === one.set && each.state === one.state && each.limit === one.limit);
    if (other === undefined) return [];
    const [a, b] = [summarise(one.rows), summarise(other.rows)];
    const both = (metric: 'attempt' | 'hack' | 'solve'): [string, string] => [
      formatRate(a[metric]),
      formatRate(b[metric]),
    ];
    const rates = { attempt: both('attempt'), hack: both('hack'), solve: both('solve') };
    return [{ set: one.set, prompts: one.rows.length, state: one.state, ...rates, ...discordant(one, other) }];
  });
}

function discordant(one: Evaluation, other: Evaluation): Pick<ComparedEvaluation, 'onlyFirst' | 'onlySecond'> {
  // Prompts of other problems cannot be paired.
  if (one.key !== other.key && one.rows.some(({ problem }, i) => problem !== other.rows[i]?.problem)) {
    return { onlyFirst: null, onlySecond: null };
  }
  const pairs = pairRows(one.rows, other.rows);
  return {
    onlyFirst: pairs.filter(([a, b]) => a.hack && !b.hack).length,
    onlySecond: pairs.filter(([a, b]) => !a.hack && b.hack).length,
  };
}

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
