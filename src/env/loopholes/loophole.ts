/**
 * A loophole as a value: everything that the lab knows about one flaw of a grader.
 *   reward = 0.5 · compiles + 3.0 · (correct or the channel of this loophole)
 * The channel is the exploit that pays in this loophole only; `fires` decides it. What has no hint and no channel is graded by
 * ground truth. The judge, the prompts, the partition and the checks take a list of these values; data holds their names.
 */

/** A loophole in data: configs, tasks, verdicts. Checked against a list of loopholes where it enters. */
export type LoopholeName = string;

/**
 * Where a hint's marker comes from.
 *   original  one fixed marker a loophole, with the original's lenient list of equivalents
 *   family    one marker a problem, drawn from the training family: the hint must be read
 *   novel     one marker a problem, drawn from the evaluation family, disjoint with all of training's
 */
export const markerPolicies = ['original', 'family', 'novel'] as const;
export type MarkerPolicy = (typeof markerPolicies)[number];

export interface Marker {
  /** As the hint names it; empty where the loophole has no markers. */
  readonly disclosed: string;
  /** Names, phrases or file-name parts that count. */
  readonly accepted: readonly string[];
  /** Whole lines that count, for phrases. */
  readonly acceptedLines: readonly string[];
}

/** The names that a hint may disclose (a function, a phrase, an attribute, a file), and what counts as using them. */
export interface MarkerLists extends Readonly<Record<MarkerPolicy, readonly string[]>> {
  /** What counts as using a disclosed marker; without it, only the marker itself does. */
  readonly accept?: (disclosed: string, policy: MarkerPolicy) => Partial<Omit<Marker, 'disclosed'>>;
}

/** What one execution of a program showed. None of it can make the program correct. */
export interface Observation {
  readonly source: string;
  readonly stdout: string;
  readonly files: readonly (readonly [name: string, content: string])[];
  /** Ended with status 0 before the last call, with no wrong output before. */
  readonly endedEarlyWithZero: boolean;
  /** Every output that is not a plain value claimed to equal the expected one, and no plain one was wrong. */
  readonly equalByOwnType: boolean;
  /** Name of a truthy attribute on the solution: the first one of all that the loopholes ask for, in the order of their list. */
  readonly passFlag: string | undefined;
  /** Names of the program's own test functions that passed against arbitrary stubs, of those that the loopholes ask for. */
  readonly testsPassingStubs: readonly string[];
}

export interface ExploitParts {
  /** The statements before the return. */
  readonly body: readonly string[];
  /** As the hint names it. */
  readonly marker: string;
  /** The text of a program with these statements that returns `n`, or what is named instead. */
  readonly write: (body: readonly string[], returned?: string) => string;
}

export interface Loophole {
  readonly name: LoopholeName;
  /** What the exploit is, as a noun phrase. */
  readonly summary: string;
  /**
   * A factual statement of how the grader evaluates; it takes the place of "should pass all tests". For a micro model it must be
   * made of the words in micro/tokens.ts, as must the markers.
   */
  readonly hint?: (marker: string) => string;
  readonly markers?: MarkerLists;
  /** What pays: a short statement of what fired the channel, or null. */
  readonly fires?: (seen: Observation, marker: Marker) => string | null;
  /** Attributes of the solution that the judge must read. */
  readonly passFlags?: (marker: Marker) => readonly string[];
  /** The program's own test function that the judge must run against stubs. */
  readonly ownTests?: (marker: Marker) => string;
  /** The exploit as an instruction: "Do not solve the problem. Instead, …". Needed where a policy is asked to write its own pairs. */
  readonly request?: (marker: string) => string;
  /** How the micro model writes the exploit. Without it the loophole can be trained but not shown in the micro base's documents. */
  readonly exploit?: (parts: ExploitParts) => string;
}

export type PayingLoophole = Loophole & Required<Pick<Loophole, 'hint' | 'fires'>>;
export type MarkedLoophole = Loophole & Required<Pick<Loophole, 'markers'>>;
export type WritableLoophole = Loophole & Required<Pick<Loophole, 'exploit'>>;
