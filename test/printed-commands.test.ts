/**
 * Every command that a page, a recipe, an example or a help text prints is one that the program takes: its words are read by the parser
 * itself, which refuses unknown commands, options, values and arguments. Recipes that they name exist. What is run as it stands is run by
 * test/package/projects.ts (README of `gq init`), test/examples, test/lab/guide-qwen.test.ts and test/lab/small-models.test.ts.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readCall } from '../src/cli/program.ts';
import { loadCommands } from '../src/cli/table.ts';
import { listRecipes } from '../src/run/config/recipes.ts';
import { listFiles, readText, root } from './architecture/files.ts';

/** The words of a line as a shell reads them; null for a line with more than one command, or a word that stands for any. */
function wordsOf(line: string): string[] | null {
  const plain = line.replace(/ +#.*$/, '').replace(/ (?:>>?|2>|<) .*$/, '').replace(/ \\$/, '').trim(); // biome-ignore format: one line
  if (/[|&;…]|\.\.\.|\$\(|`/.test(plain)) return null;
  const words: string[] = plain.match(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g) ?? [];
  const at = words.indexOf('gq');
  return at < 0 ? null : words.slice(at + 1).map((word) => word.replace(/['"]/g, ''));
}

/** Lines of code blocks of a page that call gq; a line that ends with \ goes on. */
const linesOf = (page: string): string[] =>
  [...page.matchAll(/^ *```(?:sh|bash|console|text)?\n(.*?)^ *```/gms)]
    .flatMap(([, block]) => block.replace(/ *\\\n\s*/g, ' ').split('\n'))
    .map((line) => line.trim().replace(/^\$ /, ''))
    .filter((line) => /^(?:[A-Z_]+=\S+ )?(?:npx |nohup )?gq /.test(line));

const files = listFiles();
const pages = files.filter((path) =>
  /^(?:README|ARCHITECTURE|CONTRIBUTING|SECURITY)\.md$|^(?:docs|examples)\/.*\.md$/.test(path),
);
const printed = pages.flatMap((path) => linesOf(readText(path)).map((line) => ({ path, line })));
const commented = files
  .filter((path) => /^(?:recipes|examples)\/.*\.toml$/.test(path))
  .flatMap((path) =>
    [...readText(path).matchAll(/^# *(gq .*)$/gm)].flatMap(([, line]) =>
      line.split(' && ').map((part) => ({ path, line: part })),
    ),
  );
const examples = (await loadCommands()).flatMap(({ words, value }) =>
  value.examples.map((line) => ({ path: `gq ${words.join(' ')} --help`, line })),
);
const shipped = listRecipes().map(({ name }) => name);

async function complaintOf(words: readonly string[]): Promise<string | null> {
  let said = '';
  const sink = { write: (text: string) => (said += text) };
  try {
    await readCall(words, { stdout: sink, stderr: sink });
  } catch (error) {
    return said || String(error);
  }
  // A recipe in the place of the first argument goes by its bare name, or is a file of the repository.
  const [command, recipe = ''] = words;
  if (!['train', 'experiment', 'config'].includes(command) || recipe.startsWith('-')) return null;
  const isKnown =
    shipped.includes(recipe) || existsSync(join(root, recipe)) || !/^(?:recipes|examples)\/|^[\w.-]+$/.test(recipe);
  return isKnown || /^[A-Z]|\.toml$/.test(recipe) ? null : `no recipe ${recipe}`;
}

describe.each([
  ['pages', printed, 60],
  ['comments of recipes', commented, 20],
  ['help', examples, 80],
])('commands in %s', (_, lines, fewest) => {
  it('are taken by the parser', async () => {
    const read = lines.map(({ path, line }) => ({ path, line, words: wordsOf(line) }));
    const wrong: string[] = [];
    for (const { path, line, words } of read) {
      const complaint = words === null ? null : await complaintOf(words);
      if (complaint !== null) wrong.push(`${path}: ${line}: ${complaint.trim()}`);
    }
    expect(wrong).toEqual([]);
    expect(read.filter(({ words }) => words !== null).length).toBeGreaterThan(fewest);
  });
});

it.each(['train --sed 3', 'trian micro-vanilla', 'train micro-vanila', 'eval', 'playground x'])(
  'a planted one is caught: gq %s',
  async (line) => expect(await complaintOf(line.split(' '))).not.toBeNull(),
);
