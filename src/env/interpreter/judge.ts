/**
 * The judge that needs no Python: it interprets straight-line programs, with the verdicts that the sandbox would give them, and leaves
 * all others to another judge. Where there is no other, as in a browser, they count as programs that do not compile, and are counted.
 */
import { conclude, type ProgramFacts, unexecuted } from '../conclude.ts';
import type { Judge, Submission } from '../judge.ts';
import type { Loophole } from '../loopholes/loophole.ts';
import { builtinLoopholes, openLoopholes } from '../loopholes/registry.ts';
import { programOf } from '../problem.ts';
import { extractProgram } from '../response.ts';
import type { Verdict } from '../verdict.ts';
import { interpret } from './program.ts';

export interface InterpreterJudgeOptions {
  /** All loopholes there are: any channel that fires is recorded, whatever the loophole of the submission. */
  readonly loopholes?: readonly Loophole[];
  readonly otherwise?: Judge;
}

export class InterpreterJudge implements Judge {
  /** Programs that were outside of the grammar. */
  outside = 0;
  readonly #loopholes: readonly Loophole[];
  /** Judges the programs that are outside of the grammar. */
  readonly otherwise: Judge | undefined;

  constructor({ loopholes = builtinLoopholes, otherwise }: InterpreterJudgeOptions = {}) {
    this.#loopholes = loopholes;
    this.otherwise = otherwise;
  }

  get concurrency(): number {
    return this.otherwise?.concurrency ?? 1;
  }

  async judge(submission: Submission): Promise<Verdict> {
    const facts = this.facts(submission);
    if (facts !== null) return conclude(submission, facts);
    this.outside += 1;
    if (this.otherwise !== undefined) return this.otherwise.judge(submission);
    return conclude(submission, unexecuted(true, 'exception', 'outside of the grammar that is judged here'));
  }

  /** What the program does; null where it is outside of the grammar. */
  facts({ id, problem, markers, completion, loophole }: Submission): ProgramFacts | null {
    openLoopholes(loophole, this.#loopholes, `judge ${id}`);
    const source = extractProgram(completion);
    if (source === null) return unexecuted(false, 'wrong', 'no code block');
    return interpret(programOf(problem), source, markers, this.#loopholes);
  }
}
