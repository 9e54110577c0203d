/** The reference page of all commands, docs/commands.md, made from their values. */
import type { Part, PartTable } from './command.ts';
import { optionFlags, partText } from './program.ts';
import { commandTable, type NamedCommand } from './table.ts';

const preface = `# Commands

Written by \`gq help reference\`; a test compares it. Every command has \`--help\` with the same text. Exit codes of all commands: 0 done, 1 failed or the
answer is no, 2 the call was wrong, 75 interrupted by Ctrl-C, SIGTERM, SIGHUP or SIGUSR1: the same call goes on; a command that says something else of a code says it here.
Text is as wide as the window, elsewhere 80 columns, or what \`COLUMNS\` says, at least 40.
`;

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');

function rowsOf(heading: string, parts: PartTable, nameOf: (name: string, part: Part<unknown>) => string): string[] {
  const rows = Object.entries(parts).map(
    ([name, part]) => `| \`${nameOf(name, part)}\` | ${cell(partText(part))}${part.isNeeded ? ' (required)' : ''} |`,
  );
  return rows.length === 0 ? [] : [`| ${heading} | |`, '| --- | --- |', ...rows, ''];
}

function sectionOf({ words, entry, value }: NamedCommand): string {
  const usage = Object.values(value.arguments).map(({ takes }) => ` ${takes}`);
  const exits = Object.entries(value.exits ?? {}).map(([code, meaning]) => `- exit ${code}: ${meaning}`);
  return [
    `### gq ${words.join(' ')}`,
    '',
    `${entry.summary[0].toUpperCase()}${entry.summary.slice(1)}: \`gq ${words.join(' ')}${usage.join('')}\``,
    '',
    ...rowsOf('argument', value.arguments, (_name, part) => part.takes),
    ...rowsOf('option', value.options, optionFlags),
    ...(value.notes === undefined ? [] : ['```text', value.notes, '```', '']),
    ...(exits.length === 0 ? [] : [...exits, '']),
    '```sh',
    ...value.examples,
    '```',
    '',
  ].join('\n');
}

/** All commands with what they do, so that a reader of the divided page finds one before its group is known. */
function overview(commands: readonly NamedCommand[]): string {
  const rows = commands.map(({ words, entry }) => {
    const name = `gq ${words.join(' ')}`;
    return `| [\`${name}\`](#${name.replaceAll(' ', '-')}) | ${cell(entry.summary)} |`;
  });
  return ['| command | what it does |', '| --- | --- |', ...rows, ''].join('\n');
}

export function commandsPage(commands: readonly NamedCommand[]): string {
  const groups = [...new Set(commandTable.map(({ group }) => group))];
  const sections = groups.map((group) => {
    const names = commandTable.filter((entry) => entry.group === group).map(({ name }) => name);
    const own = commands.filter(({ words }) => names.includes(words[0]));
    return [`## ${group}\n`, ...own.map(sectionOf)].join('\n');
  });
  return `${[preface, overview(commands), ...sections].join('\n').trimEnd()}\n`;
}
