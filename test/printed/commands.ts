/** Every command that a page, the comment of a recipe, a help text or a message prints, with the place that prints it. */
import { loadCommands } from '../../src/cli/table.ts';
import { listFiles, readText } from '../architecture/files.ts';

export interface Printed {
  /** The file, or the call whose help has it. */
  readonly path: string;
  readonly line: string;
}

const startsCommand = /^(?:[A-Z_]+=\S+ )?(?:(?:npx |nohup )?gq |npm (?:run|test|ci)\b)/;

/** Lines of code blocks of a page that call gq or npm; a line that ends with \ goes on. */
const linesOf = (page: string): string[] =>
  [...page.matchAll(/^ *```(?:sh|bash|console|text)?\n(.*?)^ *```/gms)]
    .flatMap(([, block]) => block.replace(/ *\\\n\s*/g, ' ').split('\n'))
    .map((line) => line.trim().replace(/^\$ /, ''))
    .filter((line) => startsCommand.test(line));

const files = listFiles();
const pages = files.filter((path) =>
  /^(?:README|ARCHITECTURE|CONTRIBUTING|SECURITY)\.md$|^(?:docs|examples)\/.*\.md$/.test(path),
);

export const onPages: readonly Printed[] = pages.flatMap((path) =>
  linesOf(readText(path)).map((line) => ({ path, line })),
);

export const inRecipes: readonly Printed[] = files
  .filter((path) => /^(?:recipes|examples)\/.*\.toml$/.test(path))
  .flatMap((path) => [...readText(path).matchAll(/^# *(gq .*)$/gm)].map(([, line]) => ({ path, line })));

/** How a program of examples/ is started, as its header says. */
export const inExamples: readonly Printed[] = files
  .filter((path) => /^examples\/.*\.ts$/.test(path))
  .flatMap((path) => [...readText(path).matchAll(/^\/\/ .*: (npx node .*)$/gm)].map(([, line]) => ({ path, line })));

export const inHelp: readonly Printed[] = (await loadCommands()).flatMap(({ words, value }) =>
  value.examples.map((line) => ({ path: `gq ${words.join(' ')} --help`, line })),
);

/** In the prose of a page, in backticks: often without their arguments. */
export const inProse: readonly Printed[] = pages.flatMap((path) =>
  [...readText(path).matchAll(/`((?:npx )?gq [a-z][^`\n]*)`/g)].map(([, line]) => ({ path, line })),
);

/** In texts of the sources, with a word in the place of what is filled in: messages and closing lines, often in the middle of a sentence. */
export const inMessages: readonly Printed[] = files
  .filter((path) => /^src\/.*\.tsx?$/.test(path) && !path.endsWith('.test.ts'))
  .flatMap((path) =>
    readText(path)
      .split('\n')
      .filter((line) => !/^\s*(?:\/?\*|\/\/)/.test(line))
      .flatMap((line) => [...line.matchAll(/(?<![\w./-])gq [a-z][^'"`]*/g)])
      .map(([line]) => ({ path, line: line.replace(/\$\{[^}]*\}?/g, 'WORD') })),
  );

/** The commands of a line as a shell reads them, one after another. */
export const commandsOf = (line: string): string[] =>
  line
    .replace(/ +#.*$/, '')
    .split(/ && |; /)
    .map((command) => command.trim());

/** The words of a command after `gq`; null where there is none, or a sign that stands for anything. */
export function wordsOf(command: string): string[] | null {
  const plain = command.replace(/ (?:>>?|2>|<) .*$/, '').replace(/ \\$/, '').trim(); // biome-ignore format: one line
  if (/[|&;…]|\.\.\.|\$\(|`/.test(plain)) return null;
  const words: string[] = plain.match(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g) ?? [];
  const at = words.indexOf('gq');
  return at < 0 ? null : words.slice(at + 1).map((word) => word.replace(/['"]/g, ''));
}

/** What a report says itself, as text, with its lines of code by themselves: without what models wrote. */
export function inReport(html: string): { readonly lines: readonly string[]; readonly prose: readonly string[] } {
  const characters: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };
  const textOf = (part: string): string =>
    part.replace(/<[^>]*>/g, ' ').replace(/&(#?\w+);/g, (_, name: string) => characters[name]);
  const own = html.replace(/<style>.*?<\/style>|<div class="turn.*?<\/pre><\/div>/gs, '');
  const lines = [...own.matchAll(/<pre>(.*?)<\/pre>/gs)].flatMap(([, block]) => textOf(block).split('\n'));
  const sentences = textOf(own.replace(/<pre>.*?<\/pre>/gs, ''));
  const prose = [...sentences.matchAll(/(?:npx )?(?<![\w./-])gq [a-z][^\n]*/g)].map(([said]) => said);
  return { lines: lines.filter((line) => startsCommand.test(line)), prose };
}
