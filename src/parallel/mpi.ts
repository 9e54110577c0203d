/**
 * The communicator over Open MPI. A rank that comes to a call tells the others so and waits for them; while it waits it reads what they
 * say: that they are alive, that they have arrived, that they have failed. A rank that says nothing for longer than the patience is
 * named and everybody stops, and so is one that has come to another call. Nothing blocks the thread, so that a rank which waits, or
 * computes between two awaits, still says that it is alive.
 */
import { UserError } from '../base/index.ts';
import { type Communicator, RankFailure } from './communicator.ts';
import { type CallName, type Control, controlBytes, decodeControl, encodeControl } from './control.ts';
import { MpiLibrary, type Transfer } from './mpi-library.ts';

const controlTag = 1;
const dataTag = 2;
/** The most bytes of one message: counts of MPI are 32-bit numbers. */
const pieceBytes = 2 ** 28;
/** How long a rank that waits asks again at once before it sleeps between questions. */
const eagerMs = 2;
/** How long a rank that fails waits for the others to hear of it. */
const farewellMs = 1500;

interface Arrival {
  readonly call: CallName;
  readonly bytes: number;
}

class Peer {
  lastHeard = performance.now();
  /** Calls that the peer has come to and this rank has not, by their number. */
  readonly arrivals = new Map<number, Arrival>();
}

export class MpiCommunicator implements Communicator {
  readonly #library: MpiLibrary;
  readonly #patienceMs: number;
  readonly #peers = new Map<number, Peer>();
  readonly #beat: NodeJS.Timeout;
  #pending: Transfer[] = [];
  #failures: { readonly rank: number; readonly reason: string; readonly exitCode: number }[] = [];
  #sequence = 0;

  private constructor(library: MpiLibrary, patienceSeconds: number) {
    this.#library = library;
    this.#patienceMs = patienceSeconds * 1000;
    for (let rank = 0; rank < library.size; rank++) if (rank !== library.rank) this.#peers.set(rank, new Peer());
    this.#beat = setInterval(() => this.#tellAll({ kind: 'alive' }), this.#patienceMs / 8);
    this.#beat.unref();
  }

  /** `patienceSeconds`: how long a rank may give no sign of life. */
  static async open(patienceSeconds: number): Promise<MpiCommunicator> {
    return new MpiCommunicator(await MpiLibrary.open(), patienceSeconds);
  }

  get rank(): number {
    return this.#library.rank;
  }

  get size(): number {
    return this.#library.size;
  }

  async exchange(peer: number, send: Uint8Array, receive: Uint8Array): Promise<void> {
    const [{ bytes }] = await this.#meet('exchange', send.length, [peer]);
    if (bytes !== receive.length) throw this.#disagreement(peer, `${receive.length} bytes`, `${bytes}`);
    await this.#move([
      ...pieces(send).map((piece) => this.#library.send(peer, dataTag, piece)),
      ...this.#receive(peer, receive),
    ]);
  }

  async broadcast(root: number, bytes: Uint8Array): Promise<Uint8Array> {
    const gathered = await this.#gather('broadcast', this.rank === root ? bytes : new Uint8Array());
    return gathered[root];
  }

  async allGather(bytes: Uint8Array): Promise<readonly Uint8Array[]> {
    return this.#gather('allGather', bytes);
  }

  async barrier(): Promise<void> {
    await this.#meet('barrier', 0, [...this.#peers.keys()]);
  }

  async abort(reason: string, exitCode: number): Promise<boolean> {
    this.#tellAll({ kind: 'failed', reason, exitCode });
    const end = performance.now() + farewellMs;
    while (performance.now() < end && this.#failures.length < this.#peers.size) {
      this.#listen();
      await sleep(5);
    }
    clearInterval(this.#beat);
    return this.#failures.every(({ rank }) => rank > this.rank);
  }

  async close(): Promise<void> {
    await this.#meet('close', 0, [...this.#peers.keys()]);
    await this.#wait(() => this.#pending.length === 0, []);
    clearInterval(this.#beat);
    this.#library.finalize();
  }

  async #gather(call: CallName, own: Uint8Array): Promise<Uint8Array[]> {
    const others = [...this.#peers.keys()];
    const arrivals = await this.#meet(call, own.length, others);
    const gathered: Uint8Array[] = [];
    gathered[this.rank] = own;
    others.forEach((peer, i) => {
      gathered[peer] = new Uint8Array(arrivals[i].bytes);
    });
    await this.#move([
      ...others.flatMap((peer) => pieces(own).map((piece) => this.#library.send(peer, dataTag, piece))),
      ...others.flatMap((peer) => this.#receive(peer, gathered[peer])),
    ]);
    return gathered;
  }

  /** Receives into `target`; a small or last piece comes by way of memory that is large enough for a transfer. */
  #receive(peer: number, target: Uint8Array): Transfer[] {
    return pieces(target).map((piece, i) => {
      const transfer = this.#library.receive(peer, dataTag, piece);
      const start = i * pieceBytes;
      const isOwn = piece.buffer === target.buffer;
      let copied = isOwn;
      return {
        bytes: piece,
        isDone: () => {
          if (!transfer.isDone()) return false;
          if (!copied) target.set(piece.subarray(0, target.length - start), start);
          copied = true;
          return true;
        },
      };
    });
  }

  /** Tells these ranks of the call and waits until they have come to it; resolves to what they said of it. */
  async #meet(call: CallName, bytes: number, peers: readonly number[]): Promise<Arrival[]> {
    this.#sequence++;
    const sequence = this.#sequence;
    for (const peer of peers) this.#tell(peer, { kind: 'arrived', sequence, call, bytes });
    const arrivalOf = (peer: number): Arrival | undefined => this.#peers.get(peer)?.arrivals.get(sequence);
    await this.#wait(
      () => peers.every((peer) => arrivalOf(peer) !== undefined),
      peers.filter((peer) => arrivalOf(peer) === undefined),
    );
    return peers.map((peer) => {
      const arrival = arrivalOf(peer);
      this.#peers.get(peer)?.arrivals.delete(sequence);
      if (arrival?.call === call) return arrival;
      throw this.#disagreement(peer, `${call} as call ${sequence}`, `${arrival?.call}`);
    });
  }

  async #move(transfers: readonly Transfer[]): Promise<void> {
    await this.#wait(() => transfers.every((each) => each.isDone()), [...this.#peers.keys()]);
  }

  /** Waits, listening to the others; a rank of `awaited` that stays silent for too long, or any that failed, is an error. */
  async #wait(isOver: () => boolean, awaited: readonly number[]): Promise<void> {
    const start = performance.now();
    for (;;) {
      this.#listen();
      if (isOver()) return;
      const [failed] = this.#failures;
      if (failed !== undefined) throw new RankFailure(failed.rank, failed.reason, failed.exitCode);
      const now = performance.now();
      const silent = awaited.find((peer) => now - (this.#peers.get(peer)?.lastHeard ?? now) > this.#patienceMs);
      if (silent !== undefined) throw this.#silence(silent);
      await (now - start < eagerMs ? new Promise(setImmediate) : sleep(1));
    }
  }

  #listen(): void {
    this.#pending = this.#pending.filter((each) => !each.isDone());
    for (const [rank, peer] of this.#peers) {
      while (this.#library.hasMessage(rank, controlTag)) {
        const message = this.#library.receive(rank, controlTag, new Uint8Array(controlBytes));
        while (!message.isDone());
        peer.lastHeard = performance.now();
        const control = decodeControl(message.bytes);
        if (control.kind === 'arrived') peer.arrivals.set(control.sequence, control);
        else if (control.kind === 'failed') this.#failures.push({ rank, ...control });
      }
    }
  }

  #tell(peer: number, control: Control): void {
    this.#pending.push(this.#library.send(peer, controlTag, encodeControl(control)));
  }

  #tellAll(control: Control): void {
    for (const peer of this.#peers.keys()) this.#tell(peer, control);
  }

  #silence(rank: number): UserError {
    return new UserError({
      call: `rank ${rank} of ${this.size}`,
      expected: `a sign of life within ${this.#patienceMs / 1000} seconds`,
      found: 'none: it has died or hangs',
      fix: 'All ranks were stopped. Go on from the last checkpoint, with as many ranks as you like: gq train --resume RUN.',
    });
  }

  #disagreement(rank: number, expected: string, found: string): UserError {
    const call = `rank ${rank} of ${this.size}, compared with rank ${this.rank}`;
    return new UserError({ call, expected, found, fix: 'This is a fault of the program, and all ranks were stopped.' });
  }
}

/** The parts of bytes that one message can carry, in memory that a transfer may use; none of no bytes. */
function pieces(bytes: Uint8Array): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, i) => {
    const piece = bytes.subarray(i * pieceBytes, (i + 1) * pieceBytes);
    if (piece.length >= 128) return piece;
    const padded = new Uint8Array(128);
    padded.set(piece);
    return padded;
  });
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
