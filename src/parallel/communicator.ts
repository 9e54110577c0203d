/**
 * What the ranks of a run say to each other: six calls. Every rank makes the same calls in the same order; a rank that does not is
 * named in an error on all of them. `alone` is the communicator of a run in one process.
 */
export interface Communicator {
  /** From 0 to size − 1. Rank 0 writes the files of the run. */
  readonly rank: number;
  readonly size: number;
  /** Swaps bytes with another rank; both give equally many, and `receive` has room for them. */
  exchange(peer: number, send: Uint8Array, receive: Uint8Array): Promise<void>;
  /** The bytes of the root, on every rank; what others give is not looked at. */
  broadcast(root: number, bytes: Uint8Array): Promise<Uint8Array>;
  /** The bytes of every rank, in the order of ranks; they may differ in length. */
  allGather(bytes: Uint8Array): Promise<readonly Uint8Array[]>;
  /** Resolves when every rank has called it. */
  barrier(): Promise<void>;
  /** Tells the other ranks that this one stops, and why. Resolves to whether this rank is the one to tell people. */
  abort(reason: string, exitCode: number): Promise<boolean>;
  /** Ends the conversation, once every rank has called it. */
  close(): Promise<void>;
}

export const alone: Communicator = {
  rank: 0,
  size: 1,
  exchange: () => Promise.reject(new RangeError('a run in one process has no other rank')),
  broadcast: async (_root, bytes) => bytes,
  allGather: async (bytes) => [bytes],
  barrier: async () => undefined,
  abort: async () => true,
  close: async () => undefined,
};

/** Another rank has failed and has said so itself: this one stops without a message of its own. */
export class RankFailure extends Error {
  override readonly name = 'RankFailure';
  readonly exitCode: number;

  constructor(rank: number, reason: string, exitCode: number) {
    super(`rank ${rank} stopped: ${reason}`);
    this.exitCode = exitCode;
  }
}
