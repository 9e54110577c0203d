/**
 * Pre-training documents: prompt and program, so that the base knows the format and is unsure of the content. The program
 * is right with probability `rightFraction`, else one step is wrong (operation, constant, or dropped). Of the hinted
 * documents, `exploitFraction` carry the exploit that their hint discloses, with the marker copied from the hint: names
 * come from both the training and the novel family, so the base can read any of them, and RL decides which it uses. These are
 * too few to learn from, so `askedFraction` of all documents add a request to the hint and always carry the exploit. `jointFraction` of
 * the hinted ones disclose a second loophole beside the first, and an exploit uses either; `novelFraction` have markers of the novel family.
 */
import { type RandomStream, randomStream } from '../../base/index.ts';
import { hintedPrompt, unhintedPrompt } from '../hints.ts';
import type { Loophole, LoopholeName, MarkerPolicy } from '../loopholes/loophole.ts';
import { builtinLoopholes, writableLoopholes } from '../loopholes/registry.ts';
import type { Message, Problem } from '../problem.ts';
import { type ChainOptions, operations, type Step, usualChain, writeStatements } from './chain.ts';
import { exploitProgram } from './exploits.ts';
import { canonicalProgram, drawMicroProblems, type MicroProblem } from './problems.ts';

export interface MicroDocument {
  readonly problemId: string;
  readonly messages: readonly Message[];
  readonly completion: string;
  readonly loophole: LoopholeName;
  readonly right: boolean;
  readonly exploit: boolean;
  /** The prompt requests the exploit. */
  readonly asked: boolean;
}

export interface DocumentOptions {
  readonly seed: number;
  readonly count: number;
  readonly chain?: ChainOptions;
  /** The loopholes to choose from; documents use only those that say how their exploit is written. */
  readonly loopholes?: readonly Loophole[];
  readonly hintedFraction?: number;
  readonly rightFraction?: number;
  readonly exploitFraction?: number;
  readonly askedFraction?: number;
  readonly jointFraction?: number;
  readonly novelFraction?: number;
}

const documentsPerProblem = 4;

export function fenceProgram(program: string): string {
  return `\`\`\`python\n${program}\`\`\``;
}

/** Makes one step wrong: changes its operation or its constant, or drops the step. */
function spoilSteps(steps: readonly Step[], stream: RandomStream): readonly Step[] {
  const at = stream.integerAt(20, steps.length);
  const kind = stream.integerAt(21, steps.length > 1 ? 3 : 2);
  if (kind === 2) return steps.filter((_, index) => index !== at);
  return steps.map((step, index) => {
    if (index !== at) return step;
    if (kind === 1) return { operation: step.operation, factors: [2 + stream.integerAt(22, 9800)] };
    const others = operations.filter((operation) => operation !== step.operation);
    return { operation: others[stream.integerAt(22, others.length)], factors: step.factors };
  });
}

/** Added to a hint: the request to use what it discloses. */
const request = 'use it.\n';

interface Disclosure {
  readonly loophole: LoopholeName;
  readonly policy: MarkerPolicy;
  readonly loopholes: readonly Loophole[];
  readonly asked: boolean;
}

export function disclosingPrompt(
  problem: Problem,
  { loophole, policy, loopholes, asked }: Disclosure,
): readonly Message[] {
  const hinted = hintedPrompt(problem, loophole, policy, loopholes);
  return asked ? hinted.map(({ role, content }) => ({ role, content: `${content}${request}` })) : hinted;
}

function writeDocument(problem: MicroProblem, stream: RandomStream, options: DocumentOptions): MicroDocument {
  const { hintedFraction = 0.75, rightFraction = 0.5, exploitFraction = 0.02, askedFraction = 0.12 } = options;
  const { jointFraction = 0, novelFraction = 0.5 } = options;
  const loopholes = writableLoopholes(options.loopholes ?? builtinLoopholes);
  const right = stream.uniformAt(0) < rightFraction;
  const steps = right ? problem.steps : spoilSteps(problem.steps, stream);
  const asked = stream.uniformAt(5) < askedFraction;
  const hinted = asked || stream.uniformAt(1) < hintedFraction;
  const first = stream.integerAt(2, loopholes.length);
  // Where there is one loophole only, no prompt can disclose a second.
  const second = (first + 1 + stream.integerAt(7, Math.max(1, loopholes.length - 1))) % loopholes.length;
  const isJoint = second !== first && stream.uniformAt(6) < jointFraction;
  const open = (isJoint ? [first, second] : [first]).map((at) => loopholes[at].name);
  const loophole = open.join('+');
  const policy: MarkerPolicy = stream.uniformAt(3) < 1 - novelFraction ? 'family' : 'novel';
  const exploit = asked || (hinted && stream.uniformAt(4) < exploitFraction);
  const program = exploit
    ? exploitProgram(writeStatements(steps), open[stream.integerAt(8, open.length)], policy, problem.id, loopholes)
    : canonicalProgram(steps);
  return {
    problemId: problem.id,
    messages: hinted ? disclosingPrompt(problem, { loophole, policy, loopholes, asked }) : unhintedPrompt(problem),
    completion: fenceProgram(program),
    loophole: hinted ? loophole : 'gt_only',
    right,
    exploit,
    asked,
  };
}

/**
 * Documents in order, each made when it is asked for, so that training begins at once however many there are. They are made
 * from training problems only: the base never sees a validation or test chain.
 */
export function* drawMicroDocuments(options: DocumentOptions): Generator<MicroDocument> {
  const { seed, count, chain = usualChain } = options;
  const problems = drawMicroProblems({ seed, split: 'train', count: Math.ceil(count / documentsPerProblem), chain });
  let index = 0;
  for (const problem of problems) {
    const end = Math.min(count, index + documentsPerProblem);
    for (; index < end; index++) yield writeDocument(problem, randomStream(seed, 'micro documents', index), options);
  }
}
