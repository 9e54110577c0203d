/**
 * A process of Python in a worker: Pyodide, in which the sandbox's harness runs one program, with the descriptors that it has in the sandbox.
 * Nothing of the page is in its reach but the memory that it reads from; whoever started it ends it.
 */
import type { FromPython, OpenPython } from './messages.ts';

/** As much of Pyodide as is used here; its own types are not there where it is not installed. */
interface Stream {
  readonly node: { readonly name: string };
}

interface FileSystem {
  makedev(major: number, minor: number): number;
  registerDevice(device: number, operations: Readonly<Record<string, unknown>>): void;
  mkdev(path: string, device: number): void;
  mkdir(path: string): void;
  writeFile(path: string, content: string): void;
  readFile(path: string): Uint8Array;
  readdir(path: string): readonly string[];
  readonly filesystems: {
    readonly MEMFS: {
      readonly ops_table: { readonly file: { readonly stream: { write: (...given: readonly never[]) => number } } };
    };
  };
}

interface Pyodide {
  readonly FS: FileSystem;
  runPython(source: string): unknown;
  setStdin(options: { stdin(): undefined }): void;
  setStdout(options: { write(bytes: Uint8Array): number }): void;
  setStderr(options: { write(bytes: Uint8Array): number }): void;
}

/** Ways from a worker to somewhere else: a program of the sandbox has none either. */
const doors = [
  'fetch',
  'XMLHttpRequest',
  'WebSocket',
  'EventSource',
  'WebTransport',
  'BroadcastChannel',
  'indexedDB',
  'caches',
  'Worker',
];

const folder = '/work';
const [input, output, held] = ['/dev/gq-in', '/dev/gq-out', '/dev/gq-held'];

/** What a process of the sandbox finds ready: its descriptors, an empty folder, memory that outlives it, and no way to the page. */
const program = `
import os, sys
sys.path.insert(0, "/harness")
import harness, own_tests

class Held:
    def __init__(self, fd):
        self.fd, self.data = fd, bytearray(len(harness.HELD))
    def __len__(self):
        return len(self.data)
    def __getitem__(self, place):
        return bytes(self.data[place])
    def __setitem__(self, place, value):
        self.data[place] = value
        if place.start is None:
            os.write(self.fd, bytes(self.data[4:4 + int.from_bytes(self.data[:4], "little")]) or b"\\0")

def descriptor(path, flags, number):
    fd = os.open(path, flags)
    os.dup2(fd, number)
    os.close(fd)

# First what is opened takes the numbers that are wanted.
keep = [os.open("/dev/null", os.O_RDONLY) for _ in range(8)]
held = os.open("${held}", os.O_WRONLY)
for fd in keep:
    os.close(fd)
harness.HELD = Held(held)
descriptor("${input}", os.O_RDONLY, harness.IN)
descriptor("${output}", os.O_WRONLY, harness.OUT)
os.chdir("${folder}")
for name in ("js", "pyodide", "pyodide_js", "_pyodide", "_pyodide_core"):
    for known in [each for each in sys.modules if each == name or each.startswith(name + ".")]:
        del sys.modules[known]
    sys.modules[name] = None
kinds = {"program": harness.run_program, "own_tests": own_tests.run_stages}
kind, arguments = harness.read_frame()
kinds[kind](None, *arguments)
`;

export async function servePython(
  { pyodide, harness, shared, inputs }: OpenPython,
  say: (message: FromPython) => void,
): Promise<void> {
  const { loadPyodide } = (await import(/* @vite-ignore */ `${pyodide}pyodide.mjs`)) as {
    loadPyodide(options: Readonly<Record<string, unknown>>): Promise<Pyodide>;
  };
  const python = await loadPyodide({ indexURL: pyodide, jsglobals: {} });
  const { FS } = python;
  for (const path of ['/harness', folder]) FS.mkdir(path);
  for (const [name, text] of Object.entries(harness)) FS.writeFile(`/harness/${name}`, text);
  let [waiting, at, isReady] = [new Uint8Array(), 0, false];
  const read = (_: Stream, into: Uint8Array, offset: number, length: number): number => {
    if (!isReady) say({ kind: 'ready' });
    isReady = true;
    if (at === waiting.length) {
      Atomics.wait(shared, 0, 0);
      [waiting, at] = [inputs.slice(0, shared[0]), 0];
      Atomics.store(shared, 0, 0);
      say({ kind: 'taken' });
    }
    const piece = waiting.subarray(at, at + length);
    into.set(piece, offset);
    at += piece.length;
    return piece.length;
  };
  const writer =
    (tell: (bytes: Uint8Array) => void) =>
    (_: Stream, from: Uint8Array, offset: number, length: number): number => {
      tell(from.slice(offset, offset + length));
      return length;
    };
  const devices = {
    [input]: { read },
    [output]: { write: writer((bytes) => say({ kind: 'records', bytes })) },
    // A single zero stands for nothing: a write of nothing does not arrive.
    [held]: { write: writer((bytes) => say({ kind: 'held', bytes: bytes.length === 1 ? new Uint8Array() : bytes })) },
  };
  for (const [i, [path, operations]] of Object.entries(devices).entries()) {
    const device = FS.makedev(64, i);
    FS.registerDevice(device, { open() {}, close() {}, ...operations });
    FS.mkdev(path, device);
  }
  python.setStdin({ stdin: () => undefined });
  python.setStdout({
    write(bytes) {
      say({ kind: 'printed', bytes: bytes.slice() });
      return bytes.length;
    },
  });
  python.setStderr({ write: ({ length }) => length });
  const files = FS.filesystems.MEMFS.ops_table.file.stream;
  const { write } = files;
  files.write = (...given) => {
    const written = write(...given);
    say({ kind: 'files', files: FS.readdir(folder).flatMap((name) => fileOf(FS, name)) });
    return written;
  };
  for (const name of doors) Object.defineProperty(globalThis, name, { value: undefined });
  say({ kind: 'ended', exit: exitOf(() => python.runPython(program)) });
}

/** Nothing where it is no file. */
function fileOf(FS: FileSystem, name: string): readonly (readonly [string, Uint8Array])[] {
  try {
    return name === '.' || name === '..' ? [] : [[name, FS.readFile(`${folder}/${name}`).slice()]];
  } catch {
    return [];
  }
}

/** The status with which Python ended itself. What breaks the interpreter ends it like a signal. */
function exitOf(run: () => void): number {
  try {
    run();
    return 97;
  } catch (error) {
    const { status } = error as { status?: unknown };
    return typeof status === 'number' ? status : -6;
  }
}
