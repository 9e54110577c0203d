/**
 * Runs programs where there are no processes: each in an interpreter of its own, in a worker that is ended with it. The same records, answers
 * and limits as in the sandbox, so that the judge is the same. What differs: the clock decides and not CPU time, and nobody answers questions
 * about the canonical solution, so that what a program's tests say of it stays unknown.
 */
import type { ProgramRunner } from '../../env/runner.ts';
import { ProgramOutput, RecordStream } from '../../env/sandbox/streams.ts';
import type { Ending, Program, Reply } from '../../env/sandbox/worker.ts';
import type { FromPython, OpenPython } from './messages.ts';

/** A worker in which `servePython` runs. */
export interface PythonWorker {
  open(asked: OpenPython): void;
  onMessage(hear: (message: FromPython) => void): void;
  terminate(): void;
}

type Opening = Pick<OpenPython, 'pyodide' | 'harness'>;

/** What a program may read in one piece; longer frames are read in several. */
const inputBytes = 1 << 16;
/** Seconds by the clock for each second of CPU time that the problem grants, as in the sandbox. */
const clockFactor = 10;
const closing = '0'.repeat(32);
/** Status of a process that ran out of its CPU time. */
const outOfTime = -24;
const killed = -9;

/** The part of a pipe of Node's that is used, fed by messages. */
class Pipe {
  push: (bytes: Uint8Array) => void = () => undefined;
  on(_: 'data', take: (chunk: Buffer) => void): this {
    this.push = (bytes) => take(Buffer.from(bytes));
    return this;
  }
  pause(): void {}
  resume(): void {}
}

class PythonProcess {
  readonly #worker: PythonWorker;
  readonly #shared = new Int32Array(new SharedArrayBuffer(4));
  readonly #inputs = new Uint8Array(new SharedArrayBuffer(inputBytes));
  #left: readonly Uint8Array[] = [];
  #hear: (message: FromPython) => void = () => undefined;
  #failed: (error: Error) => void = () => undefined;
  readonly ready: Promise<void>;

  constructor(worker: PythonWorker, opening: Opening) {
    this.#worker = worker;
    this.ready = new Promise((resolve, reject) => {
      this.#failed = reject;
      worker.onMessage((message) => {
        if (message.kind === 'ready') resolve();
        else if (message.kind === 'taken') this.#hand();
        else if (message.kind === 'failed') this.#failed(new Error(message.message));
        else this.#hear(message);
      });
    });
    this.ready.catch(() => undefined);
    worker.open({ ...opening, shared: this.#shared, inputs: this.#inputs });
  }

  #write(frame: Uint8Array): void {
    const length = Uint8Array.of(...[0, 8, 16, 24].map((shift) => (frame.length >> shift) & 0xff));
    const pieces = Array.from({ length: Math.ceil(frame.length / inputBytes) }, (_, i) =>
      frame.subarray(i * inputBytes, (i + 1) * inputBytes),
    );
    this.#left = [...this.#left, length, ...pieces];
    this.#hand();
  }

  /** Hands over the next piece, once the one before was taken. */
  #hand(): void {
    const [piece, ...others] = this.#left;
    if (piece === undefined || Atomics.load(this.#shared, 0) !== 0) return;
    this.#left = others;
    this.#inputs.set(piece);
    Atomics.store(this.#shared, 0, piece.length);
    Atomics.notify(this.#shared, 0);
  }

  async run(program: Program): Promise<Ending> {
    await this.ready;
    const started = performance.now();
    const [reports, prints] = [new Pipe(), new Pipe()];
    // Of a pipe both use no more than this one has.
    const [records, printed] = [new RecordStream(reports as never), new ProgramOutput(prints as never)];
    let files: Ending['files'] = [];
    let held = new Uint8Array();
    const { exit, stopped } = await new Promise<Pick<Ending, 'exit' | 'stopped'>>((resolve, reject) => {
      this.#failed = reject;
      const stop = (): void => resolve({ exit: killed, stopped: 'kill' });
      const limit = 1000 * clockFactor * program.cpuSeconds;
      setTimeout(() => resolve({ exit: outOfTime, stopped: '' }), limit);
      const send = (reply: Reply): void => {
        if (reply === 'stop') stop();
        else if (reply !== undefined) this.#write(reply.frame);
      };
      records.begin(program.nonce, program.largestReportBytes, stop, (tag, payload) => {
        const reply = program.onRecord(tag, payload);
        if (reply instanceof Promise) reply.then(send, reject);
        else send(reply);
      });
      printed.begin(stop);
      this.#hear = (message) => {
        if (message.kind === 'records') reports.push(message.bytes);
        if (message.kind === 'printed') prints.push(message.bytes);
        if (message.kind === 'held') held = message.bytes as typeof held;
        if (message.kind === 'files') {
          files = message.files.map(([name, content]) => [name, Buffer.from(content).toString()] as const);
        }
        if (message.kind === 'ended') resolve({ exit: message.exit, stopped: '' });
      };
      this.#write(program.frame);
    }).finally(() => this.close());
    if (held.length > 0) reports.push(held);
    const ends = [records.end(closing), printed.end(closing)] as const;
    for (const pipe of [reports, prints]) pipe.push(Buffer.from(closing));
    const [{ flooded: isLong }, { text: stdout, flooded }] = await Promise.all(ends);
    const wallMs = performance.now() - started;
    return { exit, stopped, wallMs, cpuMs: wallMs, idleMs: 0, files, stdout, flooded: flooded || isLong };
  }

  close(): void {
    this.#hear = () => undefined;
    this.#worker.terminate();
  }
}

export class PythonRunner implements ProgramRunner, Disposable {
  readonly workerCount = 1;
  readonly #start: () => PythonProcess;
  /** Started before there is a program for it. */
  #next: PythonProcess;

  constructor(startWorker: () => PythonWorker, opening: Opening) {
    this.#start = () => new PythonProcess(startWorker(), opening);
    this.#next = this.#start();
  }

  /** Rejects where Python could not be loaded. */
  get ready(): Promise<void> {
    return this.#next.ready;
  }

  execute(program: () => Program): Promise<Ending> {
    const process = this.#next;
    return process.run(program()).finally(() => {
      this.#next = this.#start();
    });
  }

  executeTests(program: () => Program): Promise<Ending> {
    return this.execute(program);
  }

  /** An end without an answer: who asked is told that there is none. */
  async executeAnswer(): Promise<Ending> {
    const nothing = { files: [], stdout: '', flooded: false } as const;
    return { exit: 0, stopped: '', cpuMs: 0, wallMs: 0, idleMs: 0, ...nothing };
  }

  [Symbol.dispose](): void {
    this.#next.close();
  }
}
