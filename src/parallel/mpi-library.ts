/**
 * The calls of Open MPI that ranks need, through koffi. Handles of Open MPI are addresses of symbols, those of MPICH are numbers, so
 * the library must be Open MPI; another one is refused by its name. Nothing here blocks but `init` and `finalize`.
 */
import type { LibraryHandle } from 'koffi';
import { messageOf, UserError } from '../base/index.ts';

type Koffi = typeof import('koffi');
type Pointer = bigint | Uint8Array | null;

/** Major version 40 of the interface: Open MPI 3.1 to 5. */
const libraryName = 'libmpi.so.40';
const install = 'Install Open MPI (Debian and Ubuntu: apt-get install openmpi-bin), or train without ranks.';

const signatures = {
  initThread: 'int MPI_Init_thread(void *argc, void *argv, int required, void *provided)',
  version: 'int MPI_Get_library_version(void *text, void *length)',
  rank: 'int MPI_Comm_rank(void *comm, void *rank)',
  size: 'int MPI_Comm_size(void *comm, void *size)',
  setErrors: 'int MPI_Comm_set_errhandler(void *comm, void *handler)',
  send: 'int MPI_Isend(void *bytes, int count, void *type, int peer, int tag, void *comm, void *request)',
  receive: 'int MPI_Irecv(void *bytes, int count, void *type, int peer, int tag, void *comm, void *request)',
  test: 'int MPI_Test(void *request, void *flag, void *status)',
  probe: 'int MPI_Iprobe(int peer, int tag, void *comm, void *flag, void *status)',
  finalize: 'int MPI_Finalize()',
} as const;
type Calls = Readonly<Record<keyof typeof signatures, (...given: readonly (Pointer | number)[]) => number>>;

/** A transfer under way. It holds its bytes, which the library reads or writes until it is done. */
export interface Transfer {
  readonly bytes: Uint8Array;
  isDone(): boolean;
}

/** Memory that the collector does not move: small arrays live on the heap, which it does. */
function steady(length: number): Uint8Array {
  return new Uint8Array(Math.max(length, 128));
}

export class MpiLibrary {
  readonly rank: number;
  readonly size: number;
  readonly version: string;
  readonly #calls: Calls;
  readonly #world: bigint;
  readonly #byte: bigint;
  readonly #flag = new Int32Array(32);

  private constructor(calls: Calls, handles: Readonly<Record<'world' | 'byte' | 'returnErrors', bigint>>) {
    this.#calls = calls;
    this.#world = handles.world;
    this.#byte = handles.byte;
    this.version = readLibraryVersion(calls);
    const threads = new Int32Array(32);
    this.#check('MPI_Init_thread', calls.initThread(null, null, 0, bytesOf(threads)));
    this.#check('MPI_Comm_set_errhandler', calls.setErrors(this.#world, handles.returnErrors));
    this.rank = this.#ask(calls.rank);
    this.size = this.#ask(calls.size);
  }

  /** Loads the library and starts it: a process can do that once. */
  static async open(): Promise<MpiLibrary> {
    const koffi = await importKoffi();
    const library = loadMpi(koffi);
    const calls = Object.fromEntries(
      Object.entries(signatures).map(([name, signature]) => [name, library.func(signature)]),
    ) as unknown as Calls;
    expectOpenMpi(readLibraryVersion(calls));
    const handle = (name: string): bigint => koffi.address(library.symbol(name, 'char'));
    return new MpiLibrary(calls, {
      world: handle('ompi_mpi_comm_world'),
      byte: handle('ompi_mpi_byte'),
      returnErrors: handle('ompi_mpi_errors_return'),
    });
  }

  send(peer: number, tag: number, bytes: Uint8Array): Transfer {
    return this.#start('send', peer, tag, bytes);
  }

  /** The transfer's `bytes` hold what came, once it is done; at least `bytes.length` of the sender's are expected. */
  receive(peer: number, tag: number, bytes: Uint8Array): Transfer {
    return this.#start('receive', peer, tag, bytes);
  }

  /** Whether a message of this tag has come from the peer. */
  hasMessage(peer: number, tag: number): boolean {
    this.#check('MPI_Iprobe', this.#calls.probe(peer, tag, this.#world, bytesOf(this.#flag), null));
    return this.#flag[0] !== 0;
  }

  finalize(): void {
    this.#check('MPI_Finalize', this.#calls.finalize());
  }

  #start(kind: 'send' | 'receive', peer: number, tag: number, bytes: Uint8Array): Transfer {
    if (bytes.length < 128) throw new RangeError('a transfer needs memory that does not move: at least 128 bytes');
    const request = steady(8);
    const call = this.#calls[kind];
    this.#check(`MPI ${kind}`, call(bytes, bytes.length, this.#byte, peer, tag, this.#world, request));
    let done = false;
    return {
      bytes,
      isDone: () => {
        if (done) return true;
        this.#check('MPI_Test', this.#calls.test(request, bytesOf(this.#flag), null));
        done = this.#flag[0] !== 0;
        return done;
      },
    };
  }

  #ask(call: Calls['rank']): number {
    this.#check('MPI', call(this.#world, bytesOf(this.#flag)));
    return this.#flag[0];
  }

  #check(call: string, code: number): void {
    if (code === 0) return;
    throw new UserError({ call, expected: 'success', found: `error ${code} of ${this.version}` });
  }
}

function bytesOf({ buffer }: Int32Array): Uint8Array {
  return new Uint8Array(buffer);
}

function readLibraryVersion({ version }: Calls): string {
  const [text, length] = [new Uint8Array(8192), new Int32Array(32)];
  version(text, bytesOf(length));
  return Buffer.from(text.subarray(0, length[0])).toString('utf8').split(/[,\n]/)[0];
}

/** Refuses a library with another binary interface. */
export function expectOpenMpi(version: string): void {
  if (version.startsWith('Open MPI')) return;
  throw new UserError({
    call: 'ranks',
    expected: 'Open MPI as the MPI library',
    found: version === '' ? 'a library that does not say its name' : version,
    fix: 'MPICH and what is built from it have another binary interface. Start the ranks with the mpirun of Open MPI.',
  });
}

async function importKoffi(): Promise<Koffi> {
  try {
    return await import('koffi');
  } catch (cause) {
    const fix = 'Install it: npm install koffi@3.3.4.';
    throw new UserError(
      { call: 'ranks', expected: 'the optional package koffi', found: String(cause), fix },
      { cause },
    );
  }
}

function loadMpi(koffi: Koffi): LibraryHandle {
  try {
    // Open MPI loads its own plug-ins, which look for its symbols among those that all libraries share.
    return koffi.load(libraryName, { global: true });
  } catch (cause) {
    const found = messageOf(cause);
    throw new UserError({ call: 'ranks', expected: `the library ${libraryName}`, found, fix: install }, { cause });
  }
}
