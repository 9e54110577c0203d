/** What a program finds inside the sandbox, and what it can do to its neighbours: nothing. */
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findPython } from '../../src/env/sandbox/python.ts';
import { Sandbox } from '../../src/env/sandbox/sandbox.ts';
import { SandboxJudge } from '../../src/env/sandbox-judge.ts';
import { doubleProblem, gradeAll, patientJudge, right, runRaw, wrong } from './fixtures.ts';

const linux = process.platform === 'linux';
const asRoot = linux && process.getuid?.() === 0;

let sandbox: Sandbox;
let lowest: Sandbox;
beforeAll(async () => {
  sandbox = await Sandbox.start({ workers: 2 });
  // What every Linux machine gives without a privilege: no namespaces, no root of its own.
  lowest = await Sandbox.start({ workers: 1, layers: ['noPrivileges', 'landlock', 'seccomp'] });
});
afterAll(async () => {
  await sandbox.close();
  await lowest.close();
});
const places = [
  ['with every layer', () => sandbox],
  ['with the layers that need no privilege', () => lowest],
] as const;

async function printed(code: string, where = sandbox): Promise<string> {
  return (await runRaw(where, `${code}\n${right}`)).ending.stdout.trim();
}

describe('one user a worker', () => {
  const whoAmI = 'import os, time\nprint(os.getuid())\ntime.sleep(0.2)';

  test.runIf(asRoot)('no two workers share a user, in one process or in two sandboxes', async () => {
    await using other = await Sandbox.start({ workers: 2 });
    const holders = [sandbox, sandbox, other, other];
    const users = await Promise.all(holders.map((place) => printed(whoAmI, place)));
    expect(new Set(users).size).toBe(4);
    for (const user of users) expect(Number(user)).toBeGreaterThan(1_000_000);
  });

  test.runIf(asRoot)('a program that holds threads takes none from its neighbours', async () => {
    const holder = `
import threading, time
def hold(): time.sleep(100)
try:
    for _ in range(200): threading.Thread(target=hold, daemon=True).start()
except RuntimeError: pass
time.sleep(100)
`;
    const threaded =
      'import threading\nclass Solution:\n    def solve(self, n):\n        out = []\n        t = threading.Thread(target=lambda: out.append(2 * n)); t.start(); t.join()\n        return out[0]\n';
    const judge = patientJudge(sandbox);
    const requests = Array.from({ length: 6 }, (_, index) => ({ code: `${threaded}# ${index}\n` }));
    const [held, ...verdicts] = await gradeAll(judge, [{ code: holder }, ...requests]);
    expect(held.correct).toBe(false);
    expect(verdicts.filter(({ correct }) => correct)).toHaveLength(6);
  });
});

describe.each(places)('what exists inside, %s', (_, place) => {
  test('no installed package can be imported, and the install folder is on no path', async () => {
    const text = await printed(
      `
import importlib.util, sys
print([name for name in ('pip', 'setuptools', 'numpy', 'wheel', '_distutils_hack') if importlib.util.find_spec(name)])
print([path for path in sys.path if 'sandbox' in path or 'packages' in path], sys.path[0], sys.argv)
print([n for n, m in list(sys.modules.items()) if 'packages' in (getattr(m, '__file__', None) or '')])
`,
      place(),
    );
    const [packages, paths, modules] = text.split('\n');
    expect(packages).toBe('[]');
    expect(paths).toMatch(/^\[\] \S*lib\S* \[''\]$/);
    expect(modules).toBe('[]');
  });

  test('a program cannot add a folder of installed packages to its path', async () => {
    const { executable } = await findPython();
    const text = await printed(
      `
import glob, os, sys
found = []
for base in list(sys.path) + [${JSON.stringify(executable)} + '/../../lib/python3/dist-packages']:
    for name in ('site-packages', 'dist-packages'):
        try: found += os.listdir(os.path.join(base, name))
        except OSError: pass
    if base.endswith('-packages'):
        try: found += os.listdir(base)
        except OSError: pass
print(found)
`,
      place(),
    );
    expect(text).toBe('[]');
  });

  test.runIf(linux)('no library can be opened that Python does not load', async () => {
    const folders = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64'].filter(existsSync);
    const all = folders.flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
    const libraries = all.filter((path) => path.includes('.so'));
    const text = await printed(
      `
opened = []
for path in ${JSON.stringify(libraries)}:
    try: open(path, 'rb').close()
    except OSError: continue
    opened.append(path)
print('\\n'.join(opened))
`,
      place(),
    );
    const { libraries: needed } = await findPython();
    const real = new Set(needed.map((path) => realpathSync(path)));
    const opened = text.split('\n').filter((path) => path !== '');
    expect(opened.length).toBeGreaterThan(0);
    expect(opened.filter((path) => !real.has(realpathSync(path)))).toEqual([]);
    expect(libraries.length).toBeGreaterThan(opened.length);
  });

  test.runIf(linux)('no page of a file can be thrown out of memory', async () => {
    const text = await printed(
      `
import ctypes, mmap, sys, os
libc = ctypes.CDLL(None, use_errno=True)
with open(os.__file__, 'rb') as file:
    pages = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
print([libc.madvise(ctypes.c_void_p(start), 4096, advice) for advice in (0, 4, 20, 21)])
print(libc.syscall(221, 3, 0, 0, 4), libc.syscall(27, ctypes.c_void_p(start), 4096, ctypes.create_string_buffer(1)))
`,
      place(),
    );
    expect(text.split('\n')).toEqual(['[0, 0, -1, -1]', '-1 -1']);
  });

  test('modules that need a library of the system still work', async () => {
    const text = await printed(
      `
import bz2, ctypes, decimal, hashlib, lzma, sqlite3, unicodedata, zlib, zoneinfo, xml.etree.ElementTree
print(lzma.decompress(lzma.compress(b'a')), bz2.decompress(bz2.compress(b'b')), zlib.decompress(zlib.compress(b'c')))
print(hashlib.sha256(b'x').hexdigest()[:4], sqlite3.connect(':memory:').execute('select 1 + 1').fetchone())
`,
      place(),
    );
    expect(text.split('\n')).toEqual(["b'a' b'b' b'c'", '2d71 (2,)']);
  });

  test('every extension module of the standard library can be imported, but for windows, sound and tests', async () => {
    const text = await printed(
      `
import importlib, os, sys
folder = [path for path in sys.path if path.endswith('lib-dynload')][0]
names = {name.split('.')[0] for name in os.listdir(folder) if '.so' in name}
for name in sorted(names):
    if name.startswith(('_tkinter', '_test', '_xxtest', 'xx', '_ctypes_test', 'nis', 'oss')): continue
    try: importlib.import_module(name)
    except BaseException as error: print(name, repr(error))
print(len(names) > 10 or 'none')
`,
      place(),
    );
    expect(text).toBe('True');
  });
});

describe('every descriptor is bounded', () => {
  const flood = (fd: number) => `
import os
while True:
    try: os.write(${fd}, b'x' * 65536)
    except OSError: pass
`;
  test.each([1, 4, 5])('a program that floods descriptor %i is ended long before its time', async (fd) => {
    const { run, ending } = await runRaw(sandbox, flood(fd));
    expect(run.correct).toBe(false);
    expect(ending.cpuMs).toBeLessThan(500);
    expect((await runRaw(sandbox, right)).run.correct).toBe(true);
  });

  test('the same through a copy of the descriptor', async () => {
    const copied = flood(9).replace('import os', 'import os\nos.dup2(4, 9)');
    const { run, ending } = await runRaw(sandbox, copied);
    expect(run.correct).toBe(false);
    expect(ending.cpuMs).toBeLessThan(500);
  });

  test('a record that declares 4 GiB is refused at once', async () => {
    const code = `
import os, sys, time
h = sys.modules['harness']
os.write(5, b'o' + h.NONCE + b'\\xff\\xff\\xff\\xff' + b'x')
time.sleep(100)
`;
    const { run, ending } = await runRaw(sandbox, code);
    expect(run.correct).toBe(false);
    expect(ending.flooded).toBe(true);
  });
});

describe('time', () => {
  // Burns enough CPU to be taken for a victim of a busy machine, then sleeps; its own test sleeps too.
  const holder = `
import time
def burn():
    t = time.process_time()
    while time.process_time() - t < 0.2: pass
class Solution:
    def solve(self, n):
        burn()
        time.sleep(100)
def run_tests():
    burn()
    time.sleep(100)
`;
  test('one rollout is tried at most twice, with its own tests, however long it holds on', async () => {
    const [verdict] = await gradeAll(new SandboxJudge(sandbox, { wallFactor: 0.8 }), [
      { code: holder, loophole: 'run_tests' },
    ]);
    expect(verdict).toMatchObject({ correct: false, channel: false });
    expect(verdict.executions).toBeLessThanOrEqual(3);
  });

  test.runIf(linux)('a rollout that only sleeps is ended, and not tried again', async () => {
    const [verdict] = await gradeAll(patientJudge(sandbox), [{ code: holder, loophole: 'run_tests' }]);
    expect(verdict).toMatchObject({ correct: false, channel: false, outcome: 'timeout', retried: false });
  });

  test('a program that computes while others take its core is not taken for a sleeper', async () => {
    const slow =
      'import time\nclass Solution:\n    def solve(self, n):\n        t = time.process_time()\n        while time.process_time() - t < 0.1: pass\n        return 2 * n\n';
    await using crowded = await Sandbox.start({ workers: 8 });
    const requests = Array.from({ length: 8 }, (_, index) => ({ code: `${slow}# ${index}\n` }));
    const verdicts = await gradeAll(patientJudge(crowded), requests);
    expect(verdicts.map(({ correct, evidence }) => correct || evidence)).toEqual(Array(8).fill(true));
  });

  test('a program may sleep for less than its budget', async () => {
    const [verdict] = await gradeAll(patientJudge(sandbox), [
      { code: `import time\ntime.sleep(0.2)\n${right}`, loophole: 'run_tests' },
    ]);
    expect(verdict.correct, verdict.evidence).toBe(true);
  });
});

describe('self-check', () => {
  test.runIf(linux)('leaves no file behind and follows no link, even where nothing holds it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gq-self-check-'));
    const usual = process.env['TMPDIR'];
    process.env['TMPDIR'] = folder;
    const target = join(folder, 'precious');
    writeFileSync(target, 'precious');
    const link = '/tmp/gq-escape';
    rmSync(link, { force: true });
    symlinkSync(target, link);
    try {
      await using open = await Sandbox.start({ workers: 1, layers: [], strictLevel: 0 });
      expect(open.report.level).toBe(0);
      expect(open.report.escapes).toContain('writes outside its directory');
      expect(statSync(target).size).toBe('precious'.length);
    } finally {
      rmSync(link, { force: true });
      if (usual === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = usual;
    }
    expect(existsSync(link)).toBe(false);
    expect(readdirSync(folder)).toEqual(['precious']);
    rmSync(folder, { recursive: true });
  });
});

describe('a missing Python', () => {
  test('is answered with the key that names another', async () => {
    await expect(findPython('python-of-nobody')).rejects.toThrow(/environment\.python/);
  });
  test('and so is one that answers nonsense', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gq-python-'));
    const path = join(folder, 'python3');
    for (const answer of ['not json', '[1, 2]', '["/usr/bin/python3", [3, "x"]]', '']) {
      writeFileSync(path, `#!/bin/sh\necho '${answer}'\n`, { mode: 0o755 });
      await expect(findPython(path)).rejects.toThrow(/Python 3\.9 or newer.*environment\.python/);
    }
    rmSync(folder, { recursive: true });
  });
});

test('wrong stays wrong beside all of this', async () => {
  const [verdict] = await gradeAll(patientJudge(sandbox), [{ code: wrong, problem: doubleProblem }]);
  expect(verdict.correct).toBe(false);
});
