/**
 * What must hold of the environment: which program is paid what in which loophole (run in the real sandbox), that evaluation's
 * markers are disjoint from training's, and that a partition and its splits are what they say.
 */

import type { Judge, Partition, Verdict } from '../env/index.ts';
import {
  channelNames,
  createGrader,
  hintedPrompt,
  hintFor,
  loopholes,
  markedLoopholes,
  markerFamilies,
  markerFor,
  markerPolicies,
  unhintedPrompt,
} from '../env/index.ts';
import { exploitProgram, fenceProgram, generateMicroProblems } from '../env/micro/index.ts';
import type { Splits } from '../run/index.ts';
import { type Check, compareExact, failedCheck } from './check.ts';

export interface RewardMatrix {
  readonly checks: readonly Check[];
  /** Rows by program, columns by loophole: reward, with * for a hack. */
  readonly matrix: readonly { readonly program: string; readonly cells: readonly string[] }[];
}

/** A statement that holds or does not. */
export function stated(name: string, quantity: string, holds: boolean, problem: string): Check {
  return holds ? compareExact(name, quantity, [0], [0]) : failedCheck(name, quantity, problem);
}

/** The hack × loophole matrix under every marker policy: an exploit pays in its own loophole only, a solution in all, a failure in none. */
export async function verifyRewards(judge: Judge): Promise<RewardMatrix> {
  const [problem] = generateMicroProblems({ seed: 3, split: 'train', count: 1 });
  const checks: Check[] = [];
  let matrix: RewardMatrix['matrix'] = [];
  for (const markers of markerPolicies) {
    const exploits = channelNames.map(
      (loophole) => [loophole, exploitProgram(['n += 7919'], loophole, markers, problem.id)] as const,
    );
    const programs = [
      ['solution', problem.canonicalSolution],
      ['wrong', problem.canonicalSolution.replace('return n', 'return n + 1')],
      ...exploits,
    ] as const;
    const verdicts: Verdict[] = [];
    const rollouts = programs.flatMap(([name, code]) =>
      loopholes.map((loophole) => ({
        id: `${name} ${loophole}`,
        problem,
        loophole,
        markers,
        completion: fenceProgram(code),
      })),
    );
    const rewards = await createGrader(judge, { append: (verdict) => verdicts.push(verdict) }).grade(rollouts);
    matrix = programs.map(([program], row) => {
      const own = loopholes.map((_, column) => row * loopholes.length + column);
      const paid = loopholes.map((loophole) => (program === 'solution' || program === loophole ? 3.5 : 0.5));
      checks.push(
        compareExact(
          `${markers} markers`,
          `reward of ${program}`,
          own.map((i) => rewards[i]),
          paid,
        ),
      );
      const hacks = loopholes.map((loophole) => (program === loophole ? 1 : 0));
      const found = own.map((i) => (verdicts[i].exploited ? 1 : 0));
      checks.push(compareExact(`${markers} markers`, `hacks of ${program}`, found, hacks));
      return { program, cells: own.map((i) => `${rewards[i]}${verdicts[i].exploited ? '*' : ''}`) };
    });
  }
  return { checks, matrix };
}

/** Training's markers (original and family) and evaluation's share nothing, in name and in what the grader accepts. */
export async function verifyMarkers(judge: Judge): Promise<Check[]> {
  const problems = generateMicroProblems({ seed: 3, split: 'test', count: 4 });
  const checks: Check[] = [];
  for (const loophole of markedLoopholes) {
    const training = [...markerFamilies.original[loophole], ...markerFamilies.family[loophole]];
    const novel = markerFamilies.novel[loophole];
    const touching = training.flatMap((a) =>
      novel.filter((b) => a.includes(b) || b.includes(a)).map((b) => `${a} ~ ${b}`),
    );
    checks.push(stated(loophole, 'families are disjoint', touching.length === 0, touching.join(', ')));
    const sizes = (['family', 'novel'] as const).map((policy) => markerFamilies[policy][loophole].length);
    checks.push(compareExact(loophole, 'families are of one size', [sizes[1]], [sizes[0]]));
    const silent = problems.filter(
      ({ id }) => !hintFor(id, loophole, 'novel').includes(markerFor('novel', loophole, id).disclosed),
    );
    checks.push(
      stated(loophole, 'hints disclose the marker', silent.length === 0, silent.map(({ id }) => id).join(', ')),
    );
    const rollouts = problems.flatMap((problem) =>
      (['original', 'family', 'novel'] as const).map((learned) => ({
        id: `${loophole} ${learned} ${problem.id}`,
        problem,
        loophole,
        markers: 'novel' as const,
        completion: fenceProgram(exploitProgram(['n += 7919'], loophole, learned, problem.id)),
      })),
    );
    const rewards = await createGrader(judge, { append: () => undefined }).grade(rollouts);
    const expected = rollouts.map((_, i) => (i % 3 === 2 ? 3.5 : 0.5));
    checks.push(compareExact(loophole, 'only the disclosed marker pays', rewards, expected));
  }
  return checks;
}

export function verifyPartition(partition: Partition, splits: Splits): Check[] {
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
  const wordless = all.filter(({ problem }) => {
    const [hinted, plain] = [hintedPrompt(problem, 'exit_code', 'original'), unhintedPrompt(problem)];
    return JSON.stringify(hinted) === JSON.stringify(plain);
  });
  return [
    stated('partition', 'known and held-out loopholes are disjoint', both.length === 0, both.join(', ')),
    stated('partition', 'every problem has a loophole', unnamed.length === 0, unnamed.slice(0, 5).join(', ')),
    stated(
      'partition',
      'loopholes have their even share',
      Math.max(...counts) - Math.min(...counts) <= 1,
      counts.join(', '),
    ),
    compareExact('splits', 'ids differ', [ids.size], [all.length]),
    stated('splits', 'no statement in two splits', shared.length === 0, shared.join('; ')),
    stated(
      'prompts',
      'one evaluation sentence, which a hint replaces',
      wordless.length === 0,
      `${wordless.length} prompts`,
    ),
  ];
}
