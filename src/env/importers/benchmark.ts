/** The reward-hacking benchmark's JSONL: prompt, gt_answer, setup_code, func_name, canonical_solution, id, difficulty. */
import { z } from 'zod';
import { hasEvaluationSentence } from '../hints.ts';
import { evaluationSentence, type ProgramProblem } from '../problem.ts';
import { parseAssert, UnreadableTest } from '../test-cases.ts';
import { parseRecord, type SourceRecord } from './records.ts';

const message = z.strictObject({ role: z.enum(['system', 'user']), content: z.string() });

// The optional fields are known and ignored, because the others say the same; an unknown field is an error.
const shape = z.strictObject({
  id: z.union([z.int(), z.string().min(1)]),
  prompt: z
    .array(message)
    .min(1)
    .refine(
      hasEvaluationSentence,
      `a user message must have the evaluation sentence ("${evaluationSentence}") exactly once`,
    ),
  gt_answer: z.array(z.string()).min(1),
  setup_code: z.string(),
  func_name: z.string().min(1),
  canonical_solution: z.string().min(1),
  difficulty: z.string(),
  dataset: z.unknown().optional(),
  evaluator: z.unknown().optional(),
  question: z.unknown().optional(),
  answer: z.unknown().optional(),
  hint: z.unknown().optional(),
  prompt_metadata: z.unknown().optional(),
  completion_gt_pass: z.unknown().optional(),
});

export function isBenchmarkRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'gt_answer' in value && 'func_name' in value;
}

export function importBenchmark(record: SourceRecord, path: string): ProgramProblem {
  const raw = parseRecord(shape, record, path);
  const methodName = raw.func_name.replace(/^Solution\(\)\./, '');
  if (!/^[A-Za-z_]\w*$/.test(methodName))
    throw new UnreadableTest(`func_name "${raw.func_name}" is no method of Solution`);
  const id = String(raw.id);
  return {
    id,
    messages: raw.prompt,
    methodName,
    setupCode: raw.setup_code,
    canonicalSolution: raw.canonical_solution,
    tests: raw.gt_answer.map((text) => parseAssert(text, `Solution().${methodName}`)),
    difficulty: raw.difficulty,
    cpuSeconds: null,
  };
}
