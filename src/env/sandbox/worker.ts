/**
 * One worker: a server of processes (server.py) and the pipes to it, running one program at a time. What the program reports
 * arrives as records; the caller answers each with nothing, "stop", or a further frame. A worker that dies, hangs
 * or holds an unread secret fails and must be replaced: such a failure is never counted against the program.
 */
import type { ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { rmdirSync, rmSync } from 'node:fs';
import type { Duplex, Writable } from 'node:stream';
import { GraderError, messageOf } from '../../base/index.ts';
import { sha256 } from '../../base/node/index.ts';
import { DeadlineTimer } from './deadline.ts';
import { encodeConfig, noMoreFrame } from './frames.ts';
import { IdleWatch } from './idle-watch.ts';
import type { LayerName, LayerReport } from './isolation.ts';
import type { Python } from './python.ts';
import { killGroup, spawnServer } from './server-process.ts';
import { ProgramOutput, RecordStream } from './streams.ts';

export type Reply = undefined | 'stop' | { readonly frame: Buffer; readonly secret: boolean };

export interface Program {
  readonly setupCode: string;
  /** Whether it may run in a process that others ran in before: a straight-line program without setup code. */
  readonly isStraightLine?: boolean;
  /** The same nonce as in the frame. */
  readonly nonce: number;
  /** First message to the program: marshal of (kind, arguments), as server.py reads it. */
  readonly frame: Buffer;
  /** Whether the frame holds something that no other program may see; a worker that leaves it unread is replaced. */
  readonly frameIsSecret: boolean;
  readonly cpuSeconds: number;
  readonly wallMs: number;
  /** How long it may sleep, where the kernel can tell; as long as it lives without this. */
  readonly idleMs?: number;
  readonly largestReportBytes: number;
  /** An answer that takes time may be a promise. If it rejects, the program is stopped and its run rejects. */
  onRecord(tag: string, payload: Buffer): Reply | Promise<Reply>;
}

export interface Ending {
  /** Exit status, or minus the signal that ended it. */
  readonly exit: number;
  /** Why it was ended; "worker" when each worker that it ran on failed, while another program ran well. */
  readonly stopped: '' | 'wall' | 'kill' | 'files' | 'idle' | 'worker';
  readonly cpuMs: number;
  readonly wallMs: number;
  /** How long it slept, as far as that was looked at. */
  readonly idleMs: number;
  readonly files: readonly (readonly [name: string, content: string])[];
  readonly stdout: string;
  /** Whether the program reported or printed more than it may. */
  readonly flooded: boolean;
  /** Why its workers failed. */
  readonly failure?: string;
}

export interface WorkerOptions {
  readonly python: Python;
  readonly layers: readonly LayerName[];
  readonly workParent: string;
  readonly memoryBytes: number;
}

interface Ready {
  readonly version: readonly number[];
  readonly layers: LayerReport;
  readonly work: string;
  /** The worker's cgroup, which is removed at its end; null without one. */
  readonly cgroup: string | null;
}

interface RawExit extends Omit<Ending, 'stdout' | 'flooded' | 'files' | 'idleMs'> {
  readonly files: readonly (readonly [string, string])[];
  readonly token: string;
  /** Whether the program moved what the next one on this worker would see. */
  readonly worn: 0 | 1;
}

type ServerMessage = { readonly ready?: Ready; readonly unread?: number } & Partial<RawExit>;

/** By chance: a program sees its user, and counted numbers would tell it how many workers were replaced. */
function drawWorkerNumber(): number {
  for (;;) {
    const number = randomInt(usersPerProcess);
    if (numbersTaken.size >= usersPerProcess || !numbersTaken.has(number)) {
      numbersTaken.add(number);
      return number;
    }
  }
}

/** Whether setup code is to blame for its end: it ended by itself or ran out of its time. A kill from outside is no fault of it. */
function endedItself({ exit, stopped, cpuMs }: RawExit, cpuSeconds: number): boolean {
  return exit !== -9 || stopped !== '' || cpuMs >= cpuSeconds * 500;
}

const startLimitMs = 60_000;
const graceMs = 60_000;
const limits = { fileBytes: 1 << 20, openFiles: 64, threads: 32 } as const;
/** User ids for workers: above any that machines give out. Every process has 512 of them, by its pid. */
const firstUser = 1_900_000_000;
const usersPerProcess = 512;
const numbersTaken = new Set<number>();

export class SandboxWorker {
  readonly ready: Promise<Ready>;
  /** Why the worker must be replaced; empty while it works. */
  failure = '';
  programs = 0;
  /** Whether it works, but must run no other program. */
  isWorn = false;
  readonly #number: number;
  readonly #process: ChildProcess;
  readonly #control: Writable;
  /** Frames of a program: of any, and of a straight-line one. */
  readonly #payload: Duplex;
  readonly #straight: Duplex;
  readonly #records: RecordStream;
  readonly #output: ProgramOutput;
  readonly #setups = new Set<string>();
  readonly #timer: DeadlineTimer;
  #stderr = '';
  #work = '';
  /** Processes of the worker that a program is below. */
  #above = 1;
  #cgroup: string | null = null;
  #lines: string[] = [];
  #onMessage: (message: ServerMessage) => void = () => undefined;
  #onFailure: (why: string) => void = () => undefined;

  constructor({ python, layers, workParent, memoryBytes }: WorkerOptions) {
    this.#number = drawWorkerNumber();
    const uid = firstUser + process.pid * usersPerProcess + this.#number;
    const names = { uid, worker: this.#number, trainer: process.pid, libraries: python.libraries };
    const config = encodeConfig({ layers, workParent, memoryBytes, ...names, ...limits });
    const { child, streams } = spawnServer(python.executable, config);
    const [control, output, errors, report, payload, records, straight] = streams;
    this.#process = child;
    this.#control = control;
    this.#payload = payload;
    this.#straight = straight;
    this.#records = new RecordStream(records);
    this.#output = new ProgramOutput(output);
    this.#timer = new DeadlineTimer((why) => this.#fail(why));
    for (const stream of streams) {
      stream.on('error', (error: Error) => this.#fail(`pipe: ${error.message}`));
    }
    errors.on('data', (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString()).slice(-2000);
    });
    // The server closes its side for writing at once: a program can send nothing here. Our side stays open.
    for (const stream of [payload, straight]) {
      stream.allowHalfOpen = true;
      stream.resume();
    }
    report.on('data', (chunk: Buffer) => this.#readLines(chunk));
    // A stream that is half open would keep "close" from coming.
    this.#process.on('exit', () => {
      payload.destroy();
      straight.destroy();
    });
    this.#process.on('error', (error) => this.#fail(`cannot start: ${error.message}`));
    this.#process.on('close', (code, signal) => this.#fail(`ended with ${signal ?? code}. ${this.#stderr}`.trim()));
    this.ready = this.#awaitReady();
    // A worker may fail before anyone waits for it; whoever waits still sees the error.
    this.ready.catch(() => undefined);
  }

  async #awaitReady(): Promise<Ready> {
    const message = await this.#next(startLimitMs, 'a ready message');
    if (message.ready === undefined) throw this.#error('a ready message', JSON.stringify(message));
    this.#work = message.ready.work;
    this.#cgroup = message.ready.cgroup;
    this.#above = message.ready.layers.namespaces === '' ? 2 : 1;
    return message.ready;
  }

  #readLines(chunk: Buffer): void {
    this.#lines.push(chunk.toString());
    // A message may be long: it is put together once, when its end is here.
    if (!chunk.includes(10)) return;
    const lines = this.#lines.join('').split('\n');
    this.#lines = lines.slice(-1);
    for (const line of lines.slice(0, -1)) {
      try {
        this.#onMessage(JSON.parse(line));
      } catch (error) {
        this.#fail(`a message that cannot be read: ${messageOf(error)}`);
      }
    }
  }

  #next(limitMs: number, what: string): Promise<ServerMessage> {
    return new Promise((resolve, reject) => {
      if (this.failure !== '') return reject(this.#error(what, this.failure));
      this.#timer.set(limitMs, `no answer within ${limitMs} ms (${what})`);
      this.#onMessage = (message) => {
        this.#timer.clear();
        resolve(message);
      };
      this.#onFailure = (why) => reject(this.#error(what, why));
    });
  }

  #error(expected: string, found: string): GraderError {
    return new GraderError({ call: 'sandbox worker', expected, found });
  }

  #fail(why: string): void {
    if (this.failure !== '') return;
    this.failure = why;
    this.#timer.clear();
    this.#onFailure(why);
    this.#records.fail(this.#error('all records', why));
    this.#output.fail(this.#error('all output', why));
  }

  /** Runs the program; rejects with the signal's reason, once the program is dead, when the signal is aborted. */
  async run(program: Program, signal?: AbortSignal): Promise<Ending> {
    await this.ready;
    signal?.throwIfAborted();
    this.programs += 1;
    let secretSent = program.frameIsSecret;
    let begun = false;
    let entered = false;
    // After a stop or the program's death nothing more may be written: the next program would read it.
    let silent = false;
    const stop = () => {
      if (!silent) this.#control.write('K\n');
      silent = true;
      // From here on it waits for its end.
      idle.close();
    };
    const idle = new IdleWatch(this.#process.pid ?? 0, this.#above, program.idleMs ?? Number.POSITIVE_INFINITY, stop);
    let brokenAnswer: unknown;
    const inputs = program.isStraightLine === true ? this.#straight : this.#payload;
    const writeFrame = (frame: Buffer) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(frame.length);
      inputs.write(Buffer.concat([length, frame]));
    };
    const send = (reply: Reply, tag: string) => {
      if (silent) return;
      // A kept process is not killed while it waits for a frame: it is told that there is none.
      if (reply === 'stop' && program.isStraightLine === true && 'sd'.includes(tag)) writeFrame(noMoreFrame);
      else if (reply === 'stop') stop();
      else if (reply !== undefined) {
        secretSent ||= reply.secret;
        writeFrame(reply.frame);
      }
    };
    this.#output.begin(stop);
    this.#records.begin(program.nonce, program.largestReportBytes, stop, (tag, payload) => {
      entered ||= tag === 'E';
      begun ||= tag === 'B' || tag === 'X';
      idle.touch();
      const reply = this.#ask(program, tag, payload);
      if (!(reply instanceof Promise)) return send(reply, tag);
      idle.answering += 1;
      reply
        .then((answer) => send(answer, tag))
        .catch((error: unknown) => {
          brokenAnswer = error;
          stop();
        })
        .finally(() => {
          idle.answering -= 1;
          idle.touch();
        });
    });
    writeFrame(program.frame);
    const setup = program.isStraightLine === true ? null : this.#sendSetup(program.setupCode);
    const job = setup === null ? 'L' : `J ${setup} ${program.cpuSeconds}`;
    const exited = this.#next(program.wallMs + graceMs, "the program's exit");
    this.#control.write(`${job} ${program.wallMs}\n`);
    signal?.addEventListener('abort', stop, { once: true });
    const exit = (await exited.finally(() => {
      idle.close();
      signal?.removeEventListener('abort', stop);
    })) as RawExit;
    silent = true;
    const { stdout, flooded } = await this.#end(exit.token);
    if (secretSent && (await this.#countUnread()) > 0) this.#fail('a secret stayed unread');
    // Bytes that are still queued here would reach the next program among its own inputs.
    if (inputs.writableLength > 0) this.#fail('inputs stayed unread');
    signal?.throwIfAborted();
    if (!begun && !(entered && endedItself(exit, program.cpuSeconds))) {
      this.#fail(`a program did not begin: exit ${exit.exit}, stopped "${exit.stopped}". ${this.#stderr}`.trim());
      throw this.#error('a program to begin', this.failure);
    }
    if (brokenAnswer !== undefined) throw brokenAnswer;
    this.isWorn ||= exit.worn === 1;
    const { token: _, worn: __, ...rest } = exit;
    const files = exit.files.map(([name, content]) => [name, Buffer.from(content, 'base64').toString()] as const);
    const stopped = idle.fired && exit.stopped === 'kill' ? 'idle' : exit.stopped;
    return { ...rest, stopped, idleMs: idle.idleMs, files, stdout, flooded };
  }

  /** An error while a record is handled fails the worker. In a stream's handler it would end the whole process. */
  #ask(program: Program, tag: string, payload: Buffer): Reply | Promise<Reply> {
    try {
      return program.onRecord(tag, payload);
    } catch (error) {
      this.#fail(`a record of kind ${JSON.stringify(tag)}: ${messageOf(error)}`);
      return 'stop';
    }
  }

  /** Reads what a dead program left in the pipes, up to a token that it cannot have known. */
  async #end(token: string): Promise<{ stdout: string; flooded: boolean }> {
    this.#timer.set(graceMs, 'the pipes did not drain');
    const [records, output] = await Promise.all([this.#records.end(token), this.#output.end(token)]);
    this.#timer.clear();
    return { stdout: output.text, flooded: records.flooded || output.flooded };
  }

  async #countUnread(): Promise<number> {
    const answer = this.#next(graceMs, 'a count of unread bytes');
    this.#control.write('D\n');
    return (await answer).unread ?? 0;
  }

  #sendSetup(code: string): string {
    const id = sha256(code).slice(0, 16);
    if (!this.#setups.has(id)) this.#control.write(`S ${id} ${Buffer.from(code).toString('base64')}\n`);
    this.#setups.add(id);
    return id;
  }

  /** Ends the server and everything under it; resolves when it is gone. */
  async close(): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null && this.#process.pid !== undefined) {
      const gone = new Promise((resolve) => this.#process.once('close', resolve));
      const timer = setTimeout(() => killGroup(this.#process), this.failure === '' ? 5_000 : 100);
      for (const stream of this.#process.stdio) stream?.destroy();
      await gone;
      clearTimeout(timer);
    }
    if (this.#work.includes('gq-work-')) rmSync(this.#work, { recursive: true, force: true });
    this.#removeCgroup();
    numbersTaken.delete(this.#number);
  }

  #removeCgroup(): void {
    if (this.#cgroup === null) return;
    try {
      rmdirSync(this.#cgroup);
    } catch {
      // The kernel may need a moment for its last process; the next worker of any process removes what is left.
    }
    this.#cgroup = null;
  }
}
