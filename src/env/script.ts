/** A whole program in the sandbox: it is run once from its first line to its last, and nothing of it is called. */
import { hasLoneSurrogate } from './response.ts';
import { encodeBatch, encodeProgramFrame } from './sandbox/frames.ts';
import { drawNonce } from './sandbox/nonce.ts';
import type { Sandbox } from './sandbox/sandbox.ts';

export interface ScriptEnd {
  /** Whether it came to its end, or ended itself with status 0. */
  readonly succeeded: boolean;
  readonly stdout: string;
  readonly cpuMs: number;
}

/** Runs a program that may take this many seconds of CPU time. A program that cannot be read has not succeeded. */
export type RunScript = (source: string, cpuSeconds: number) => Promise<ScriptEnd>;

const largestScript = 1 << 20;
const largestReportBytes = 65_536;
/** Wall time as a multiple of the CPU time, as for other programs. */
const wallFactor = 10;

export async function runScript(sandbox: Sandbox, source: string, cpuSeconds: number): Promise<ScriptEnd> {
  if (hasLoneSurrogate(source) || source.length > largestScript) return { succeeded: false, stdout: '', cpuMs: 0 };
  let [compiled, raised] = [false, false];
  const { exit, stopped, flooded, stdout, cpuMs } = await sandbox.execute(() => {
    [compiled, raised] = [false, false];
    const nonce = drawNonce();
    return {
      setupCode: '',
      nonce,
      frame: encodeProgramFrame({ nonce, source, method: '', flagNames: [], batch: encodeBatch([], true) }),
      ...{ frameIsSecret: false, cpuSeconds, wallMs: wallFactor * 1000 * cpuSeconds, idleMs: 1000 * cpuSeconds },
      largestReportBytes,
      onRecord(tag) {
        compiled ||= tag === 'c';
        raised ||= tag === 'M';
        return undefined;
      },
    };
  });
  return { succeeded: compiled && !raised && exit === 0 && stopped === '' && !flooded, stdout, cpuMs };
}
