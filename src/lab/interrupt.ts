/** Turns Ctrl-C and SIGTERM into an AbortSignal, which work checks between its pieces. The second one ends the process at once. */

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
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  return {
    signal: stop.signal,
    [Symbol.dispose]() {
      process.off('SIGINT', interrupt);
      process.off('SIGTERM', interrupt);
    },
  };
}
