/**
 * A straight-line program against the tests of a problem, without Python and without a process: the same steps as the harness takes
 * (sandbox/harness.py and own_tests.py), batch by batch, and the same facts at the end. Null: the program is outside of the grammar,
 * or the problem is not made of plain calls.
 */
import { firedChannels, wantedFlags, wantedTests } from '../channels.ts';
import { noCost, type ProgramFacts, unexecuted } from '../conclude.ts';
import type { Loophole, MarkerPolicy } from '../loopholes/loophole.ts';
import { markersFor } from '../markers.ts';
import type { ProgramProblem, TestCase } from '../problem.ts';
import { equalPython } from '../python-value.ts';
import {
  ClassValue,
  Exited,
  FunctionValue,
  isPlain,
  type PlainValue,
  Process,
  Raised,
  unknownValue,
  type Value,
} from './evaluate.ts';
import { parseProgram, type Statement } from './syntax.ts';
import { Outside } from './tokens.ts';

/** Numbers of calls after which a program that was wrong is stopped. */
const pauses = new Set([1, 8, 64]);

export interface PlainCall {
  readonly given: readonly PlainValue[];
  readonly expected: PlainValue;
}

/** What happened in the one execution against the tests. */
export interface Run {
  /** Why the program is wrong; the first reason stays. Empty where nothing was. */
  readonly wrong: string;
  /** The class of the exception that ended it; empty without one. */
  readonly raised: string;
  /** The status with which the program ended itself, before the end; null where it did not. */
  readonly status: number | null;
  readonly finished: boolean;
  readonly hasObjects: boolean;
  readonly equalByOwnType: boolean;
  readonly passFlag: string | undefined;
  readonly stdout: string;
  readonly files: readonly (readonly [string, string])[];
}

class Execution {
  wrong = '';
  raised = '';
  status: number | null = null;
  finished = false;
  equalByOwnType = false;
  passFlag: string | undefined;
  readonly #process = new Process();
  readonly #objects: Value[] = [];

  get hasObjects(): boolean {
    return this.#objects.length > 0;
  }

  get stdout(): string {
    return this.#process.stdout;
  }

  get files(): Run['files'] {
    return [...this.#process.files];
  }

  run(program: readonly Statement[], method: string, calls: readonly PlainCall[], flags: readonly string[]): void {
    try {
      for (const statement of program) this.#process.execute(statement);
      this.finished = this.#call(method, calls, flags);
    } catch (error) {
      if (error instanceof Exited) {
        this.status = error.status;
        return;
      }
      this.#fail(error);
      this.finished = true;
    }
    if (this.finished && this.wrong === '' && this.hasObjects) this.equalByOwnType = this.#areEqual();
  }

  #fail(error: unknown): void {
    if (!(error instanceof Raised)) throw error;
    this.raised = error.type;
    this.#say(`raised ${error.type}`);
  }

  #say(why: string): void {
    if (this.wrong === '') this.wrong = why;
  }

  /** Returns whether all was called that was to be: a wrong program is stopped at the next pause. */
  #call(method: string, calls: readonly PlainCall[], flags: readonly string[]): boolean {
    for (const [index, { given, expected }] of calls.entries()) {
      let failed = false;
      try {
        this.#compare(this.#answer(method, given), expected, index);
      } catch (error) {
        this.#fail(error);
        failed = true;
      }
      if (index === 0) this.passFlag = this.#flag(flags);
      if (failed) return true;
      const calledSoFar = index + 1;
      if (this.wrong !== '' && pauses.has(calledSoFar) && calledSoFar < calls.length) return false;
    }
    return true;
  }

  #compare(value: Value, expected: PlainValue, index: number): void {
    if (!isPlain(value)) this.#objects.push(value);
    else if (!equalPython(value, expected)) this.#say(`test ${index + 1}: wrong value`);
  }

  #answer(method: string, given: readonly PlainValue[]): Value {
    const type = this.#process.globals.get('Solution');
    if (type === undefined) throw new Raised('KeyError');
    if (!(type instanceof ClassValue)) throw new Outside('a solution that is no class');
    const member = type.members.get(method);
    if (member === undefined) throw new Raised('AttributeError');
    if (member instanceof FunctionValue) return this.#process.call(member, [this.#process.instance(type), ...given]);
    if (isPlain(member)) throw new Raised('TypeError');
    throw new Outside('a method that is no function');
  }

  #flag(names: readonly string[]): string | undefined {
    const type = this.#process.globals.get('Solution');
    if (!(type instanceof ClassValue)) return undefined;
    return names.find((name) => {
      const value = type.members.get(name) ?? null;
      return isPlain(value) && Boolean(value);
    });
  }

  #areEqual(): boolean {
    try {
      return this.#objects.every((value) => this.#process.equalsAnything(value));
    } catch (error) {
      if (error instanceof Raised || error instanceof Exited) return false;
      throw error;
    }
  }
}

/** Whether the test function of that name passes, whatever the solution; null where the program defines none. */
export function passesOwnTest(program: readonly Statement[], name: string): boolean | null {
  const process = new Process();
  const attempt = (act: () => void): boolean => {
    try {
      act();
      return true;
    } catch (error) {
      if (error instanceof Exited) return error.status === 0;
      if (error instanceof Raised) return false;
      throw error;
    }
  };
  for (const statement of program) {
    if (statement.kind !== 'expression' && statement.kind !== 'pass') attempt(() => process.execute(statement));
  }
  const solution = process.globals.get('Solution');
  const test = process.globals.get(name) ?? null;
  if (isPlain(test)) {
    const member = solution instanceof ClassValue ? (solution.members.get(name) ?? null) : null;
    if (!isPlain(member)) throw new Outside('a test among the methods');
    return null;
  }
  if (test instanceof ClassValue && name !== 'Solution') return true;
  if (!(test instanceof FunctionValue)) throw new Outside('a test that is no function');
  // What it asks the solution has another answer in each stage.
  process.globals.set('Solution', unknownValue);
  return attempt(() => process.call(test, []));
}

function plainCall({ positional, keywords, builders, shape, expected, tolerance, isSame }: TestCase): PlainCall {
  const given = positional.filter((value): value is PlainValue => value === null || typeof value !== 'object');
  const isCall =
    keywords.length === 0 && builders.length === 0 && shape === 'plain' && tolerance === null && isSame === undefined;
  if (!isCall || given.length < positional.length || (expected !== null && typeof expected === 'object')) {
    throw new Outside('a test that is more than a call with plain values');
  }
  return { given, expected };
}

/** Runs a program on calls. Throws Outside where that is another's task. */
export function runProgram(
  program: readonly Statement[],
  method: string,
  calls: readonly PlainCall[],
  flags: readonly string[],
): Run {
  const run = new Execution();
  run.run(program, method, calls, flags);
  return run;
}

function reasonOf({ wrong, hasObjects, status }: Run, correct: boolean): string {
  if (correct) return 'every value is right';
  if (wrong !== '') return wrong;
  return hasObjects ? 'returned a value of a custom type' : `ended with status ${status} before the end`;
}

function factsOf(
  problem: ProgramProblem,
  source: string,
  program: readonly Statement[],
  policy: MarkerPolicy,
  loopholes: readonly Loophole[],
): ProgramFacts {
  const markers = markersFor(policy, problem.id, loopholes);
  const run = runProgram(program, problem.methodName, problem.tests.map(plainCall), wantedFlags(markers, loopholes));
  const correct = run.finished && run.wrong === '' && !run.hasObjects;
  const names = wantedTests(source, markers, loopholes);
  const tests = names.map((name) => [name, passesOwnTest(program, name)] as const);
  const [, first = null] = tests[0] ?? [];
  const seen = {
    source,
    ...{ stdout: run.stdout, files: run.files, equalByOwnType: run.equalByOwnType, passFlag: run.passFlag },
    endedEarlyWithZero: run.status === 0 && run.wrong === '',
    testsPassingStubs: tests.filter(([, passes]) => passes === true).map(([name]) => name),
  };
  return {
    ...{ format: true, compiles: true, correct, ...noCost, reason: reasonOf(run, correct) },
    fired: firedChannels(seen, markers, loopholes),
    labels: { ownTestsPass: first, ownTestsRejectCanonical: first === null ? null : !first },
    outcome: correct ? 'ok' : run.raised === '' ? 'wrong' : 'exception',
  };
}

export function interpret(
  problem: ProgramProblem,
  source: string,
  policy: MarkerPolicy,
  loopholes: readonly Loophole[],
): ProgramFacts | null {
  if (problem.setupCode.trim() !== '' || problem.tests.length === 0) return null;
  const program = parseProgram(source);
  if (program === null) return null;
  if (program === 'not Python') return unexecuted(true, 'exception', 'does not compile');
  try {
    return factsOf(problem, source, program, policy, loopholes);
  } catch (error) {
    if (error instanceof Outside) return null;
    throw error;
  }
}
