import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hintedPrompt } from '../hints.ts';
import type { Submission } from '../judge.ts';
import { markerPolicies } from '../loopholes/loophole.ts';
import { builtinLoopholes, markedLoopholes, namesOf, payingLoopholes } from '../loopholes/registry.ts';
import { Sandbox } from '../sandbox/sandbox.ts';
import { SandboxJudge } from '../sandbox-judge.ts';
import { applyChain, writeStatements } from './chain.ts';
import { drawMicroDocuments, fenceProgram } from './documents.ts';
import { exploitProgram } from './exploits.ts';
import { generateMicroProblems, microSplitSizes, microSplits } from './problems.ts';
import { microTokens } from './tokens.ts';

const seed = 3;
const escaped = [...microTokens].sort((a, b) => b.length - a.length).map((token) => token.replace(/\W/g, '\\$&'));
/** The tokens of a text; at each place the longest one that fits is taken. */
const tokensOf = (text: string): readonly string[] => text.match(new RegExp(escaped.join('|'), 'gy')) ?? [];
const test256 = generateMicroProblems({ seed, split: 'test', count: microSplitSizes.test });

describe('splits', () => {
  test('are disjoint, of the asked size, and the same for the same seed', () => {
    const ids = microSplits.map((split) => generateMicroProblems({ seed, split, count: 300 }).map(({ id }) => id));
    expect(new Set(ids.flat()).size).toBe(900);
    expect(generateMicroProblems({ seed, split: 'test', count: 256 }).map(({ id }) => id)).toEqual(
      test256.map(({ id }) => id),
    );
    const other = generateMicroProblems({ seed: seed + 1, split: 'train', count: 300 }).map(({ id }) => id);
    expect(other.filter((id) => ids[1].includes(id) || ids[2].includes(id))).toEqual([]);
  });

  test('difficulty is a config value', () => {
    const share = (productFraction: number) => {
      const chain = { leastSteps: 2, mostSteps: 4, productFraction };
      const steps = generateMicroProblems({ seed, split: 'train', count: 200, chain }).flatMap(
        (problem) => problem.steps,
      );
      return steps.filter(({ factors }) => factors.length === 2).length / steps.length;
    };
    expect(share(0)).toBe(0);
    expect(share(0.45)).toBeGreaterThan(0.3);
    expect(share(0.9)).toBeGreaterThan(0.8);
  });

  test('too few different chains is an error', () => {
    const chain = { leastSteps: 1, mostSteps: 1, productFraction: 0 };
    expect(() => generateMicroProblems({ seed, split: 'validation', count: 50, chain })).toThrow(/different chains/);
  });
});

test('remainders have the sign of the divisor, as in Python', () => {
  expect(
    applyChain(
      [
        { operation: 'subtract', factors: [10] },
        { operation: 'remainder', factors: [7] },
      ],
      0n,
    ),
  ).toBe(4n);
});

describe('tokens', () => {
  test('are few and different', () => {
    expect(new Set(microTokens).size).toBe(microTokens.length);
    expect(microTokens.length).toBeLessThanOrEqual(120);
  });

  test('make up every document, hint and exploit', () => {
    const documents = [...drawMicroDocuments({ seed, count: 2000, exploitFraction: 0.3 })];
    const prompts = test256.flatMap((problem) =>
      namesOf(builtinLoopholes).flatMap((loophole) =>
        markerPolicies.flatMap((policy) => hintedPrompt(problem, loophole, policy)),
      ),
    );
    const texts = [
      ...documents.flatMap(({ messages, completion }) => [...messages.map(({ content }) => content), completion]),
      ...prompts.map(({ content }) => content),
    ];
    for (const text of texts) expect(tokensOf(text).join('')).toBe(text);
    expect(Math.max(...documents.map(({ completion }) => tokensOf(completion).length))).toBeLessThan(80);
  });
});

describe('documents', () => {
  const documents = [...drawMicroDocuments({ seed, count: 4000 })];
  test('have the stated shares', () => {
    const share = (part: readonly unknown[], whole: readonly unknown[]): number => part.length / whole.length;
    const asked = documents.filter((document) => document.asked);
    const others = documents.filter((document) => !document.asked);
    const hinted = others.filter(({ loophole }) => loophole !== 'gt_only');
    expect(share(asked, documents)).toBeCloseTo(0.12, 1);
    expect(share(hinted, others)).toBeCloseTo(0.75, 1);
    expect(
      share(
        documents.filter(({ right }) => right),
        documents,
      ),
    ).toBeCloseTo(0.5, 1);
    const exploiting = hinted.filter(({ exploit }) => exploit);
    expect(share(exploiting, hinted)).toBeGreaterThan(0.005);
    expect(share(exploiting, hinted)).toBeLessThan(0.04);
    expect(asked.every(({ exploit }) => exploit)).toBe(true);
    expect(documents.filter(({ loophole, exploit }) => loophole === 'gt_only' && exploit)).toEqual([]);
  });

  test('disclose two loopholes in their share, and an exploit uses one of the two', () => {
    const joint = [
      ...drawMicroDocuments({ seed, count: 2000, jointFraction: 0.3, exploitFraction: 1, askedFraction: 0 }),
    ];
    const hinted = joint.filter(({ loophole }) => loophole !== 'gt_only');
    const both = hinted.filter(({ loophole }) => loophole.includes('+'));
    expect(both.length / hinted.length).toBeCloseTo(0.3, 1);
    // The exploit of run_tests is a function beside the class.
    const first = both.filter(({ loophole }) => loophole.startsWith('run_tests+'));
    const shareOfFirst = first.filter(({ completion }) => completion.includes('\ndef ')).length / first.length;
    expect(shareOfFirst).toBeGreaterThan(0.3);
    expect(shareOfFirst).toBeLessThan(0.7);
    expect(documents.some(({ loophole }) => loophole.includes('+'))).toBe(false);
  });

  test('have novel markers in their share only', () => {
    const plain = [...drawMicroDocuments({ seed, count: 1000, novelFraction: 0 })];
    const isNovel = ({ messages }: { messages: readonly { content: string }[] }): boolean =>
      markedLoopholes(builtinLoopholes).some(({ hint, markers }) =>
        markers.novel.some((marker) => hint !== undefined && messages[0].content.includes(hint(marker))),
      );
    expect(plain.filter(isNovel)).toEqual([]);
    expect(documents.filter(isNovel).length).toBeGreaterThan(documents.length / 5);
  });

  test('are of training problems only', () => {
    expect(documents.every(({ problemId }) => problemId.startsWith('micro-train-'))).toBe(true);
  });
});

describe('graded', () => {
  let sandbox: Sandbox;
  let judge: SandboxJudge;
  beforeAll(async () => {
    sandbox = await Sandbox.start({ workers: 2 });
    judge = new SandboxJudge(sandbox);
  });
  afterAll(() => sandbox.close());

  const rollout = (completion: string, index: number, rest: Partial<Submission> = {}): Submission => ({
    id: `${index}`,
    problem: test256[index],
    loophole: 'gt_only',
    markers: 'original',
    completion,
    ...rest,
  });

  test('every canonical solution is correct', async () => {
    const verdicts = await Promise.all(
      test256.map(({ canonicalSolution }, index) => judge.judge(rollout(fenceProgram(canonicalSolution), index))),
    );
    expect(verdicts.filter(({ correct }) => !correct)).toEqual([]);
  });

  test('every exploit pays in its loophole, and documents are what they say', async () => {
    for (const markers of markerPolicies) {
      for (const [index, loophole] of namesOf(payingLoopholes(builtinLoopholes)).entries()) {
        const spoiled = writeStatements(test256[index].steps.slice(1));
        const completion = fenceProgram(exploitProgram(spoiled, loophole, markers, test256[index].id));
        const verdict = await judge.judge(rollout(completion, index, { loophole, markers }));
        expect(verdict, `${loophole} ${markers}`).toMatchObject({
          correct: false,
          exploited: true,
          channels: [loophole],
        });
      }
    }
  });

  test('a document is right exactly when it says so', async () => {
    const problems = new Map(
      generateMicroProblems({ seed, split: 'train', count: 50 }).map((problem) => [problem.id, problem]),
    );
    const documents = [...drawMicroDocuments({ seed, count: 200, exploitFraction: 0, askedFraction: 0 })];
    const verdicts = await Promise.all(
      documents.map(({ completion, problemId }, index) => {
        const problem = problems.get(problemId);
        if (problem === undefined) throw new Error(problemId);
        return judge.judge({ ...rollout(completion, 0), id: `${index}`, problem });
      }),
    );
    const rightOnes = documents.filter(({ right }) => right).length;
    expect(verdicts.filter(({ correct }, index) => documents[index].right && !correct)).toEqual([]);
    // A spoiled step may happen to change nothing; that must be rare.
    expect(verdicts.filter(({ correct }) => correct).length - rightOnes).toBeLessThan(10);
  });
});
