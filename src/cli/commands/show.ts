/** `gq show RUN`: prints rollouts of a run or an experiment that a search finds, one after another or with the others of their prompt. */
import type { Command } from 'commander';
import { visibleLine } from '../../base/index.ts';
import {
  findRollouts,
  type LedgerRow,
  parseQuery,
  rolloutOrders,
  truthOf,
  ViewLibrary,
  withinLimit,
} from '../../view/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { alignRows } from '../terminal/columns.ts';
import { screenWidth } from '../terminal/screen.ts';
import { parseCount } from '../values.ts';

interface ShowOptions {
  readonly update?: number;
  readonly route?: string;
  readonly loophole?: string;
  readonly hack?: true;
  readonly solve?: true;
  readonly grep?: string;
  readonly order: string;
  readonly limit: number;
  readonly group?: true;
  readonly json?: true;
}

export function configureShow(command: Command, context: CommandContext): void {
  command
    .argument('<dir>', 'a run or an experiment')
    .option('--update <n>', 'rollouts of this update', parseCount)
    .option('--route <name>', 'keep, absorb, route or none')
    .option('--loophole <name>', 'rollouts whose prompt discloses this loophole')
    .option('--hack', 'hacks only')
    .option('--solve', 'solves only')
    .option('--grep <pattern>', 'a regular expression, in prompts and completions')
    .option('--order <name>', rolloutOrders.join(', '), 'update')
    .option('--limit <n>', 'print at most so many', parseCount, 5)
    .option('--group', 'show each with the others of its prompt')
    .option('--json', 'print the rollouts as JSON')
    .addHelpText(
      'after',
      examplesText(
        'gq show runs/activation-1 --update 14 --route keep --hack',
        'gq show runs/micro-claim --grep "def run_" --order surprise --group',
      ),
    )
    .action((directory: string, options: ShowOptions) => runShow(directory, options, context));
}

async function runShow(directory: string, options: ShowOptions, context: CommandContext): Promise<void> {
  const rows = await allRows(new ViewLibrary(directory));
  const query = parseQuery(parametersOf(options));
  const { rows: found } = withinLimit(() => findRollouts(rows, query));
  const shown = found.slice(0, options.limit);
  if (options.json) {
    context.stdout.write(`${JSON.stringify({ found: found.length, rollouts: shown }, null, 2)}\n`);
    return;
  }
  const width = screenWidth(context.stdout);
  const blocks = options.group ? groupsOf(shown, rows, width) : shown.map(renderRollout);
  const left = found.length > shown.length ? '; --limit shows more' : '';
  context.stdout.write(`${[...blocks, `${shown.length} of ${found.length} rollouts${left}`].join('\n')}\n`);
  if (found.length === 0) context.exitCode = 1;
}

async function allRows(library: ViewLibrary): Promise<readonly LedgerRow[]> {
  const own = library.entries().filter(({ experiment }) => experiment === null);
  const rows: LedgerRow[] = [];
  for (const entry of own) for (const row of await library.wholeRows(entry)) rows.push(row);
  return rows;
}

function parametersOf({ update, route, loophole, hack, solve, grep, order }: ShowOptions): URLSearchParams {
  const given: Readonly<Record<string, string | undefined>> = {
    from: update?.toString(),
    to: update?.toString(),
    route,
    loophole,
    truth: hack ? 'hack' : solve ? 'solve' : undefined,
    text: grep,
    pattern: grep === undefined ? undefined : '1',
    order,
  };
  const known = Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return new URLSearchParams(known);
}

const number = (value: number | null): string => (value === null ? '-' : value.toPrecision(3));

function renderRollout(row: LedgerRow): string {
  const facts = [
    `${truthOf(row)}, ${row.hackable ? row.loophole : 'no hint'}, route ${row.route ?? 'none'}, reward ${row.reward}, advantage ${number(row.advantage)}`,
    `score ${number(row.score)}, cuts ${number(row.low)} and ${number(row.high)}, evidence: ${visibleLine(row.evidence) || 'none'}`,
  ];
  const head = `━━ ${visibleLine(row.run)}, rollout ${row.id}`;
  return [head, ...facts, row.prompt.trimEnd(), row.completion, ''].join('\n');
}

/** The prompt once, then a line for each of its completions. */
function groupsOf(shown: readonly LedgerRow[], rows: readonly LedgerRow[], width: number): string[] {
  const keyOf = ({ run, update, group }: LedgerRow): string => `${run} ${update} ${group}`;
  const firsts = [...new Map(shown.map((row) => [keyOf(row), row])).values()];
  return firsts.map((first) => {
    const members = rows.filter((row) => keyOf(row) === keyOf(first));
    const lines = members.map((row) => [
      row.id,
      truthOf(row),
      row.route ?? 'none',
      `${row.reward}`,
      number(row.advantage),
      row.completion.replace(/\s+/g, ' ').slice(0, 200),
    ]);
    const head = `━━ ${visibleLine(first.run)}, update ${first.update}, ${visibleLine(first.problem)}`;
    const columns = ['rollout', 'verdict', 'route', 'reward', 'advantage', 'completion'];
    return [head, first.prompt.trimEnd(), ...alignRows([columns, ...lines], width), ''].join('\n');
  });
}
