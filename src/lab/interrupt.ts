/**
 * Turns Ctrl-C, SIGTERM, SIGHUP and SIGUSR1 into an AbortSignal, which work checks between its pieces. The second one ends the process at
 * once, and so does a piece that takes too long: what starts programs sends SIGKILL after a while, and everything on disk is whole at any
 * moment. Too long is measured by the updates until then. SIGUSR1 comes from a scheduler well before its limit, and leaves work the time it
 * needs. SIGHUP comes from a terminal and again from its shell when both are closed, so that it ends nothing at once.
 */
import { exitCodes, UserError } from '../base/index.ts';
import { stopSignals } from '../base/node/index.ts';

type Writable = { write(text: string): unknown };

export type Interruption = Disposable & { readonly signal: AbortSignal };

const usualGraceSeconds = 8;
const savingSeconds = 4;
const graceVariable = 'GQ_GRACE';

/** Of the work that ends by this signal. */
const longestUpdates = new WeakMap<AbortSignal, number>();

/** Tells how long an update took that this signal would have had to wait for. */
export function tellUpdate(signal: AbortSignal, seconds: number): void {
  longestUpdates.set(signal, Math.max(seconds, longestUpdates.get(signal) ?? 0));
}

/** What the environment says, or null: time for two of the longest updates until now, and to save. */
function graceSeconds(): number | null {
  const text = process.env[graceVariable];
  if (text === undefined || text === '') return null;
  const value = Number(text);
  if (value > 0 && value <= 86_400) return value;
  throw new UserError({ call: graceVariable, expected: 'seconds, more than 0 and at most 86400', found: text });
}

export function onInterrupt(stderr: Writable, promise: string): Interruption {
  const stop = new AbortController();
  const given = graceSeconds();
  let timer: NodeJS.Timeout | undefined;
  const interrupt = (name: NodeJS.Signals): void => {
    if (stop.signal.aborted && name === 'SIGHUP') return;
    if (stop.signal.aborted) process.exit(exitCodes.interrupted);
    const measured = 2 * (longestUpdates.get(stop.signal) ?? 0) + savingSeconds;
    const seconds = given ?? Math.max(usualGraceSeconds, Math.ceil(measured));
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
