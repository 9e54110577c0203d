/**
 * Programs that try to tell the next program on their worker a byte, and one that looks everywhere for it. A sender moves what
 * outlives it: counters of the kernel, the working disk, the times of files, memory of the server that programs are copies of.
 * The receiver reads every gauge there is; a gauge carries the message when it follows the byte at some fixed distance.
 */
import { randomUUID } from 'node:crypto';
import { type LayerName, layerNames } from '../../src/env/sandbox/isolation.ts';
import type { Sandbox } from '../../src/env/sandbox/sandbox.ts';
import { bareProblem, right, runRaw } from './fixtures.ts';

/** 64 bits, every byte another one: two messages of 32. */
const message = [0x9e, 0x37, 0x79, 0xb9, 0x7f, 0x4a, 0x7c, 0x15];

/** How long a slot of the clock is, and how many there are: a byte is sent as the slot in which something happened. */
const slot = 'lambda seconds: int(seconds * 125) % 256';

/** A file system of the machine remembers absent names: one that was looked for is found absent faster the next time. */
export const lookups = 'names that were looked for';

/** Where a program may look: `places` lists folders, `names` those of a bit that no program but sender and receiver looks for. */
const lookupCode = (turn: string) => `
import os
places = [os.path.dirname(os.__file__), os.path.dirname(os.__file__) + '/json', '/usr/share/zoneinfo', '/usr/lib', '/usr', '/etc', '/dev',
    '/proc', '/', '/sandbox', '.']
names = lambda place, bit: ['%s/${turn}-%s-%d' % (place, bit, number) for number in range(5)]
`;

/** A byte is sent as code in Python. The turn is a word that sender and receiver share, and nobody else before them. */
export type Sender = (byte: number, turn: string) => string;

export const senders: Readonly<Record<string, Sender>> = {
  'threads that were started': (byte) => `
import threading
last = -1
while (last + 1) % 256 != ${byte}:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    last = thread.native_id
    thread.join()
`,
  'files that were made': (byte) => `
import os
last = -1
while (last + 1) % 256 != ${byte}:
    fd = os.open('x', os.O_CREAT | os.O_RDWR)
    last = os.fstat(fd).st_ino
    os.close(fd)
    os.unlink('x')
`,
  'times of files': (byte) => `
import os, time
slot = ${slot}
while slot(time.time()) != ${byte}: time.sleep(0.001)
time.sleep(0.003)
os.close(os.open('x', os.O_CREAT | os.O_RDWR))
os.unlink('x')
os.listdir('.')
# When this program ends, and the next begins, must not tell.
time.sleep(os.urandom(1)[0] / 128)
`,
  [lookups]: (byte, turn) => `${lookupCode(turn)}
for place in places:
    for bit in range(8):
        if ${byte} >> bit & 1: [os.access(name, os.F_OK) for name in names(place, bit)]
`,
  'pipes that were made': (byte) => `
import os
last = -1
while (last + 1) % 256 != ${byte}:
    pair = os.pipe()
    last = os.fstat(pair[0]).st_ino
    for fd in pair: os.close(fd)
`,
  'what the server reads: names of files, and records that were held back': (byte) => `
import os, sys, time
said = '%020d says (%03d)' % (time.time_ns(), ${byte})
for number in range(40): open(said * 5 + str(number), 'w').close()
data = said.encode() * 400
sys.modules['harness'].HELD[:4 + len(data)] = len(data).to_bytes(4, 'little') + data
os._exit(0)
`,
};

const without = (...layers: readonly LayerName[]) => layerNames.filter((name) => !layers.includes(name));

/** Below level 2 the numbers of processes are the machine's, below level 3 files and their times are. */
export const levels: readonly { level: number; layers: readonly LayerName[]; open: readonly string[] }[] = [
  { level: 3, layers: layerNames, open: [] },
  { level: 2, layers: without('privateRoot'), open: [lookups, 'files that were made', 'times of files'] },
  {
    level: 1,
    layers: without('privateRoot', 'namespaces'),
    open: [lookups, 'threads that were started', 'files that were made', 'times of files'],
  },
];

/** The senders that nobody may hear at a level. */
export function closedWays(level: number): readonly (readonly [string, Sender])[] {
  const { open = [] } = levels.find((each) => each.level === level) ?? {};
  return Object.entries(senders).filter(([name]) => !open.includes(name));
}

/** Prints "name number" for each gauge. What is refused is a gauge that stands still. `inThread`: it also reads the number of a thread that it starts. */
const receiver = (turn: string, inThread: boolean) => `
import ctypes, os, re, resource, statistics, sys, threading, time
slot = ${slot}
libc = ctypes.CDLL(None, use_errno=True)
def gauge(name, read):
    try: value = int(read()) % 256
    except BaseException: value = -1
    print(name, value)
gauge('own number', os.getpid)
gauge('own number for threads', threading.get_native_id)
gauge('number of the parent', os.getppid)
gauge('user', os.getuid)
for path in ('.', '..', '/', '/dev/null', os.__file__):
    for field in ('ino', 'dev', 'nlink', 'size'): gauge(field + ' of ' + path, lambda: getattr(os.stat(path), 'st_' + field))
    for field in ('mtime', 'ctime', 'atime'): gauge(field + ' of ' + path, lambda: slot(getattr(os.stat(path), 'st_' + field)))
for fd in (0, 1, 2, 4, 5):
    gauge('ino of descriptor %d' % fd, lambda: os.fstat(fd).st_ino)
    for field in ('mtime', 'atime'): gauge(field + ' of descriptor %d' % fd, lambda: slot(getattr(os.fstat(fd), 'st_' + field)))
def mount_number(mask, place):
    buffer = ctypes.create_string_buffer(256)
    if libc.statx(-100, b'.', 0, mask, buffer) != 0: raise OSError
    return int.from_bytes(buffer[place:place + 8], 'little')
gauge('number of the mount', lambda: mount_number(0x1000, 144))
gauge('lasting number of the mount', lambda: mount_number(0x4000, 144))
def of_thread():
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    return thread.native_id
if ${inThread ? 1 : 0}: gauge('number of a thread', of_thread)
gauge('number of a pipe', lambda: os.fstat(os.pipe()[0]).st_ino)
file = os.open('y', os.O_CREAT | os.O_RDWR)
gauge('number of a file', lambda: os.fstat(file).st_ino)
gauge('number of an unnamed file', lambda: os.fstat(os.open('.', os.O_RDWR | os.O_TMPFILE)).st_ino)
def place_in_folder():
    libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
    folder = ctypes.c_void_p(libc.opendir(b'.'))
    while entry := libc.readdir(folder):
        if ctypes.string_at(entry + 19, 2) == b'y\\0': return int.from_bytes(ctypes.string_at(entry + 8, 8), 'little')
gauge('place in the folder', place_in_folder)
def system(place):
    buffer = ctypes.create_string_buffer(256)
    if libc.sysinfo(buffer) != 0: raise OSError
    return int.from_bytes(buffer[place:place + 8], 'little')
gauge('processes', lambda: system(80) & 0xffff)
for place in range(8, 80, 8): gauge('sysinfo at %d' % place, lambda: system(place) >> 12)
for pid in (1, os.getppid()): gauge('CPU time of process %d' % pid, lambda: slot(time.clock_gettime(~pid << 3 | 2)))
for field in ('ru_maxrss', 'ru_minflt', 'ru_majflt', 'ru_inblock'): gauge(field, lambda: getattr(resource.getrusage(0), field))
for who in (0, os.getppid()): gauge('limits of process %d' % who, lambda: sum(resource.prlimit(who, resource.RLIMIT_NPROC)))
libc.sbrk.restype = ctypes.c_void_p
gauge('end of the heap', lambda: libc.sbrk(0) >> 12)
gauge('place of an object', lambda: id(object()) >> 4)
${lookupCode(turn)}
def lookup_time(name):
    start = time.perf_counter_ns()
    os.access(name, os.F_OK)
    return time.perf_counter_ns() - start
def looked_for(place):
    """The bits whose names are found absent as fast as a name that this program has looked for itself."""
    own = [name for bit in range(8) for name in names(place, 'own%d' % bit)]
    new, known = [statistics.median([lookup_time(name) for name in own]) for _ in range(2)]
    is_known = lambda bit: 2 * statistics.median([lookup_time(name) for name in names(place, bit)]) < new + known
    return sum(is_known(bit) << bit for bit in range(8))
for place in places: gauge('names looked for in ' + place, lambda: looked_for(place))
`;

const memoryReceiver = `
def in_memory():
    """Copies memory to the file by the kernel, which refuses what is not mapped, and looks for the newest message."""
    newest, mapped = (b'', -1), 0
    for end in (libc.sbrk(0), id(re) + (32 << 20)):
        for address in range((end - (64 << 20)) & -65536, end, 65536):
            size = libc.pwrite(file, ctypes.c_void_p(address), ctypes.c_size_t(65536), ctypes.c_long(0))
            if size <= 0: continue
            mapped += size
            data = os.pread(file, size, 0)
            # Regular expressions are slow, and digits are many.
            if b' says (' in data: newest = max([newest] + re.findall(rb'(\\d{20}) says [(](\\d{3})[)]', data), key=lambda each: each[0])
    if mapped < 1 << 20: print('found no memory')
    return newest[1]
gauge('memory', in_memory)
`;

/** A straight-line program: it runs in a process that it shares. */
const straightLine = 'class Solution:\n    def solve(self, n):\n        return n\n';

async function readGauges(
  sandbox: Sandbox,
  turn: string,
  inMemory: boolean,
  inThread: boolean,
): Promise<ReadonlyMap<string, number>> {
  const code = `${receiver(turn, inThread)}${inMemory ? memoryReceiver : ''}${right}`;
  const { ending } = await runRaw(sandbox, code);
  const lines = ending.stdout.trim().split('\n');
  if (lines.length < 50 || lines.includes('found no memory'))
    throw new Error(`the receiver ended early: ${JSON.stringify(ending)}`);
  return new Map(lines.map((line) => [line.replace(/ -?\d+$/, ''), Number(/-?\d+$/.exec(line)?.[0])]));
}

/** How many bytes of the message a gauge gave at the distance that fits best. */
function bytesReceived(readings: readonly number[]): number {
  const distances = readings.flatMap((value, index) => (value < 0 ? [] : [(value - message[index] + 256) % 256]));
  return Math.max(0, ...distances.map((distance) => distances.filter((other) => other === distance).length));
}

export interface Sending {
  /** Which bytes have a straight-line program between sender and receiver; default: none. */
  readonly shared?: 'every other' | 'all';
  /** Whether the receiver starts a thread. A worker begins anew after a program that did, and the receiver's own number counts threads too. */
  readonly inThread: boolean;
}

/**
 * Sends the message byte by byte on one worker. Returns the gauges that carried half of it, which none does by chance: where every other byte
 * is shared, a way that is open in one case is heard.
 */
export async function gaugesThatSpeak(
  sandbox: Sandbox,
  send: Sender,
  { shared, inThread }: Sending,
): Promise<readonly string[]> {
  const readings = new Map<string, number[]>();
  for (const [index, byte] of message.entries()) {
    const turn = randomUUID();
    const said = send(byte, turn);
    await runRaw(sandbox, `${said}${right}`);
    const shares = shared === 'all' || (shared === 'every other' && index % 2 === 1);
    if (shares) await runRaw(sandbox, straightLine, bareProblem);
    for (const [name, value] of await readGauges(sandbox, turn, said.includes(' says '), inThread))
      readings.set(name, [...(readings.get(name) ?? []), value]);
  }
  return [...readings].flatMap(([name, values]) => {
    const received = bytesReceived(values);
    return received >= message.length / 2 ? [`${name}: ${received} of ${message.length} bytes`] : [];
  });
}
