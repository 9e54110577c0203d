/** Ranks that live in one process: what they say to each other waits in a list until all have come. For tests without MPI. */
import type { Communicator } from '../../src/parallel/index.ts';

class Meeting {
  readonly #size: number;
  readonly #given: Uint8Array[] = [];
  readonly #all: Promise<readonly Uint8Array[]>;
  #open: (all: readonly Uint8Array[]) => void = () => undefined;
  #arrived = 0;

  constructor(size: number) {
    this.#size = size;
    this.#all = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  arrive(rank: number, bytes: Uint8Array): Promise<readonly Uint8Array[]> {
    this.#given[rank] = bytes.slice();
    this.#arrived++;
    if (this.#arrived === this.#size) this.#open(this.#given);
    return this.#all;
  }
}

export function ranksInProcess(size: number): Communicator[] {
  const meetings: Meeting[] = [];
  return Array.from({ length: size }, (_, rank): Communicator => {
    let calls = 0;
    const meet = (bytes: Uint8Array): Promise<readonly Uint8Array[]> => {
      const number = calls++;
      meetings[number] ??= new Meeting(size);
      return meetings[number].arrive(rank, bytes);
    };
    return {
      rank,
      size,
      exchange: async (peer, send, receive) => receive.set((await meet(send))[peer]),
      broadcast: async (root, bytes) => (await meet(bytes))[root],
      allGather: meet,
      barrier: async () => void (await meet(new Uint8Array())),
      abort: async () => true,
      close: async () => void (await meet(new Uint8Array())),
    };
  });
}
