/** Ctrl-C and SIGTERM as a signal that work looks at between its pieces. The second one ends the process at once. */

interface Writable {
  write(text: string): unknown;
}

export interface Interruption extends Disposable {
  readonly signal: AbortSignal;
}

/** `promise`: what is still done before the process ends. `onSecond` is called before it ends at once. */
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
