/** The judge of programs, and sandboxes that are kept to serve one run after another. */
import { tmpdir } from 'node:os';
import { type Judge, SandboxJudge } from '../env/index.ts';
import { InterpreterJudge } from '../env/interpreter/judge.ts';
import { levelWanted, Sandbox, type SandboxOptions } from '../env/sandbox/index.ts';
import { isInterpreted } from '../run/index.ts';
import { coresLimit } from './device.ts';
import type { Lab } from './open.ts';

export class SandboxShelf {
  readonly #resting = new Map<string, Sandbox[]>();
  #keepers = 0;

  keep(): AsyncDisposable {
    this.#keepers += 1;
    return {
      [Symbol.asyncDispose]: async () => {
        this.#keepers -= 1;
        if (this.#keepers > 0) return;
        const unused = [...this.#resting.values()].flat();
        this.#resting.clear();
        await Promise.all(unused.map((sandbox) => sandbox.close()));
      },
    };
  }

  async borrow(options: SandboxOptions, signal?: AbortSignal) {
    // The same name of Python leads elsewhere with another PATH, and workers make their folders in the temporary one.
    const key = JSON.stringify([Object.entries(options).sort(), process.env['PATH'], tmpdir()]);
    const sandbox = this.#resting.get(key)?.pop() ?? (await Sandbox.start(options, signal));
    let giving: Promise<void> | undefined;
    const giveBack = (): Promise<void> => (giving ??= this.#giveBack(key, sandbox));
    signal?.addEventListener('abort', giveBack, { once: true });
    return { sandbox, [Symbol.asyncDispose]: giveBack };
  }

  async #giveBack(key: string, sandbox: Sandbox): Promise<void> {
    // Whoever gives it back in the middle of a program wants that program to end.
    if (this.#keepers === 0 || !sandbox.isIdle) return await sandbox.close();
    this.#resting.set(key, [...(this.#resting.get(key) ?? []), sandbox]);
  }
}

const shelf = new SandboxShelf();

export const keepSandboxes = (): AsyncDisposable => shelf.keep();

export async function startJudge(lab: Pick<Lab, 'config' | 'parts' | 'signal' | 'use'>): Promise<Judge> {
  const { python, sandbox } = lab.config.environment;
  const cores = coresLimit();
  const options = {
    ...(cores === null ? {} : { workers: 2 * cores }),
    ...(python === null ? {} : { python }),
    strictLevel: levelWanted[sandbox],
  };
  const borrowed = await shelf.borrow(options, lab.signal);
  const { loopholes } = lab.parts;
  const otherwise = new SandboxJudge(lab.use(borrowed).sandbox, { loopholes });
  return isInterpreted(lab.config) ? new InterpreterJudge({ loopholes, otherwise }) : otherwise;
}
