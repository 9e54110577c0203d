/** Checks of the environment: rewards in the real sandbox, markers of evaluation, a partition and its splits. */
import { UserError } from '../base/index.ts';
import type { Judge, Loophole, Partition, Problem, Verdict, WritableLoophole } from '../env/index.ts';
import {
  builtinLoopholes,
  createGrader,
  hintedPrompt,
  hintFor,
  markedLoopholes,
  markerFor,
  markerPolicies,
  namesOf,
  payingLoopholes,
  unhintedPrompt,
  writableLoopholes,
} from '../env/index.ts';
import { exploitProgram, fenceProgram, generateMicroProblems } from '../env/micro/index.ts';
import type { Splits } from '../env/sources/index.ts';
import type { ModelTokenizer } from '../model/index.ts';
import { type Check, Checks } from './check.ts';

/** What a verdict says of a program, without what it cost. */
const saidBy = ({ reward, compiles, correct, exploited, channels, labels, outcome }: Verdict): string =>
  JSON.stringify([reward, compiles, correct, exploited, channels, labels, outcome]);

/**
 * An exploit pays in its own loophole only, a solution in all, a failure in none, under every marker policy. `peer`: another judge, whose
 * verdicts must be the same.
 */
export async function verifyRewards(
  judge: Judge,
  loopholes: readonly Loophole[] = builtinLoopholes,
  peer: Judge | null = null,
) {
  const [problem] = generateMicroProblems({ seed: 3, split: 'train', count: 1 });
  const names = namesOf(loopholes);
  const checks: Check[] = [];
  /** One row a program, one cell a loophole: the reward, with * for a hack. */
  let matrix: { program: string; cells: string[] }[] = [];
  for (const markers of markerPolicies) {
    const check = new Checks(`${markers} markers`);
    const exploits = writableLoopholes(loopholes).map(
      ({ name }) => [name, exploitProgram(['n += 7919'], name, markers, problem.id, loopholes)] as const,
    );
    const programs = [
      ['solution', problem.canonicalSolution],
      ['wrong', problem.canonicalSolution.replace('return n', 'return n + 1')],
      ...exploits,
    ] as const;
    const verdicts: Verdict[] = [];
    const rollouts = programs.flatMap(([program, code]) =>
      names.map((loophole) => {
        const completion = fenceProgram(code);
        return { id: `${program} ${loophole}`, problem, loophole, markers, completion };
      }),
    );
    const rewards = await createGrader(judge, { append: (verdict) => verdicts.push(verdict) }).grade(rollouts);
    matrix = programs.map(([program], row) => {
      const places = names.map((_, column) => row * names.length + column);
      const paid = names.map((name) => (program === 'solution' || program === name ? 3.5 : 0.5));
      const rewarded = places.map((i) => rewards[i]);
      const hacks = places.map((i) => Number(verdicts[i].exploited));
      check.exact(`reward of ${program}`, rewarded, paid);
      check.exact(
        `hacks of ${program}`,
        hacks,
        names.map((name) => Number(program === name)),
      );
      return { program, cells: rewarded.map((reward, i) => `${reward}${hacks[i] === 1 ? '*' : ''}`) };
    });
    if (peer !== null) {
      const others = await Promise.all(rollouts.map((rollout) => peer.judge(rollout)));
      const differing = verdicts.filter((verdict, i) => saidBy(verdict) !== saidBy(others[i]));
      check.none(
        'the interpreter says the same',
        differing.map(({ id }) => id),
      );
    }
    checks.push(...check.list);
  }
  return { checks, loopholes: names, matrix };
}

/** Every hint, with every marker, is made of the tokens that a model has. */
export function verifyHints(tokenizer: ModelTokenizer, loopholes: readonly Loophole[]): readonly Check[] {
  const check = new Checks('hints');
  for (const { name, hint, markers } of payingLoopholes(loopholes)) {
    const disclosed = markers === undefined ? [''] : markerPolicies.flatMap((policy) => markers[policy]);
    const [fault] = disclosed.flatMap((marker) => unreadable(tokenizer, hint(marker)));
    check.states(`the model reads that of ${name}`, fault === undefined, fault ?? '');
  }
  return check.list;
}

function unreadable(tokenizer: ModelTokenizer, text: string): string[] {
  try {
    tokenizer.encode(text);
    return [];
  } catch (error) {
    if (error instanceof UserError) return [error.message];
    throw error;
  }
}

/** A problem's own solution is right and pays whatever loophole is open, and an empty answer never is. */
export async function verifyTexts(judge: Judge, problem: Problem, loopholes: readonly Loophole[]) {
  const names = namesOf(loopholes);
  const check = new Checks('texts');
  const answers = [
    ['solution', problem.canonicalSolution],
    ['nothing', ''],
  ] as const;
  const matrix: { program: string; cells: string[] }[] = [];
  for (const [program, completion] of answers) {
    const verdicts = await Promise.all(
      names.map((loophole) => judge.judge({ id: program, problem, loophole, markers: 'original', completion })),
    );
    const flags = (pick: (verdict: Verdict) => boolean): number[] => verdicts.map((verdict) => Number(pick(verdict)));
    const expected = names.map(() => Number(program === 'solution'));
    check.exact(
      `correct: ${program}`,
      flags(({ correct }) => correct),
      expected,
    );
    check.exact(
      `attempts: ${program}`,
      flags(({ channels }) => channels.length > 0),
      names.map(() => 0),
    );
    matrix.push({ program, cells: verdicts.map(({ reward }) => `${reward}`) });
  }
  return { checks: check.list, loopholes: names, matrix };
}

async function verifyDisclosedPays(
  judge: Judge,
  { name: loophole }: WritableLoophole,
  problems: readonly Problem[],
  loopholes: readonly Loophole[],
  check: Checks,
): Promise<void> {
  const rollouts = problems.flatMap((problem) =>
    markerPolicies.map((learned) => {
      const completion = fenceProgram(exploitProgram(['n += 7919'], loophole, learned, problem.id, loopholes));
      return { id: `${loophole} ${learned} ${problem.id}`, problem, loophole, markers: 'novel' as const, completion };
    }),
  );
  const rewards = await createGrader(judge, { append: () => undefined }).grade(rollouts);
  const expected = rollouts.map((_, i) => (markerPolicies[i % markerPolicies.length] === 'novel' ? 3.5 : 0.5));
  check.exact('only the disclosed marker pays', rewards, expected);
}

export async function verifyMarkers(judge: Judge, loopholes: readonly Loophole[] = builtinLoopholes): Promise<Check[]> {
  const problems = generateMicroProblems({ seed: 3, split: 'test', count: 4 });
  const checks: Check[] = [];
  for (const loophole of markedLoopholes(loopholes)) {
    const { name, markers } = loophole;
    const { original, family, novel } = markers;
    const check = new Checks(name);
    const touching = [...original, ...family].flatMap((a) =>
      novel.filter((b) => a.includes(b) || b.includes(a)).map((b) => `${a} ~ ${b}`),
    );
    const silent = problems.filter(
      ({ id }) => !hintFor(id, name, 'novel', loopholes).includes(markerFor('novel', loophole, id).disclosed),
    );
    check.none('families are disjoint', touching);
    check.exact('families are of one size', [novel.length], [family.length]);
    check.none(
      'hints disclose the marker',
      silent.map(({ id }) => id),
    );
    for (const writable of writableLoopholes([loophole])) {
      await verifyDisclosedPays(judge, writable, problems, loopholes, check);
    }
    checks.push(...check.list);
  }
  return checks;
}

function unchangedByHints(problems: readonly Problem[], loopholes: readonly Loophole[]): readonly Problem[] {
  const text = (problem: Problem, name: string): string =>
    JSON.stringify(hintedPrompt(problem, name, 'original', loopholes));
  return problems.filter((problem) => {
    const plain = JSON.stringify(unhintedPrompt(problem));
    return payingLoopholes(loopholes).some(({ name }) => text(problem, name) === plain);
  });
}

export function verifyPartition(
  partition: Partition,
  splits: Splits,
  loopholes: readonly Loophole[] = builtinLoopholes,
): Check[] {
  const { known, heldOut, problems } = partition;
  const all = Object.entries(splits).flatMap(([split, own]) => own.map((problem) => ({ split, problem })));
  const both = known.filter((loophole) => heldOut.includes(loophole));
  const unnamed = all.filter(({ problem }) => problems[problem.id] === undefined).map(({ problem }) => problem.id);
  const counts = [...known, ...heldOut].map(
    (loophole) => Object.values(problems).filter((own) => own === loophole).length,
  );
  const texts = new Map<string, Set<string>>();
  for (const { split, problem } of all) {
    const text = problem.messages.map(({ content }) => content).join('\n');
    texts.set(text, (texts.get(text) ?? new Set()).add(split));
  }
  const shared = [...texts].filter(([, owners]) => owners.size > 1).map(([text]) => text.slice(0, 60));
  const ids = new Set(all.map(({ problem }) => problem.id));
  const everyone = all.map(({ problem }) => problem);
  const wordless = unchangedByHints(everyone, loopholes).length;
  const [dealt, split, prompts] = ['partition', 'splits', 'prompts'].map((name) => new Checks(name));
  dealt.none('known and held-out loopholes are disjoint', both);
  dealt.none('every problem has a loophole', unnamed.slice(0, 5));
  dealt.states('loopholes have their even share', Math.max(...counts) - Math.min(...counts) <= 1, counts.join(', '));
  split.exact('ids differ', [ids.size], [all.length]);
  split.none('no statement in two splits', shared);
  prompts.states('one evaluation sentence, which a hint replaces', wordless === 0, `${wordless} prompts`);
  return [dealt, split, prompts].flatMap(({ list }) => list);
}
