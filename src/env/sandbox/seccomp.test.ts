/** The filter is a search tree: for every call number it must answer what the table of its machine says. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const folder = fileURLToPath(new URL('.', import.meta.url));
/** Follows a filter as the kernel does, with all arguments of a call the same number, and prints the numbers of calls by answer. */
const follow = `
import json, sys
sys.path.insert(0, sys.argv[1])
import seccomp
def answer(code, data):
    at, held = 0, 0
    while True:
        op, yes, no, value = code[at]
        if op == seccomp.RETURN: return value
        if op == seccomp.LOAD: held, yes = data.get(value, 0), 0
        elif op == seccomp.JUMP_EQUAL: yes = yes if held == value else no
        elif op == seccomp.JUMP_AT_LEAST: yes = yes if held >= value else no
        elif op == seccomp.JUMP_SET: yes = yes if held & value else no
        else: raise ValueError(op)
        at += 1 + yes
def numbers(table, argument, audit=None):
    code, found = seccomp.program(table), {}
    assert all(0 <= part < 256 for line in code for part in line[1:3])
    for number in list(range(1000)) + [1 << 30, (1 << 30) + 1]:
        data = {place: argument for place in seccomp.ARGUMENT}
        data.update({seccomp.NUMBER: number, seccomp.ARCHITECTURE: audit or table["audit"]})
        found.setdefault(answer(code, data), []).append(number)
    return found
tables = {}
for name, table in seccomp.TABLES.items():
    special = {each: table[each] for each in ("madvise", "clone", "clone3", "fcntl", "ioctl", "prlimit", "clock_gettime", "clock_getres", "clock_nanosleep")}
    tables[name] = dict(allowed=sorted(table["allowed"]), special=special, zero=numbers(table, 0), thread=numbers(table, 0x10100),
                        other=numbers(table, 0x10101), foreign=numbers(table, 0, 1))
print(json.dumps(tables))
`;

interface Answers {
  readonly allowed: readonly number[];
  readonly special: Readonly<Record<string, number>>;
  readonly zero: Readonly<Record<string, readonly number[]>>;
  readonly thread: Readonly<Record<string, readonly number[]>>;
  readonly other: Readonly<Record<string, readonly number[]>>;
  readonly foreign: Readonly<Record<string, readonly number[]>>;
}

const [allow, kill, notPermitted, noSuchCall] = ['2147418112', '2147483648', '327681', '327718'];

test('every call number is answered as the table says', () => {
  const printed = execFileSync('python3', ['-S', '-c', follow, folder], { encoding: 'utf8' });
  const tables = JSON.parse(printed) as Record<string, Answers>;
  expect(Object.keys(tables)).toEqual(['x86_64', 'aarch64']);
  for (const [machine, { allowed, special, zero, thread, other, foreign }] of Object.entries(tables)) {
    const sorted = (...names: readonly string[]) =>
      [...allowed, ...names.map((name) => special[name])].toSorted((a, b) => a - b);
    // All arguments 0: advice 0, F_DUPFD, clock 0, the caller and a null pointer are allowed, a fork and the request 0 are not.
    const clocks = ['clock_gettime', 'clock_getres', 'clock_nanosleep'];
    expect(zero[allow]).toEqual(sorted('madvise', 'fcntl', 'prlimit', ...clocks));
    // Arguments that are flags of a thread, and nothing that fcntl, ioctl, madvise or a clock may be asked.
    expect(thread[allow]).toEqual(sorted('clone'));
    expect(zero[noSuchCall]).toEqual([special['clone3']]);
    expect(other[notPermitted]).not.toContain(special['clone']);
    expect(zero[notPermitted]).toContain(special['clone']);
    const numbersOfX32 = machine === 'x86_64' ? [2 ** 30, 2 ** 30 + 1] : undefined;
    expect(zero[kill]).toEqual(numbersOfX32);
    expect(Object.keys(foreign)).toEqual([kill]);
  }
});
