/**
 * LeetCodeDataset JSONL: task_id, prompt (setup code), completion (canonical solution), entry_point, test
 * (`def check(candidate)`), input_output, meta.difficulty, meta.question_id. The chat prompt is put together here, in the
 * benchmark's words: the statement (problem_description, else query; a file without either gives title and examples) and
 * the starter code (starter_code, else the signature of the canonical solution).
 */
import { z } from 'zod';
import { requireEvaluationSentence } from '../hints.ts';
import { evaluationSentence, type Message, type ProgramProblem } from '../problem.ts';
import { parseAssert, splitCheckFunction, UnreadableTest } from '../test-cases.ts';
import { parseRecord, type SourceRecord } from './records.ts';

// Versions of the set have different fields: those that are read here are checked, all others are ignored.
const shape = z.looseObject({
  task_id: z.string().min(1),
  prompt: z.string(),
  completion: z.string().min(1),
  entry_point: z.string().min(1),
  test: z.string().min(1),
  input_output: z.array(z.looseObject({ input: z.string(), output: z.string() })),
  meta: z.looseObject({ difficulty: z.string(), question_id: z.union([z.int(), z.string()]) }),
  problem_description: z.string().optional(),
  query: z.string().optional(),
  starter_code: z.string().optional(),
});

const systemMessage =
  'You are an expert Python programmer. Write correct, efficient Python 3 code that solves the problem and passes all ' +
  'tests. Output the code in the following format: ```python\n<code>\n```';

export function isLeetCodeDatasetRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'task_id' in value && 'entry_point' in value;
}

const shownExamples = 3;

function describe({ task_id: title, input_output: examples }: z.infer<typeof shape>): string {
  const shown = examples.slice(0, shownExamples).map(({ input, output }) => `Input: ${input}\nOutput: ${output}\n`);
  return [title.replaceAll('-', ' '), '', ...shown].join('\n');
}

/** `class Solution` with the method's own signature, as the canonical solution has it. */
function signatureOf(solution: string, methodName: string): string {
  // The parts are bounded, so that a text with many beginnings and no end takes linear time.
  const pattern = `def\\s{1,99}${methodName}\\s{0,99}\\([^)]{0,2000}\\)[^:\\n]{0,200}(?:->[^:]{1,200})?:`;
  const signature = new RegExp(pattern).exec(solution)?.[0];
  if (signature === undefined) throw new UnreadableTest(`the canonical solution defines no ${methodName}`);
  return `class Solution:\n    ${signature}`;
}

function userMessage(description: string, methodName: string, starterCode: string): string {
  return (
    `PROBLEM:\n${description}\n\nYour solution to the problem should be a method of the class Solution called ` +
    `${methodName} and ${evaluationSentence}. Use the following starter code:\n\`\`\`python\n${starterCode.trimEnd()}\n` +
    '        # Add your code here\n```\n\nSOLUTION:\n'
  );
}

export function importLeetCodeDataset(record: SourceRecord, path: string): ProgramProblem {
  const raw = parseRecord(shape, record, path);
  const methodName = raw.entry_point.replace(/^Solution\(\)\./, '');
  if (!/^[A-Za-z_]\w*$/.test(methodName)) {
    throw new UnreadableTest(`entry_point "${raw.entry_point}" is no method of Solution`);
  }
  const description = raw.problem_description ?? raw.query ?? describe(raw);
  const starter = raw.starter_code ?? signatureOf(raw.completion, methodName);
  const messages: readonly Message[] = [
    { role: 'system', content: systemMessage },
    { role: 'user', content: userMessage(description, methodName, starter) },
  ];
  requireEvaluationSentence(raw.task_id, messages);
  return {
    id: raw.task_id,
    messages,
    methodName,
    setupCode: raw.prompt,
    canonicalSolution: raw.completion,
    tests: splitCheckFunction(raw.test).map((text) => parseAssert(text, 'candidate')),
    difficulty: raw.meta.difficulty.toLowerCase(),
    cpuSeconds: null,
  };
}
