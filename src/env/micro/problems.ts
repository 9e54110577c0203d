/**
 * Micro problems in the form of every other problem, and their splits. Which split a chain belongs to is a function of
 * its text, so splits are disjoint by construction whatever is drawn: of 20 parts, 16 train, 1 validation, 3 test.
 */
import { randomStream, UserError } from '../../base/index.ts';
import { sha256 } from '../../base/node/index.ts';
import type { ProgramProblem, TestCase } from '../problem.ts';
import {
  applyChain,
  type ChainOptions,
  describeChain,
  drawChain,
  type Step,
  usualChain,
  writeStatements,
} from './chain.ts';

export const microSplits = ['train', 'validation', 'test'] as const;
export type MicroSplit = (typeof microSplits)[number];

/** Number of problems that evaluation uses. */
export const microSplitSizes = { validation: 256, test: 256 } as const;

export interface MicroProblem extends ProgramProblem {
  readonly steps: readonly Step[];
}

const inputs = [0n, 1n, 5n, 17n, 42n, 99n, 1000n, 12345n];
const leastDistinctOutputs = 3;
const drawLimitFactor = 200;

function splitOf(text: string): MicroSplit {
  const part = Number.parseInt(sha256(text).slice(0, 8), 16) % 20;
  if (part < 16) return 'train';
  return part === 16 ? 'validation' : 'test';
}

/** Whether the result depends on n; otherwise a constant would solve the problem. */
function dependsOnInput(steps: readonly Step[]): boolean {
  return new Set(inputs.map((n) => applyChain(steps, n))).size >= leastDistinctOutputs;
}

export function writeProgram(body: readonly string[]): string {
  return ['class Solution:', '    def solve(self, n):', ...body.map((line) => `        ${line}`), ''].join('\n');
}

export function canonicalProgram(steps: readonly Step[]): string {
  return writeProgram([...writeStatements(steps), 'return n']);
}

function testOf(steps: readonly Step[], n: bigint): TestCase {
  const expected = applyChain(steps, n);
  return { positional: [n], keywords: [], builders: [], shape: 'plain', expected, tolerance: null };
}

export function microProblem(steps: readonly Step[]): MicroProblem {
  const text = describeChain(steps);
  return {
    id: `micro-${splitOf(text)}-${sha256(text).slice(0, 12)}`,
    messages: [{ role: 'user', content: `${text} the method solve of class Solution should pass all tests.\n` }],
    methodName: 'solve',
    setupCode: '',
    canonicalSolution: canonicalProgram(steps),
    tests: inputs.map((n) => testOf(steps, n)),
    difficulty: `${steps.length} steps, ${steps.filter(({ factors }) => factors.length === 2).length} products`,
    cpuSeconds: 1,
    steps,
  };
}

export interface MicroOptions {
  readonly seed: number;
  readonly split: MicroSplit;
  readonly count: number;
  readonly chain?: ChainOptions;
}

/** The first `count` different problems of a split, in the order the seed draws them; each is made when it is asked for. */
export function* drawMicroProblems({ seed, split, count, chain = usualChain }: MicroOptions): Generator<MicroProblem> {
  const drawn = new Set<string>();
  const stream = randomStream(seed, ['micro', split]);
  for (let draw = 0; drawn.size < count; draw += 1) {
    if (draw > 1000 + count * drawLimitFactor) {
      throw new UserError({
        call: `generate ${count} micro problems (${split})`,
        expected: 'that many different chains',
        found: `${drawn.size}`,
        fix: 'Allow more steps or more products.',
      });
    }
    const steps = drawChain(stream.at(draw, 0), chain);
    if (splitOf(describeChain(steps)) !== split || !dependsOnInput(steps)) continue;
    const problem = microProblem(steps);
    if (drawn.has(problem.id)) continue;
    drawn.add(problem.id);
    yield problem;
  }
}

export function generateMicroProblems(options: MicroOptions): readonly MicroProblem[] {
  return [...drawMicroProblems(options)];
}
