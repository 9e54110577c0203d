/** No program speaks to the next one on its worker: 64 bits are sent by each way that outlives a program, and nobody receives them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Sandbox } from '../../src/env/sandbox/sandbox.ts';
import { right, runRaw } from './fixtures.ts';
import { closedWays, gaugesThatSpeak, levels } from './messages.ts';

const highest = process.platform === 'linux' ? await findLevel() : 0;

async function findLevel(): Promise<number> {
  await using sandbox = await Sandbox.start({ workers: 1, strictLevel: 0 });
  return sandbox.report.level;
}

describe.each(levels)('at level $level', ({ level, layers }) => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    if (level <= highest) sandbox = await Sandbox.start({ workers: 1, layers });
  });
  afterAll(() => sandbox?.close());
  // `npm run check:grader` tries every way at every level, and every one with a straight-line program between sender and receiver.
  const ways = closedWays(level).slice(0, level === highest ? undefined : 1);

  test.runIf(level <= highest).each(ways)('by %s nothing is told', async (name, send) => {
    expect(sandbox.report.level).toBe(level);
    expect(await gaugesThatSpeak(sandbox, send, false)).toEqual([]);
    if (level === highest && name.startsWith('threads')) expect(await gaugesThatSpeak(sandbox, send, true)).toEqual([]);
    expect(sandbox.replaced).toBe(0);
  });

  test.runIf(level <= highest)('what tells of other processes or of the machine is refused', async () => {
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

  test.runIf(level <= highest)('of /proc nothing is read, and below level 3 names are found', async () => {
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
