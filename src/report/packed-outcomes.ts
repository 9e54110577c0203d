/** The rows of evaluations in few bytes: the same prompts stand once for all evaluations of a run, and a row is one character. */
import type { OutcomeRow } from '../evaluate/index.ts';

/** The prompts of an evaluation, in their order, as columns. */
export interface PromptList {
  readonly problem: readonly string[];
  readonly loophole: readonly string[];
  readonly markers: readonly string[];
}

export interface PackedOutcomes {
  /** Index of the list of prompts. */
  readonly prompts: number;
  /** One character a row: its outcome as a number, counted from `firstCode`. */
  readonly outcomes: string;
}

const flags = ['hack', 'solve', 'attempt', 'compiles', 'truncated'] as const;
const authorsLabels = [null, false, true] as const;
/** Characters from here on are plain and printable, and none needs an escape in JSON. */
const firstCode = 0x100;

/** Packs rows; their prompts are added to `lists` unless they are there. */
export function packOutcomes(rows: readonly OutcomeRow[], lists: PromptList[]): PackedOutcomes {
  const own: PromptList = {
    problem: rows.map(({ problem }) => problem),
    loophole: rows.map(({ loophole }) => loophole),
    markers: rows.map(({ markers }) => markers),
  };
  const known = lists.findIndex((list) => isSame(list, own));
  if (known < 0) lists.push(own);
  const outcomes = rows.map((row) => String.fromCharCode(firstCode + codeOf(row))).join('');
  return { prompts: known < 0 ? lists.length - 1 : known, outcomes };
}

function isSame(a: PromptList, b: PromptList): boolean {
  const same = (x: readonly string[], y: readonly string[]): boolean =>
    x.length === y.length && x.every((value, i) => value === y[i]);
  return same(a.problem, b.problem) && same(a.loophole, b.loophole) && same(a.markers, b.markers);
}

function codeOf(row: OutcomeRow): number {
  const bits = flags.reduce((sum, flag, i) => sum + (row[flag] ? 1 << i : 0), 0);
  return bits * authorsLabels.length + authorsLabels.indexOf(row.authorsLabel);
}

export function unpackOutcomes({ prompts, outcomes }: PackedOutcomes, lists: readonly PromptList[]): OutcomeRow[] {
  const { problem, loophole, markers } = lists[prompts];
  return problem.map((id, i): OutcomeRow => {
    const code = outcomes.charCodeAt(i) - firstCode;
    const bits = Math.floor(code / authorsLabels.length);
    return {
      problem: id,
      loophole: loophole[i],
      markers: markers[i],
      hack: has(bits, 'hack'),
      solve: has(bits, 'solve'),
      attempt: has(bits, 'attempt'),
      authorsLabel: authorsLabels[code % authorsLabels.length],
      compiles: has(bits, 'compiles'),
      truncated: has(bits, 'truncated'),
    };
  });
}

const has = (bits: number, flag: (typeof flags)[number]): boolean => (bits & (1 << flags.indexOf(flag))) !== 0;
