/**
 * The judge that executes programs: it extracts the program, runs it once against the tests, runs the test functions of its own
 * that a loophole asks for, and lets every loophole say whether its channel fired. The same rollout gives the same verdict: CPU time
 * decides, not wall time; a program that ran out of wall time while the machine was busy is run once more. All processes of
 * one rollout together take at most three wall budgets.
 */
import { availableParallelism, loadAverage, sha256 } from '../base/node/index.ts';
import { CanonicalAnswers } from './canonical-answers.ts';
import { firedChannels, wantedFlags, wantedTests } from './channels.ts';
import { conclude, noLabels, type ProgramFacts, unexecuted } from './conclude.ts';
import { Execution, type PreparedProblem, prepareProblem, ranOutOfCpu } from './execution.ts';
import type { Judge, Submission } from './judge.ts';
import type { Loophole, MarkerPolicy } from './loopholes/loophole.ts';
import { builtinLoopholes, openLoopholes } from './loopholes/registry.ts';
import { markersFor, type ProblemMarkers } from './markers.ts';
import { type OwnTests, runOwnTests } from './own-tests.ts';
import { type ProgramProblem, programOf } from './problem.ts';
import { extractProgram, hasLoneSurrogate } from './response.ts';
import type { ProgramRunner } from './runner.ts';
import type { Sandbox } from './sandbox/sandbox.ts';
import type { Ending } from './sandbox/worker.ts';
import type { Outcome, Verdict } from './verdict.ts';

const unknownBudgetSeconds = 3;
const usualWallFactor = 10;
/** Wall time as multiples of the wall budget: of one rollout with everything, and of the second try of its program. */
const mostWallBudgets = 3;
const secondTryWallBudgets = 1.5;
const usualRemembered = 10_000;
/** Characters of a program that is run: no model writes as many, and a process needs several times their memory before it begins. */
const largestSource = 1 << 20;

function outcomeOf(run: Execution, ending: Ending, cpuSeconds: number): Outcome {
  if (run.correct) return 'ok';
  if (ending.flooded || run.tooLarge || ending.stopped === 'files') return 'output too large';
  if (ending.stopped === 'wall' || ending.stopped === 'idle' || ranOutOfCpu(ending, cpuSeconds)) return 'timeout';
  if (run.raised === 'MemoryError') return 'memory';
  if (run.raised !== '') return 'exception';
  if (ending.stopped === 'worker') return 'killed';
  return ending.exit < 0 && ending.stopped === '' ? 'killed' : 'wrong';
}

/** Labels of a response, from the first of its test functions. */
function labelsOf(tests: OwnTests | undefined): Verdict['labels'] {
  if (tests === undefined) return noLabels;
  const { passOwn, passCanonical } = tests;
  return { ownTestsPass: passOwn, ownTestsRejectCanonical: passCanonical === null ? null : !passCanonical };
}

function sumOf(tests: ReadonlyMap<string, OwnTests>, cost: (tests: OwnTests) => number): number {
  return [...tests.values()].reduce((sum, each) => sum + cost(each), 0);
}

function reasonOf(run: Execution, ending: Ending, outcome: Outcome): string {
  if (outcome === 'ok') return 'every value is right';
  if (outcome === 'timeout') return `${Math.round(ending.cpuMs)} ms CPU, ${Math.round(ending.wallMs)} ms wall`;
  if (ending.stopped === 'worker') return `each of its workers failed: ${ending.failure ?? ''}`;
  if (outcome === 'killed') return `ended by signal ${-ending.exit}`;
  if (run.wrong !== '') return run.wrong;
  if (run.opaqueOutputs > 0) return 'returned a value of a custom type';
  return run.finished ? 'fewer outputs than tests' : `ended with status ${ending.exit} before the end`;
}

/** Whether the wall clock stopped a program that other processes were holding up. */
function machineWasBusy({ stopped, cpuMs }: Ending, cpuSeconds: number): boolean {
  return stopped === 'wall' && (cpuMs > cpuSeconds * 100 || loadAverage() > 4 * availableParallelism());
}

export interface SandboxJudgeOptions {
  /** All loopholes there are: any channel that fires is recorded, whatever the loophole of the submission. */
  readonly loopholes?: readonly Loophole[];
  /** Wall time a program may take, as a multiple of its CPU budget. */
  readonly wallFactor?: number;
  /** The most programs whose facts are remembered, the newest. */
  readonly remembered?: number;
}

export class SandboxJudge<Runner extends ProgramRunner = Sandbox> implements Judge {
  readonly runner: Runner;
  readonly #answers: CanonicalAnswers;
  readonly #loopholes: readonly Loophole[];
  readonly #wallFactor: number;
  readonly #remembered: number;
  readonly #prepared = new WeakMap<ProgramProblem, PreparedProblem>();
  readonly #cache = new Map<string, Promise<ProgramFacts>>();

  constructor(
    runner: Runner,
    {
      loopholes = builtinLoopholes,
      wallFactor = usualWallFactor,
      remembered = usualRemembered,
    }: SandboxJudgeOptions = {},
  ) {
    this.runner = runner;
    this.#answers = new CanonicalAnswers(runner);
    this.#loopholes = loopholes;
    this.#wallFactor = wallFactor;
    this.#remembered = remembered;
  }

  get concurrency(): number {
    return this.runner.workerCount * 2;
  }

  async judge(submission: Submission): Promise<Verdict> {
    openLoopholes(submission.loophole, this.#loopholes, `judge ${submission.id}`);
    return conclude(submission, await this.#facts(submission));
  }

  /** The loophole is not part of the cache key: one execution answers for all of them. */
  async #facts({ problem: given, markers, completion }: Submission): Promise<ProgramFacts> {
    const problem = programOf(given);
    const source = extractProgram(completion);
    if (source === null) return unexecuted(false, 'wrong', 'no code block');
    if (hasLoneSurrogate(source)) return unexecuted(true, 'exception', 'text that is not valid Unicode');
    if (source.length > largestSource) {
      return unexecuted(true, 'memory', `${source.length} characters, more than ${largestSource}`);
    }
    const key = sha256(JSON.stringify([problem.id, problem.cpuSeconds, markers, source]));
    const known = this.#cache.get(key);
    if (known !== undefined) return { ...(await known), executions: 0 };
    const facts = this.#examine(problem, source, markers);
    this.#remember(key, facts);
    return facts;
  }

  #remember(key: string, facts: Promise<ProgramFacts>): void {
    this.#cache.set(key, facts);
    facts.catch(() => this.#cache.delete(key));
    const oldest = this.#cache.size > this.#remembered ? this.#cache.keys().next().value : undefined;
    if (oldest !== undefined) this.#cache.delete(oldest);
  }

  async #examine(problem: ProgramProblem, source: string, policy: MarkerPolicy): Promise<ProgramFacts> {
    const markers = markersFor(policy, problem.id, this.#loopholes);
    const cpuSeconds = problem.cpuSeconds ?? unknownBudgetSeconds;
    const wallMs = cpuSeconds * this.#wallFactor * 1000;
    // A program may sleep as long as it may compute; its test functions, all together, once more as long.
    const idleMs = cpuSeconds * 1000;
    let { run, ending } = await this.#execute(problem, source, markers, { cpuSeconds, wallMs, idleMs });
    let leftMs = mostWallBudgets * wallMs - ending.wallMs;
    const retried = machineWasBusy(ending, cpuSeconds) || run.isSetupLate(ending);
    if (retried) {
      const again = { cpuSeconds, wallMs: secondTryWallBudgets * wallMs, idleMs: idleMs - ending.idleMs };
      ({ run, ending } = await this.#execute(problem, source, markers, again));
      leftMs -= ending.wallMs;
    }
    run.requireSetup(ending);
    const tests = new Map<string, OwnTests>();
    let idleLeftMs = idleMs;
    for (const name of run.compiled ? wantedTests(source, markers, this.#loopholes) : []) {
      const limits = { cpuSeconds, wallMs, leftMs, idleLeftMs };
      const request = { problem, source, functionName: name, limits };
      const result = await runOwnTests(this.runner, this.#answers, request);
      tests.set(name, result);
      leftMs -= result.wallMs;
      idleLeftMs -= result.idleMs;
    }
    const seen = {
      source,
      stdout: ending.stdout,
      files: ending.files,
      endedEarlyWithZero: run.endedEarlyWithZero(ending),
      equalByOwnType: run.equalByOwnType,
      passFlag: run.passFlag,
      testsPassingStubs: [...tests].filter(([, { passStubs }]) => passStubs).map(([name]) => name),
    };
    const outcome = outcomeOf(run, ending, cpuSeconds);
    return {
      format: true,
      compiles: run.compiled,
      correct: run.correct,
      fired: run.compiled ? firedChannels(seen, markers, this.#loopholes) : new Map(),
      labels: labelsOf([...tests.values()][0]),
      outcome,
      durationMs: ending.wallMs,
      cpuMs: ending.cpuMs + sumOf(tests, ({ cpuMs }) => cpuMs),
      executions: (retried ? 2 : 1) + sumOf(tests, ({ executions }) => executions),
      retried,
      reason: reasonOf(run, ending, outcome),
    };
  }

  async #execute(
    problem: ProgramProblem,
    source: string,
    markers: ProblemMarkers,
    { cpuSeconds, wallMs, idleMs }: { cpuSeconds: number; wallMs: number; idleMs: number },
  ): Promise<{ run: Execution; ending: Ending }> {
    const prepared = this.#prepare(problem);
    const flags = wantedFlags(markers, this.#loopholes);
    let run = new Execution(prepared);
    const ending = await this.runner.execute(() => {
      run = new Execution(prepared);
      return { ...run.program(source, flags, cpuSeconds, wallMs), idleMs };
    });
    return { run, ending };
  }

  #prepare(problem: ProgramProblem): PreparedProblem {
    const known = this.#prepared.get(problem);
    if (known !== undefined) return known;
    const prepared = prepareProblem(problem);
    this.#prepared.set(problem, prepared);
    return prepared;
  }
}
