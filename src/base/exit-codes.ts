/** How a command ends, for programs that start it: queues, schedulers, scripts. docs/scale.md states the contract. */
export const exitCodes = {
  done: 0,
  /** It failed, or its answer is no; another attempt may succeed. */
  failed: 1,
  /** The call was wrong or refused: the same command can only fail again. */
  refused: 2,
  /** It was asked to stop, and saved what it had: the same command goes on. The number is that of a temporary failure in sysexits.h. */
  interrupted: 75,
  /** It was asked to stop, and kept what it had, but cannot go on from there. The number is what shells say of Ctrl-C. */
  stopped: 130,
} as const;
