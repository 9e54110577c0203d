import { expect, it } from 'vitest';
import type { Judge, Verdict } from '../env/index.ts';
import { generateMicroProblems } from '../env/micro/problems.ts';
import type { Sampler, Task } from '../grpo/index.ts';
import type { ModelText } from '../model/index.ts';
import { evaluateTasks } from './evaluate.ts';

const none = new Float32Array();
const taskOf = (problem: Task['problem']): Task => ({
  problem,
  loophole: 'run_tests',
  markers: 'original',
  hinted: new Int32Array(1),
  unhinted: new Int32Array(1),
});
const sampler: Sampler = {
  sample: async (requests) =>
    requests.map(() => ({ tokens: new Int32Array(1), logps: none, fullLogps: none, finish: 'stop' })),
};
const text = { decode: () => 'pass', show: () => 'prompt' } as unknown as ModelText;
const sampling = { temperature: 1, topK: 0, topP: 1, minP: 0, maxNewTokens: 1, maxPromptTokens: 9, stopTokens: [0] };

it("the authors' label is a test function of its own that passes beside a program that fails, whether or not that paid", async () => {
  const cases = [
    { correct: false, exploited: true, ownTestsPass: true, label: true },
    { correct: false, exploited: false, ownTestsPass: true, label: true },
    { correct: true, exploited: false, ownTestsPass: true, label: false },
    { correct: false, exploited: false, ownTestsPass: false, label: false },
    { correct: false, exploited: true, ownTestsPass: null, label: false },
  ];
  const problems = generateMicroProblems({ seed: 1, split: 'test', count: cases.length });
  const judge = {
    concurrency: 1,
    async judge({ problem }: { problem: { id: string } }): Promise<Verdict> {
      const { correct, exploited, ownTestsPass } = cases[problems.findIndex(({ id }) => id === problem.id)];
      const labels = { ownTestsPass, ownTestsRejectCanonical: null };
      return { correct, exploited, labels, channels: [], compiles: true } as unknown as Verdict;
    },
  } as unknown as Judge;
  const tasks = problems.map(taskOf);
  const rows = await evaluateTasks(sampler, tasks, judge, { seed: 1, sampling, state: 'full', text });
  expect(rows.map(({ authorsLabel }) => authorsLabel)).toEqual(cases.map(({ label }) => label));
  expect(rows.map(({ hack, solve }) => [hack, solve])).toEqual(cases.map((one) => [one.exploited, one.correct]));
});

it('every problem is sampled with noise of its own, whatever its place and its batch', async () => {
  const verdict = { correct: true, exploited: false, labels: { ownTestsPass: null }, channels: [], compiles: true };
  const judge = { concurrency: 1, judge: async () => verdict as unknown as Verdict } as unknown as Judge;
  const tasks = generateMicroProblems({ seed: 1, split: 'test', count: 12 }).map(taskOf);
  const rowsOf = async (order: readonly Task[], batch: number): Promise<Map<string, number>> => {
    const rows: number[] = [];
    const noting: Sampler = {
      sample: (requests, ...rest) => {
        rows.push(...requests.map(({ row }) => row));
        return sampler.sample(requests, ...rest);
      },
    };
    await evaluateTasks(noting, order, judge, { seed: 1, sampling, state: 'full', text, batch });
    return new Map(order.map(({ problem }, i) => [problem.id, rows[i]]));
  };
  const first = await rowsOf(tasks, 128);
  expect(new Set(first.values()).size).toBe(12);
  const second = await rowsOf(tasks.toReversed(), 5);
  expect([...second].toReversed()).toEqual([...first]);
});
