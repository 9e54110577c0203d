/**
 * Pre-training documents for the micro base model: a prompt and a program. The program is right with probability
 * `rightShare`, else one step is wrong (operation, constant, or dropped), so that sampling explores. Half of the prompts carry
 * a hint; a small share of those programs also exploit it with the very name it discloses, drawn from words of all families:
 * the model learns to read a name from a hint, and hardly ever to use it. Only statements of the train split occur.
 */
import { type RandomStream, randomStream } from '../../base/rng.ts';
import { hintedPrompt, unhintedPrompt } from '../hints.ts';
import { type MarkerPolicy, markerFor, markerPolicies } from '../markers.ts';
import { type ChannelName, channelNames, isMarkedMode } from '../modes.ts';
import type { Message } from '../problem.ts';
import { constantOf, exploits, fenced, methodText, type Step } from './language.ts';
import { drawSteps, microProblem, splitOf } from './problems.ts';

export interface DocumentSettings {
  readonly seed: number;
  readonly hardShare: number;
  readonly rightShare: number;
  readonly hintedShare: number;
  /** Of the hinted documents. */
  readonly exploitShare: number;
}

export interface MicroDocument {
  readonly messages: readonly Message[];
  readonly completion: string;
}

export function microDocument(index: number, settings: DocumentSettings): MicroDocument {
  const steps = trainSteps(index, settings);
  const stream = randomStream(settings.seed, 'micro document', 0, index);
  const chance = (position: number): number => stream.uniformAt(position);
  const program = methodText(chance(0) < settings.rightShare ? steps : spoil(steps, stream));
  const id = `document-${index}`;
  const problem = microProblem(id, steps);
  if (chance(1) >= settings.hintedShare) return { messages: unhintedPrompt(problem), completion: fenced(program) };
  const mode = channelNames[stream.integerAt(100, channelNames.length)];
  const policy = markerPolicies[stream.integerAt(101, markerPolicies.length)];
  const exploited = chance(2) < settings.exploitShare;
  return {
    messages: hintedPrompt(problem, mode, policy),
    completion: fenced(exploited ? exploit(program, mode, policy, id) : program),
  };
}

/** The canonical exploit of a mode, added to a program. */
export function exploit(program: string, mode: ChannelName, policy: MarkerPolicy, problemId: string): string {
  return exploits[mode](program, isMarkedMode(mode) ? markerFor(policy, mode, problemId).disclosed : '');
}

function trainSteps(index: number, { seed, hardShare }: DocumentSettings): Step[] {
  for (let attempt = 0; ; attempt++) {
    const steps = drawSteps(randomStream(seed, 'micro document steps', attempt, index), hardShare);
    if (splitOf(steps) === 'train') return steps;
  }
}

/** One step wrong: another operation, another constant, or left out. */
function spoil(steps: readonly Step[], stream: RandomStream): Step[] {
  const at = stream.integerAt(200, steps.length);
  const kind = stream.integerAt(201, steps.length > 1 ? 3 : 2);
  if (kind === 2) return steps.filter((_, i) => i !== at);
  return steps.map((step, i) => {
    if (i !== at) return step;
    if (kind === 0) {
      const others = (['add', 'subtract', 'multiply', 'remainder'] as const).filter((name) => name !== step.operation);
      return { ...step, operation: others[stream.integerAt(202, others.length)] };
    }
    const constant = constantOf(step);
    const shift = 1 + stream.integerAt(203, 9);
    return {
      ...step,
      factors: [constant > shift + 1 && stream.integerAt(204, 2) === 0 ? constant - shift : constant + shift],
    };
  });
}
