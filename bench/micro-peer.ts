/** PyTorch's side of bench/micro.ts: a process (peers/micro.py) that is given one batch after the other and waits in between. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { bestOpenBlasCore } from './openblas.ts';

export type Seconds = Readonly<Record<string, number>>;

export interface PeerTurn {
  readonly seconds: Seconds;
  readonly processor: number;
  readonly logpDifference: number;
}

/** The first Python that has PyTorch: the one on the PATH, or Debian's own. */
export function findTorch(): string | undefined {
  const hasTorch = (python: string) => spawnSync(python, ['-c', 'import torch']).status === 0;
  return ['python3', '/usr/bin/python3'].find(hasTorch);
}

export class MicroPeer {
  readonly threads: string;
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #errors = '';

  constructor(python: string, model: string, rank: number, threads: string) {
    const script = join(import.meta.dirname, 'peers', 'micro.py');
    const core = bestOpenBlasCore();
    const env = {
      ...process.env,
      OMP_NUM_THREADS: threads,
      OPENBLAS_NUM_THREADS: threads,
      OMP_WAIT_POLICY: 'passive',
      ...(core === undefined ? {} : { OPENBLAS_CORETYPE: core }),
    };
    const args = [script, '--model', model, '--rank', `${rank}`, '--threads', threads];
    const child = spawn(python, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
    child.stderr.on('data', (chunk: Buffer) => {
      this.#errors += chunk.toString();
    });
    // What went wrong is told by the line that does not come.
    child.stdin.on('error', () => undefined);
    this.threads = threads;
    this.#process = child;
    this.#lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  }

  get id(): number {
    return this.#process.pid ?? 0;
  }

  async #next(): Promise<unknown> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error(`PyTorch did not run: ${this.#errors.trim().split('\n').at(-1)}`);
    return JSON.parse(value);
  }

  /** Is called once, first. The library is the one that PyTorch multiplies with. */
  async ready(): Promise<{ torch: string; blas: string }> {
    return (await this.#next()) as { torch: string; blas: string };
  }

  async turn(batch: unknown): Promise<PeerTurn> {
    this.#process.stdin?.write(`${JSON.stringify(batch)}\n`);
    return (await this.#next()) as PeerTurn;
  }

  close(): void {
    this.#process.stdin?.end();
  }
}
