/** Turns Ctrl-C, SIGTERM and SIGUSR2 into an AbortSignal, which work checks between its pieces. The second one ends the process at once. */

/** mpirun passes SIGUSR2 on to its ranks; at SIGINT and SIGTERM it ends them before they can save. */
const signals = ['SIGINT', 'SIGTERM', 'SIGUSR2'] as const;

interface Writable {
  write(text: string): unknown;
}

export interface Interruption extends Disposable {
  readonly signal: AbortSignal;
}

/** `promise` says what is still done before the process ends. `onSecond` is called when a second interrupt ends it at once. */
export function onInterrupt(stderr: Writable, promise: string, onSecond: () => void = () => undefined): Interruption {
  const stop = new AbortController();
  const interrupt = (): void => {
    if (stop.signal.aborted) {
      onSecond();
      process.exit(130);
    }
    stderr.write(`\ninterrupted: ${promise} (again to quit at once)\n`);
    stop.abort();
  };
  for (const name of signals) process.on(name, interrupt);
  return {
    signal: stop.signal,
    [Symbol.dispose]() {
      for (const name of signals) process.off(name, interrupt);
    },
  };
}
