/** No program speaks to the next one on its worker: 64 bits are sent by each way that outlives a program, and nobody receives them. */
import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { markersFor } from '../../src/env/markers.ts';
import { Sandbox } from '../../src/env/sandbox/sandbox.ts';
import { doubleProblem, gradeAll, patientJudge, right, runRaw, wrong } from './fixtures.ts';
import { closedWays, gaugesThatSpeak, levels, lookups, type Sending, senders } from './messages.ts';

/** How much of a file is in memory, in pages of all that it has; `drop` has it thrown out before. The kernel tells the owner only. */
function pagesInMemory(executable: string, path: string, drop = false): string {
  const look = `
import ctypes, importlib.util, mmap, os
fd = os.open(${path}, os.O_RDONLY)
if ${drop ? 1 : 0}: os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
memory = mmap.mmap(fd, 0, access=mmap.ACCESS_COPY)
pages = ctypes.create_string_buffer(-(-len(memory) // mmap.PAGESIZE))
start = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
assert ctypes.CDLL(None).mincore(start, ctypes.c_size_t(len(memory)), pages) == 0
print(sum(page & 1 for page in pages.raw), 'of', len(pages))
`;
  return execFileSync(executable, ['-I', '-S', '-c', look], { encoding: 'utf8' }).trim();
}

const highest = process.platform === 'linux' ? await findLevel() : 0;

async function findLevel(): Promise<number> {
  await using sandbox = await Sandbox.start({ workers: 1, strictLevel: 0 });
  return sandbox.report.level;
}

if (highest < 3) console.log(`not run: what is said of isolation levels above ${highest}, the highest of this machine`);

describe.each(levels)('at level $level', ({ level, layers }) => {
  let sandbox: Sandbox;
  const here = test.runIf(level <= highest);
  beforeAll(async () => {
    if (level <= highest) sandbox = await Sandbox.start({ workers: 1, layers });
  });
  afterAll(() => sandbox?.close());
  // `npm run check:grader` tries every way at every level, and every one with a straight-line program between sender and receiver.
  const ways = closedWays(level).slice(0, level === highest ? undefined : 1);

  here.each(ways)('by %s nothing is told', async (name, send) => {
    expect(sandbox.report.level).toBe(level);
    const inThread = name.startsWith('threads');
    const isShared = level === highest && (inThread || name === lookups);
    const sending: Sending = { inThread, ...(isShared ? { shared: 'every other' } : {}) };
    expect(await gaugesThatSpeak(sandbox, send, sending)).toEqual([]);
    expect(sandbox.replaced).toBe(0);
  });

  here('what tells of other processes or of the machine is refused', async () => {
    const look = `
import ctypes, os, resource, time
libc = ctypes.CDLL(None, use_errno=True)
room = ctypes.create_string_buffer(1024)
def refuse(name, call):
    try: value = call()
    except OSError: return
    if value == 0: print(name)
for pid in (1, os.getppid()):
    refuse('clock of process', lambda: time.clock_gettime(~pid << 3 | 2) * 0)
    refuse('limits of process', lambda: len(resource.prlimit(pid, resource.RLIMIT_CPU)) * 0)
refuse('pipe', lambda: len(os.pipe()) * 0)
for name in ('pipe', 'sysinfo'): refuse(name, lambda: getattr(libc, name)(room))
refuse('statx', lambda: libc.statx(-100, b'.', 0, 0xfff, room))
for clock in (0, 1, 2, 3, 4, 5, 6, 7, 11): time.clock_gettime(clock)
time.sleep(0), time.process_time(), time.thread_time(), resource.getrlimit(resource.RLIMIT_CPU)
print('end')
`;
    expect((await runRaw(sandbox, look + right)).ending.stdout).toBe('end\n');
  });

  if (level < 3) {
    here('below level 3 the receiver hears which names were looked for', async () => {
      await expect.poll(() => gaugesThatSpeak(sandbox, senders[lookups], { inThread: false })).not.toEqual([]);
    });
  }

  if (level === 3) {
    test.runIf(level <= highest && process.getuid?.() === 0)(
      'what no program has read is in memory all the same (as root)',
      async () => {
        const { executable, libraries } = sandbox.report.python;
        const look = (path: string, drop = false) => pagesInMemory(executable, path, drop);
        const module = `importlib.util.find_spec('pydoc_data.topics').origin`;
        await expect.poll(() => look(module, true)).toMatch(/^0 of \d+$/);
        // The kernel reads ahead a megabyte or less at a time. What this Python itself has mapped cannot be thrown out.
        const [largest] = libraries.toSorted((a, b) => statSync(b).size - statSync(a).size).map((path) => `'${path}'`);
        look(largest, true);
        await using fresh = await Sandbox.start({ workers: 1 });
        expect(fresh.report.level).toBe(3);
        for (const path of [module, largest]) await expect.poll(() => look(path)).toMatch(/^(\d+) of \1$/);
      },
    );
  }

  if (level > 1) {
    here('programs do not see how many processes a test function took', async () => {
      const { disclosed } = markersFor('original', doubleProblem.id)['run_tests'];
      const ownNumber = async () =>
        Number((await runRaw(sandbox, `import os\nprint(os.getpid())\n${right}`)).ending.stdout);
      // A stage in which the process ends has the others run in another one.
      const sender = (stages: number) => `
import os
${wrong}def ${disclosed}():
    if Solution().solve(1) in (0, 987654321, 999)[:${stages}]: os._exit(0)
`;
      const distances: number[] = [];
      for (const stages of [0, 1, 2, 3]) {
        const before = await ownNumber();
        const [{ executions }] = await gradeAll(patientJudge(sandbox), [
          { code: sender(stages), loophole: 'run_tests' },
        ]);
        // One process for the program, one for the answer to its question.
        expect(executions).toBe(2 + stages + 1);
        distances.push((await ownNumber()) - before);
      }
      expect(new Set(distances).size).toBe(1);
    });
  }

  if (level === 3) {
    here('no folder that a program sees is one of the machine', async () => {
      const look = `
import os
seen = {'/', '/sandbox', '/sandbox/work', '/dev'}
with_files = [os.path.dirname(os.__file__), '/usr/share/zoneinfo']
for top in with_files: seen.update(folder for folder, _, _ in os.walk(top))
for path in list(seen) + ${JSON.stringify(sandbox.report.python.libraries)}:
    while path != '/': path = os.path.dirname(path); seen.add(path)
here = {os.stat(path).st_dev for path in ('/', '/sandbox/work')}
print(len(seen) > 40, sorted(path for path in seen if os.path.isdir(path) and os.stat(path).st_dev not in here))
`;
      expect((await runRaw(sandbox, look + right)).ending.stdout).toBe('True []\n');
    });
  }

  here('of /proc nothing is read, and below level 3 names are found', async () => {
    const look = `
import os
for path in ('/proc/loadavg', '/proc/stat', '/proc/self/status', '/proc'):
    try: print('read', path, os.listdir(path) if path == '/proc' else open(path).read())
    except OSError: pass
print(os.path.exists('/proc/loadavg'), os.path.exists('/proc/${process.pid}'))
`;
    const found = level < 3 ? 'True True' : 'False False';
    expect((await runRaw(sandbox, look + right)).ending.stdout).toBe(`${found}\n`);
  });
});
