/** Prompts of tasks with an instruction beside the user message, as the model reads them: for training and for evaluation. */
import { UserError } from '../base/index.ts';
import { hintedPrompt, unhintedPrompt } from '../env/hints.ts';
import { type Instruction, instruct, type Place, readInstruction } from '../env/instructions.ts';
import type { Loophole, LoopholeName, MarkerPolicy } from '../env/loopholes/loophole.ts';
import type { Problem } from '../env/problem.ts';
import type { ModelText } from '../model/index.ts';

export interface InstructionWords {
  readonly text: ModelText;
  readonly loopholes: readonly Loophole[];
  readonly inWords: boolean;
}

interface InstructedTask {
  readonly problem: Pick<Problem, 'id' | 'messages'>;
  readonly loophole: LoopholeName;
  readonly markers: MarkerPolicy;
  readonly hackable: boolean;
}

export function instructedPrompt(
  { problem, loophole, markers, hackable }: InstructedTask,
  instruction: Instruction,
  { text, loopholes }: Pick<InstructionWords, 'text' | 'loopholes'>,
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
