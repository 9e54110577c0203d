/** The benchmarks can be called by who has only the clone: `--help` says what is measured, and names every option that is read. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../', import.meta.url));
const bench = (...words: string[]) =>
  spawnSync(process.execPath, ['scripts/bench.mjs', ...words], { cwd: root, encoding: 'utf8' });

/** What a benchmark hands to the processes that it starts itself. */
const inner: Readonly<Record<string, readonly string[]>> = {
  pretrain: ['case'],
  parallel: ['shards', 'seconds', 'out'],
};

const sources = new Map(
  readdirSync(`${root}bench`)
    .filter((file) => file.endsWith('.ts'))
    .map((file) => [file.slice(0, -'.ts'.length), readFileSync(`${root}bench/${file}`, 'utf8')]),
);

/** The options that a source reads and its first comment does not name. */
function unnamedOptions(source: string): readonly string[] {
  const header = source.slice(0, source.indexOf('*/'));
  const read = source.slice(source.indexOf('parseArgs({')).matchAll(/(\w+): \{ type: '(?:string|boolean)'/g);
  return [...read].map(([, name]) => name).filter((name) => !new RegExp(`--(no-)?${name}\\b`).test(header));
}

it.each([
  ['(', 'Invalid regular expression'],
  ['a,b', 'expected --part without ,'],
])('rates with --part %s writes no table', (part, words) => {
  const call = ['bench/rates.ts', root, '--part', part];
  // By the Node that the repository brings: an older one runs no TypeScript.
  const node = `${root}node_modules/node/bin/node`;
  const { status, stdout, stderr } = spawnSync(node, call, { cwd: root, encoding: 'utf8' });
  expect([status, stdout, stderr]).toEqual([1, '', expect.stringContaining(words)]);
});

describe('npm run bench', () => {
  it('lists what can be called, not the parts of it', () => {
    const { status, stdout } = bench('--help');
    expect(status).toBe(0);
    const listed = stdout
      .trim()
      .replace(/.*Names: /s, '')
      .split(', ');
    // A file that others import is a part, unless it also runs as a program.
    const isPart = (source: string): boolean =>
      /^export /m.test(source) && !source.includes('if (process.argv[1] === ');
    const callable = [...sources].filter(([, source]) => !isPart(source)).map(([name]) => name);
    expect(listed.toSorted()).toEqual(callable.toSorted());
  });

  it('explains a benchmark without running it', () => {
    const { status, stdout } = bench('micro', '--help');
    expect(status).toBe(0);
    expect(stdout).toContain('npm run bench micro -- [--updates 12]');
  });

  it('names every option in the header that --help prints', () => {
    const called = [...sources].filter(([name, source]) => source.includes('parseArgs({') && name !== 'micro-policy');
    expect(called.length).toBeGreaterThan(10);
    const unnamed = called.map(([name, source]) => [
      name,
      unnamedOptions(source).filter((option) => inner[name]?.includes(option) !== true),
    ]);
    expect(unnamed.filter(([, options]) => options.length > 0)).toEqual([]);
  });
});
