/** Turns problems into tasks: each gets one loophole, and both of its prompts as tokens. */
import { UserError } from '../base/index.ts';
import { sha256 } from '../base/node/index.ts';
import { hintedPrompt, unhintedPrompt } from '../env/hints.ts';
import { type Instruction, instruct, type Place, type ReadsWords, readInstruction } from '../env/instructions.ts';
import type { Loophole, LoopholeName, MarkerPolicy } from '../env/loopholes/loophole.ts';
import { loopholeOf, makePartition, type Partition, readPartition } from '../env/partition.ts';
import type { Problem } from '../env/problem.ts';
import type { Splits } from '../env/sources/index.ts';
import type { Task } from '../grpo/index.ts';
import type { DecoderConfig, ModelText } from '../model/index.ts';
import type { RunConfig } from './config/schema.ts';

export async function partitionOf(
  { environment }: Pick<RunConfig, 'environment'>,
  splits: Splits,
  loopholes: readonly Loophole[],
): Promise<Partition> {
  if (environment.partition !== null)
    return expectSameHeldOut(await readPartition(environment.partition, loopholes), environment);
  const { loopholes: known, heldOutLoopholes: heldOut, partitionSeed: seed, partitionBy } = environment;
  const bySplit = Object.values(splits).map((problems) => problems.map(({ id }) => id));
  const parts = partitionBy === 'split' ? bySplit : [bySplit.flat()];
  const dealt = parts.map((ids) => makePartition(ids, { known, heldOut, seed, loopholes }).problems);
  return { known, heldOut, problems: Object.assign({}, ...dealt) };
}

/** What pairs and demonstrations may not show follows the config, so the file must hold out the same loopholes. */
function expectSameHeldOut(
  partition: Partition,
  { partition: file, heldOutLoopholes }: RunConfig['environment'],
): Partition {
  const name = (loopholes: readonly string[]): string => [...new Set(loopholes)].sort().join(', ') || 'none';
  if (name(partition.heldOut) === name(heldOutLoopholes)) return partition;
  throw new UserError({
    call: 'config, key environment.heldOutLoopholes',
    expected: `the held-out loopholes of ${file} (${name(partition.heldOut)})`,
    found: name(heldOutLoopholes),
  });
}

export type TaskWords = { readonly text: ModelText; readonly loopholes: readonly Loophole[] };

export function makeTask(
  problem: Problem,
  loophole: LoopholeName,
  markers: MarkerPolicy,
  { text, loopholes }: TaskWords,
): Task {
  return {
    problem,
    loophole,
    markers,
    hinted: text.prompt(hintedPrompt(problem, loophole, markers, loopholes)),
    unhinted: text.prompt(unhintedPrompt(problem)),
  };
}

export function trainingTasks(
  { environment: { markers }, sampling: { maxPromptTokens } }: RunConfig,
  problems: readonly Problem[],
  partition: Partition,
  words: TaskWords,
  loopholes: 'open' | 'closed',
): Task[] {
  return problems.map((problem) => {
    expectReadable(problem, maxPromptTokens);
    const loophole = loopholes === 'closed' ? 'gt_only' : loopholeOf(partition, problem.id);
    return makeTask(problem, loophole, markers, words);
  });
}

/** Characters that the tokens of a prompt have on average at most. */
const mostCharactersPerToken = 64;

/** Refuses a prompt that cannot fit before it is tokenized, which would take minutes for a long one. */
function expectReadable({ id, messages }: Problem, limit: number): void {
  const characters = messages.reduce((sum, { content }) => sum + content.length, 0);
  if (characters > mostCharactersPerToken * limit) throw tooLong(id, limit, `${characters} characters`);
}

function tooLong(id: string, limit: number, found: string, why = 'sampling.maxPromptTokens'): UserError {
  return new UserError({ call: `prompt of problem ${id}`, expected: `at most ${limit} tokens (${why})`, found });
}

/**
 * Throws for a prompt over the limit, or one that leaves no room for its completion in the model's context, instead of leaving its problem
 * out: a run must not choose its problems by their length.
 */
export function assertPromptsFit(
  tasks: readonly Task[],
  { maxPromptTokens, maxNewTokens }: RunConfig['sampling'],
  { maxPositions }: Pick<DecoderConfig, 'maxPositions'>,
): void {
  const room = Math.max(0, maxPositions - maxNewTokens);
  for (const { problem, hinted, unhinted } of tasks) {
    const longest = Math.max(hinted.length, unhinted.length);
    if (longest > maxPromptTokens) throw tooLong(problem.id, maxPromptTokens, `${longest}`);
    if (longest > room) {
      const why = `the model's context of ${maxPositions} less sampling.maxNewTokens`;
      throw tooLong(problem.id, room, `${longest}`, why);
    }
  }
}

/** The hash of everything about problems that decides prompts and verdicts; their CPU budgets are measured, and do not count. */
export function problemsHash(problems: readonly Problem[]): string {
  return sha256(
    JSON.stringify(
      problems.map((problem) => ({ ...problem, cpuSeconds: undefined })),
      nameTypes,
    ),
  );
}

/** Tells the values of Python apart that would be the same JSON. */
function nameTypes(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return { integer: `${value}` };
  if (typeof value === 'number' && !Number.isFinite(value)) return { number: `${value}` };
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value.constructor === Object) return value;
  return { [value.constructor.name]: { ...value } };
}

export type InstructionWords = TaskWords & { readonly inWords: ReadsWords };

interface InstructedTask extends Pick<Task, 'loophole' | 'markers'> {
  readonly problem: Pick<Problem, 'id' | 'messages'>;
  readonly hackable: boolean;
}

export function instructedPrompt(
  { problem, loophole, markers, hackable }: InstructedTask,
  instruction: Instruction,
  { text, loopholes }: TaskWords,
): Int32Array {
  const own = hackable ? hintedPrompt(problem, loophole, markers, loopholes) : unhintedPrompt(problem);
  return text.prompt(instruct(own, instruction));
}

export function readableInstruction(
  given: string,
  place: Place,
  { text, inWords }: Pick<InstructionWords, 'text' | 'inWords'>,
  call: string,
): Instruction {
  const instruction = readInstruction(given, place, inWords, call);
  const markup = text.controls.find((control) => control.length > 1 && instruction.text.includes(control));
  if (markup !== undefined) {
    const expected = 'an instruction without the markup of a chat, which would end the message that it stands in';
    throw new UserError({ call, expected, found: JSON.stringify(markup) });
  }
  try {
    text.encode(instruction.text);
    return instruction;
  } catch (cause) {
    if (!(cause instanceof UserError)) throw cause;
    const expected = 'an instruction made of words that the model has tokens for';
    throw new UserError({ call, expected, found: JSON.stringify(instruction.text), fix: cause.message }, { cause });
  }
}
