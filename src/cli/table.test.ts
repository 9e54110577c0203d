/** All commands at once: what help, completion and docs/commands.md are made from must be whole, and every example must be a call. */
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { gq } from '../../test/run-gq.ts';
import { readCall } from './program.ts';
import { commandTable, loadCommands } from './table.ts';

const commands = await loadCommands();

/** The words of an example as a shell would give them; what it sets before, sends elsewhere and says after # is left out. */
function wordsOf(example: string): string[] {
  const words = [...example.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, one, two, plain]) => one ?? two ?? plain);
  const call = words.slice(words.indexOf('gq') + 1);
  const end = call.findIndex((word) => /^(?:>>?|#)$/.test(word));
  return end < 0 ? call : call.slice(0, end);
}

it.each(commands.map(({ words, value }) => [words.join(' '), value] as const))('gq %s', async (name, value) => {
  expect(value.examples.length).toBeGreaterThan(0);
  for (const example of value.examples) {
    const silent = { write: () => 0 };
    await expect(readCall(wordsOf(example), { stdout: silent, stderr: silent }), example).resolves.toMatchObject({
      name: wordsOf(example)[0],
    });
  }
  const own = value.examples.filter((example) => wordsOf(example).join(' ').startsWith(name));
  expect(own.length).toBeGreaterThan(0);
  for (const part of [...Object.values(value.arguments), ...Object.values(value.options)]) {
    expect(part.about).toMatch(/^[^A-Z\s].*[^.\s]$|^[A-Z{]/);
  }
});

it('a planted example that is no call is refused', async () => {
  const silent = { write: () => 0 };
  for (const example of ['gq train --nonsense', 'gq measure gate', 'gq export x --state odd', 'gq nonsense']) {
    await expect(readCall(wordsOf(example), { stdout: silent, stderr: silent })).rejects.toThrow();
  }
});

it('examples name recipes by their bare names, which are found in any folder', () => {
  const examples = commands.flatMap(({ value }) => value.examples);
  expect(examples.filter((example) => example.includes('recipes/'))).toEqual([]);
});

it('names are said once', () => {
  const calls = commands.map(({ words }) => words.join(' '));
  expect(new Set(calls).size).toBe(calls.length);
  expect(commandTable.every(({ group }) => group !== undefined)).toBe(true);
});

it.each(
  commands
    .filter(({ words }) => ['recipes', 'config', 'completion'].includes(words[0]))
    .flatMap(({ value }) => value.examples),
)('%s, which costs nothing, works', async (example) => {
  const { code, out, err } = await gq(...wordsOf(example));
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out.length).toBeGreaterThan(20);
});

/** The files of src that a file needs before it runs: what it imports by a statement, and what those import. */
function neededBy(file: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(file)) return found;
  found.add(file);
  const statements = readFileSync(file, 'utf8').matchAll(/^(?:import|export) (?!type )[^;]*? from '(\.[^']+)';/gm);
  for (const [, path] of statements) neededBy(join(dirname(file), path), found);
  return found;
}

it('help and version load no part of the lab', () => {
  const program = fileURLToPath(new URL('./program.ts', import.meta.url));
  const src = join(dirname(program), '..');
  const files = [...neededBy(program)].map((file) => relative(src, file));
  expect(files).toContain('cli/table.ts');
  // What people call keys is a list that needs no other file.
  const allowed = /^(?:base|cli|measure\/registry)\/|^run\/config\/other-names\.ts$/;
  expect(files.filter((file) => !allowed.test(file))).toEqual([]);
  expect(files.filter((file) => file.startsWith('cli/commands/'))).toEqual([]);
  expect([...neededBy(join(src, 'cli/commands/eval.ts'))].map((file) => relative(src, file))).toContain('lab/open.ts');
});
