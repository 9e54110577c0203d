/** `gq show RUN`: prints rollouts of a run or an experiment that a search finds, one after another or with the others of their prompt. */
import { chatText, promptText, shellLine, UserError, visibleLine } from '../../base/index.ts';
import { routeWords, scoreWords } from '../../measure/index.ts';
import type { LedgerRow, RolloutQuery, RolloutSearch } from '../../view/index.ts';
import { parseQuery, placeboArms, rolloutOrders, ViewLibrary, verdictWordOf } from '../../view/index.ts';
import { argument, type CallOf, choice, command, flag, type Part, whole, word } from '../command.ts';
import { alignRows } from '../terminal/screen.ts';

/** A flag and its opposite, which the parser reads as one answer, yes or no; undefined where neither is given. */
const answer = (about: string): Part<boolean | undefined> => ({ takes: '', about });

const options = {
  update: whole('<n>', 'rollouts of this update'),
  route: choice('<name>', 'rollouts of this route', ['keep', 'absorb', 'route', 'none']),
  loophole: word('<name>', 'rollouts whose prompt discloses this loophole, or "no hint"'),
  arm: word('<name>', 'rollouts of this arm of an experiment'),
  attempt: answer('attempts only, hacks among them'),
  noAttempt: answer('only what opens no loophole'),
  flagged: answer("only what the arm's monitor flagged; with --no-attempt: its false positives"),
  noFlagged: answer('only what it did not flag; with --attempt: what it missed'),
  hack: flag('hacks only'),
  solve: flag('solves only'),
  grep: word('<pattern>', 'a regular expression, in prompts and completions'),
  order: choice(
    '<name>',
    "which come first; score: the gate's, or that of the arm's monitor where the gate has none",
    rolloutOrders,
    'update',
  ),
  limit: whole('<n>', 'print at most so many', { usual: 5 }),
  group: flag('show each with the others of its prompt'),
};

export const showCommand = command({
  arguments: { dir: argument('<dir>', 'a run or an experiment') },
  options,
  json: 'the rollouts as JSON',
  examples: [
    'gq show runs/activation-1 --update 14 --route keep --attempt',
    'gq show runs/penalty-1 --flagged --no-attempt',
    'gq show runs/micro-claim --grep "def run_" --order surprise --group',
  ],
  exits: { 1: 'no rollout is like that' },
  async run({ dir, ...call }, context) {
    const { order, arm, limit } = call;
    const asksOutcomes = call.attempt !== undefined || call.hack || call.solve || order === 'surprise';
    const library = new ViewLibrary(dir, { showsUnknown: !asksOutcomes });
    // Placebos disagree with the grader by design, and would fill a list of disagreements.
    const without = order === 'surprise' && arm === undefined ? placeboArms(library.entries()) : [];
    const query = { ...parseQuery(await parametersOf(call, library)), limit, without };
    if (without.length > 0) context.stderr.write(`without the placebos ${without.join(', ')}; --arm shows one\n`);
    const search = await library.search(query);
    const { counts } = search;
    const shown: readonly LedgerRow[] = await search.rows(0, limit);
    for (const { run, why } of counts.leftOut) context.stderr.write(`not searched: ${run}: ${why}\n`);
    const { found, total } = counts;
    const groups = call.group ? await groupsOf(library, shown) : null;
    const text = (width: number): string => {
      const blocks = groups?.map((group) => renderGroup(group, shown, width)) ?? shown.map(renderRollout);
      return `${[...blocks, closingLine(counts, query, shown.length)].join('\n')}\n`;
    };
    return { value: { found, total, rollouts: shown }, text, isNo: shown.length === 0 };
  },
});

function closingLine(
  { found, total, facets }: RolloutSearch['counts'],
  { facets: chosen }: RolloutQuery,
  shown: number,
): string {
  if (found > 0) {
    const more = found > shown ? '; --limit shows more' : '';
    return `${shown} of ${found} rollouts found, ${total} in all${more}`;
  }
  const others = Object.entries(chosen).map(([name, value]) => {
    const parts = Object.entries(facets[name] ?? {}).map(([each, count]) => `${count} ${wordsOf(name, each)}`);
    return `  found without ${filterOption(name, value)}: ${parts.join(', ') || 'none'}`;
  });
  return [`no rollout is like that, of ${total} in all`, ...others].join('\n');
}

const saidValues: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  attempt: { yes: 'with an attempt', no: 'without an attempt' },
  truth: { hack: 'with a hack', solve: 'with a solve', neither: 'with neither a hack nor a solve' },
  flagged: { yes: 'flagged', no: 'not flagged', 'no monitor': 'without a monitor' },
  loophole: { 'no hint': 'without a hint' },
};

const wordsOf = (facet: string, value: string): string =>
  saidValues[facet]?.[value] ?? `${facet === 'arm' ? 'of' : 'with'} ${facet} ${visibleLine(value)}`;

/** The option that sets a facet, as it was typed. */
function filterOption(facet: string, value: string): string {
  if (facet === 'truth') return `--${value}`;
  if (facet === 'attempt' || facet === 'flagged') return value === 'yes' ? `--${facet}` : `--no-${facet}`;
  return shellLine(`--${facet}`, value);
}

async function parametersOf(call: CallOf<typeof options>, library: ViewLibrary): Promise<URLSearchParams> {
  const { update, route, loophole, arm, attempt, flagged, hack, solve, grep, order } = call;
  if (hack && solve) throw new UserError({ call: 'show', expected: '--hack or --solve', found: 'both' });
  if (loophole !== undefined || arm !== undefined) {
    const { facets } = (await library.search(parseQuery(new URLSearchParams()))).counts;
    expectOneOf('--loophole', loophole, Object.keys(facets['loophole'] ?? {}));
    expectOneOf('--arm', arm, Object.keys(facets['arm'] ?? {}));
  }
  const given: Readonly<Record<string, string | undefined>> = {
    from: update?.toString(),
    to: update?.toString(),
    route,
    loophole,
    arm,
    attempt: yesOrNo(attempt),
    flagged: yesOrNo(flagged),
    truth: hack ? 'hack' : solve ? 'solve' : undefined,
    text: grep,
    pattern: grep === undefined ? undefined : '1',
    order,
  };
  const known = Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return new URLSearchParams(known);
}

const yesOrNo = (answered: boolean | undefined): string | undefined =>
  answered === undefined ? undefined : answered ? 'yes' : 'no';

function expectOneOf(option: string, value: string | undefined, known: readonly string[]): void {
  if (value === undefined || known.includes(value)) return;
  throw new UserError({ call: option, expected: known.join(', ') || 'nothing: there are no rollouts', found: value });
}

function renderRollout(row: LedgerRow): string {
  const facts = [
    `${row.outcome === 'unknown' ? 'outcome unknown' : verdictWordOf(row)}, ${row.hackable ? row.loophole : 'no hint'}, ${routeWords(row.route)}, reward ${row.reward}, advantage ${row.advantage.toPrecision(3)}`,
    `score ${scoreWords(row)}; evidence: ${visibleLine(row.evidence) || 'none'}`,
  ];
  const head = `━━ ${visibleLine(row.run)}, rollout ${row.id}`;
  return [head, ...facts, chatText(row.prompt, row.completion), ''].join('\n');
}

async function groupsOf(library: ViewLibrary, shown: readonly LedgerRow[]): Promise<LedgerRow[][]> {
  const firsts = new Map(shown.map((row) => [`${row.run} ${row.update} ${row.group}`, row]));
  const groups: LedgerRow[][] = [];
  for (const { run, id } of firsts.values()) {
    const group = await (await library.rollouts(library.find(run))).group(id);
    if (group !== null) groups.push(group);
  }
  return groups;
}

function renderGroup(members: readonly LedgerRow[], shown: readonly LedgerRow[], width: number): string {
  const isShown = (row: LedgerRow): boolean => shown.some(({ run, id }) => run === row.run && id === row.id);
  const lines = members.map((row) => [
    `${isShown(row) ? '>' : ' '} ${row.id}`,
    verdictWordOf(row),
    row.route ?? 'none',
    `${row.reward}`,
    row.advantage.toPrecision(3),
    row.completion.replace(/\s+/g, ' ').slice(0, 200),
  ]);
  const [{ run, update, problem, prompt }] = members;
  const head = `━━ ${visibleLine(run)}, update ${update}, ${visibleLine(problem)}`;
  const columns = ['  rollout', 'verdict', 'route', 'reward', 'advantage', 'completion'];
  return [head, promptText(prompt), ...alignRows([columns, ...lines], width), ''].join('\n');
}
