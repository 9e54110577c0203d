/**
 * Turns Ctrl-C, SIGTERM, SIGHUP and SIGUSR1 into an AbortSignal, which work checks between its pieces. The second one ends the process at
 * once, and so does a piece that takes too long: what starts programs sends SIGKILL after a while, and everything on disk is whole at any
 * moment. SIGUSR1 comes from a scheduler well before its limit, and leaves work the time it needs. SIGHUP comes from a terminal and again
 * from its shell when both are closed, so that it ends nothing at once.
 */
import { exitCodes, UserError } from '../base/index.ts';
import { stopSignals } from '../base/node/index.ts';

type Writable = { write(text: string): unknown };

export type Interruption = Disposable & { readonly signal: AbortSignal };

const usualGraceSeconds = 8;
const graceVariable = 'GQ_GRACE';

/** Seconds that work has to come to its end; the environment may give it more, where an update takes longer. */
function graceSeconds(): number {
  const text = process.env[graceVariable];
  if (text === undefined || text === '') return usualGraceSeconds;
  const value = Number(text);
  if (value > 0 && value <= 86_400) return value;
  throw new UserError({ call: graceVariable, expected: 'seconds, more than 0 and at most 86400', found: text });
}

export function onInterrupt(stderr: Writable, promise: string): Interruption {
  const stop = new AbortController();
  const seconds = graceSeconds();
  let timer: NodeJS.Timeout | undefined;
  const interrupt = (name: NodeJS.Signals): void => {
    if (stop.signal.aborted && name === 'SIGHUP') return;
    if (stop.signal.aborted) process.exit(exitCodes.interrupted);
    const limit = name === 'SIGUSR1' ? '' : `, in at most ${seconds} s`;
    stderr.write(`\ninterrupted: ${promise}${limit} (again to quit at once)\n`);
    stop.abort();
    if (name === 'SIGUSR1') return;
    timer = setTimeout(() => {
      const more = `${graceVariable}=SECONDS gives it longer`;
      stderr.write(`ended: that took more than ${seconds} s (${more}); what was saved before is kept\n`);
      process.exit(exitCodes.interrupted);
    }, 1000 * seconds);
    timer.unref();
  };
  const names = stopSignals();
  for (const name of names) process.on(name, interrupt);
  return {
    signal: stop.signal,
    [Symbol.dispose]() {
      clearTimeout(timer);
      for (const name of names) process.off(name, interrupt);
    },
  };
}
