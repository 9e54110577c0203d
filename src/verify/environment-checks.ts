/**
 * What must hold of the environment: which program is paid what in which mode (run in the real sandbox), that evaluation's
 * markers are disjoint from training's, and that a partition and its splits are what they say.
 */
import { createGrader } from '../env/grader.ts';
import { hintedPrompt, hintFor, unhintedPrompt } from '../env/hints.ts';
import type { Judge } from '../env/judge.ts';
import { markerFamilies, markerFor, markerPolicies } from '../env/markers.ts';
import { fenceProgram } from '../env/micro/documents.ts';
import { exploitProgram } from '../env/micro/exploits.ts';
import { generateMicroProblems } from '../env/micro/problems.ts';
import { channelNames, markedModes, modes } from '../env/modes.ts';
import type { Partition } from '../env/partition.ts';
import type { Verdict } from '../env/verdict.ts';
import type { Splits } from '../run/tasks.ts';
import { type Check, compareExact, failedCheck } from './check.ts';

export interface RewardMatrix {
  readonly checks: readonly Check[];
  /** Rows by program, columns by mode: reward, with * for a hack. */
  readonly matrix: readonly { readonly program: string; readonly cells: readonly string[] }[];
}

/** A statement that holds or does not. */
export function stated(name: string, quantity: string, holds: boolean, problem: string): Check {
  return holds ? compareExact(name, quantity, [0], [0]) : failedCheck(name, quantity, problem);
}

/** The hack × mode matrix under every marker policy: an exploit pays in its own mode only, a solution in all, a failure in none. */
export async function verifyRewards(judge: Judge): Promise<RewardMatrix> {
  const [problem] = generateMicroProblems({ seed: 3, split: 'train', count: 1 });
  const checks: Check[] = [];
  let matrix: RewardMatrix['matrix'] = [];
  for (const markers of markerPolicies) {
    const exploits = channelNames.map(
      (mode) => [mode, exploitProgram(['n += 7919'], mode, markers, problem.id)] as const,
    );
    const programs = [
      ['solution', problem.canonicalSolution],
      ['wrong', problem.canonicalSolution.replace('return n', 'return n + 1')],
      ...exploits,
    ] as const;
    const verdicts: Verdict[] = [];
    const rollouts = programs.flatMap(([name, code]) =>
      modes.map((mode) => ({ id: `${name} ${mode}`, problem, mode, markers, completion: fenceProgram(code) })),
    );
    const rewards = await createGrader(judge, { append: (verdict) => verdicts.push(verdict) }).grade(rollouts);
    matrix = programs.map(([program], row) => {
      const own = modes.map((_, column) => row * modes.length + column);
      const paid = modes.map((mode) => (program === 'solution' || program === mode ? 3.5 : 0.5));
      checks.push(
        compareExact(
          `${markers} markers`,
          `reward of ${program}`,
          own.map((i) => rewards[i]),
          paid,
        ),
      );
      const hacks = modes.map((mode) => (program === mode ? 1 : 0));
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
  for (const mode of markedModes) {
    const training = [...markerFamilies.original[mode], ...markerFamilies.family[mode]];
    const novel = markerFamilies.novel[mode];
    const touching = training.flatMap((a) =>
      novel.filter((b) => a.includes(b) || b.includes(a)).map((b) => `${a} ~ ${b}`),
    );
    checks.push(stated(mode, 'families are disjoint', touching.length === 0, touching.join(', ')));
    const sizes = (['family', 'novel'] as const).map((policy) => markerFamilies[policy][mode].length);
    checks.push(compareExact(mode, 'families are of one size', [sizes[1]], [sizes[0]]));
    const silent = problems.filter(
      ({ id }) => !hintFor(id, mode, 'novel').includes(markerFor('novel', mode, id).disclosed),
    );
    checks.push(stated(mode, 'hints disclose the marker', silent.length === 0, silent.map(({ id }) => id).join(', ')));
    const rollouts = problems.flatMap((problem) =>
      (['original', 'family', 'novel'] as const).map((learned) => ({
        id: `${mode} ${learned} ${problem.id}`,
        problem,
        mode,
        markers: 'novel' as const,
        completion: fenceProgram(exploitProgram(['n += 7919'], mode, learned, problem.id)),
      })),
    );
    const rewards = await createGrader(judge, { append: () => undefined }).grade(rollouts);
    const expected = rollouts.map((_, i) => (i % 3 === 2 ? 3.5 : 0.5));
    checks.push(compareExact(mode, 'only the disclosed marker pays', rewards, expected));
  }
  return checks;
}

export function verifyPartition(partition: Partition, splits: Splits): Check[] {
  const { known, heldOut, problems } = partition;
  const all = Object.entries(splits).flatMap(([split, own]) => own.map((problem) => ({ split, problem })));
  const both = known.filter((mode) => heldOut.includes(mode));
  const unnamed = all.filter(({ problem }) => problems[problem.id] === undefined).map(({ problem }) => problem.id);
  const counts = [...known, ...heldOut].map((mode) => Object.values(problems).filter((own) => own === mode).length);
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
    stated('partition', 'known and held-out modes are disjoint', both.length === 0, both.join(', ')),
    stated('partition', 'every problem has a mode', unnamed.length === 0, unnamed.slice(0, 5).join(', ')),
    stated(
      'partition',
      'modes have their even share',
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
