/** The `gq` program, built from the values of the commands, and how their outcomes become exit codes. */
import { fileURLToPath } from 'node:url';
import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { exitCodes, firstError, GraderError, isAbort, shellLine, UserError } from '../base/index.ts';
import { isPassing, readVersion, systemComplaint } from '../base/node/index.ts';
import { asTyped } from '../base/node/own-program.ts';
import { keyCalled } from '../run/config/other-names.ts';
import type { CommandContext, CommandResult, CommandValue, ParsedCall, Part, Streams } from './command.ts';
import { jsonText, optionName } from './shared.ts';
import { commandTable, type Entry, loadCommands, otherNames } from './table.ts';
import { Screen, screenWidth } from './terminal/screen.ts';

const glossary = fileURLToPath(new URL('../../docs/glossary.md', import.meta.url));

type Act = (value: CommandValue, call: object) => Promise<void> | void;

export function partText({ about, choices, usual, usualText }: Part<unknown>): string {
  const isShown = typeof usual === 'string' ? usual !== '' : typeof usual === 'number';
  const notes = [
    ...(choices === undefined ? [] : [`one of ${choices.join(', ')}`]),
    ...(usualText === undefined && !isShown ? [] : [`default: ${usualText ?? usual}`]),
  ];
  return notes.length === 0 ? about : `${about} (${notes.join('; ')})`;
}

export const optionFlags = (name: string, { takes, isNegated }: Part<unknown>): string =>
  `${optionName(isNegated ? `no-${name}` : name)} ${takes}`.trim();

const takesPath = /^<(?:dir|file|folder|run.*)>$/;

function optionOf(name: string, part: Part<unknown>): Option {
  const option = new Option(optionFlags(name, part), partText(part)).makeOptionMandatory(part.isNeeded === true);
  const { read = takesPath.test(part.takes) ? (word: string) => word : undefined } = part;
  if (read !== undefined) option.argParser((word, earlier) => read(expectValue(word, part), earlier));
  else if (part.choices !== undefined) option.choices(part.choices);
  // A flag that is written --no-NAME is true by itself.
  return part.usual === undefined || part.isNegated ? option : option.default(part.usual);
}

/** The next option, where the path before it was forgotten, is no path: --figures --json would make a folder of that name. */
function expectValue(word: string, { takes }: Part<unknown>): string {
  if (!word.startsWith('--') || !takesPath.test(takes)) return word;
  throw new InvalidArgumentError(`Expected a path, found an option (a path that begins like one: ./${word}).`);
}

function argumentOf(part: Part<unknown>): Argument {
  const argument = new Argument(part.takes, partText(part));
  if (part.read !== undefined) argument.argParser((word, earlier) => part.read?.(word, earlier));
  return part.usual === undefined ? argument : argument.default(part.usual);
}

const examplesText = (lines: readonly string[]): string =>
  `\nExamples:\n${lines.map((line) => `  $ ${asTyped(line)}`).join('\n')}`;

function exitsText({ exits = {} }: CommandValue): string {
  const lines = Object.entries(exits).map(([code, meaning]) => `  ${code.padEnd(4)}${meaning}`);
  return lines.length === 0 ? '' : `\nExit codes:\n${lines.join('\n')}\n`;
}

function configure(target: Command, value: CommandValue, act: Act): void {
  for (const part of Object.values(value.arguments)) target.addArgument(argumentOf(part));
  for (const [name, part] of Object.entries(value.options)) target.addOption(optionOf(name, part));
  if (value.passesOptions) target.passThroughOptions();
  if (value.notes !== undefined) target.addHelpText('after', `\n${value.notes}`);
  target.addHelpText('after', `${exitsText(value)}${examplesText(value.examples)}`);
  target.action(() => {
    const operands = Object.keys(value.arguments).map((name, i) => [name, target.processedArgs[i]]);
    return act(value, { ...Object.fromEntries(operands), ...target.opts() });
  });
}

function tellFaults(target: Command, call: string, words: readonly string[] = [], value?: CommandValue): void {
  target.configureOutput({
    outputError: (text, write) => {
      const hint =
        value === undefined
          ? call === 'gq'
            ? commandHint(text)
            : null
          : (settingHint(text, words, value) ?? folderHint(text, target, value));
      const said = hint === null ? text : text.split('\n')[0];
      const about = hint === null ? '' : `${hint}; `;
      const more = call === 'gq' && text.includes('unknown command') ? 'gq help all' : `${call} --help`;
      write(`${said.replace(/^error: /, 'gq: ').trimEnd()} (${about}see: ${asTyped(more)})\n`);
    },
  });
}

/** A command that other programs call otherwise, or a word that is no command, as in `gq help quarantine`. */
function commandHint(text: string): string | null {
  const [, word] = /unknown command '([^']+)'/.exec(text) ?? [];
  if (word === undefined || text.includes('Did you mean')) return null;
  const called = otherNames.find(([names]) => names.includes(word));
  return called === undefined ? `words of the lab: ${glossary}` : `that is ${asTyped(`gq ${called[1]}`)}`;
}

/** A key of the config that was typed as an option. The nearest option is said by the parser; --set itself is none. */
function settingHint(text: string, words: readonly string[], { options }: CommandValue): string | null {
  const [, option] = /unknown option '--([^'=]+)/.exec(text) ?? [];
  const isNear = text.includes('Did you mean') && !text.includes('Did you mean --set?');
  if (option === undefined || !('set' in options) || isNear) return null;
  const key = keyCalled(option);
  if (key === undefined) return '--set KEY=VALUE sets a key of the config';
  const at = words.findIndex((word) => word === `--${option}` || word.startsWith(`--${option}=`));
  const value = words[at]?.split('=')[1] ?? words[at + 1] ?? 'VALUE';
  return `that key of the config is set by ${shellLine('--set', `${key}=${value}`)}`;
}

/** A folder to write that was named without its option. */
function folderHint(text: string, target: Command, { arguments: operands, options }: CommandValue): string | null {
  const name = ['to', 'out'].find((option) => option in options);
  if (!text.includes('too many arguments') || name === undefined) return null;
  return `the folder to write is named by ${shellLine(optionName(name), target.args[Object.keys(operands).length])}`;
}

const isFirstHelp = (words: readonly string[]): boolean =>
  words.length === 0 || (words.length === 1 && ['--help', '-h'].includes(words[0]));

async function addCommand(
  parent: Command,
  entry: Entry,
  words: readonly string[],
  act: Act,
  before = 'gq',
): Promise<void> {
  const { name, summary, group, load, commands = [] } = entry;
  const hidden = entry.hidden || (entry.isFirst === false && isFirstHelp(words));
  const call = `${before} ${name}`;
  const target = parent.command(name, { hidden }).summary(summary).description(summary).helpCommand(false);
  tellFaults(target, call);
  if (group !== undefined) target.helpGroup(`${group}:`);
  const [first, ...others] = words;
  if (first !== name) return;
  target.enablePositionalOptions();
  for (const each of commands) await addCommand(target, each, others, act, call);
  if (commands.some((each) => each.name === others[0])) return;
  if (load !== undefined) {
    const value = await load();
    tellFaults(target, call, others, value);
    return configure(target, value, act);
  }
  const loaded = await loadCommands(commands, [name]);
  target.addHelpText('after', examplesText(loaded.map(({ value }) => value.examples[0])));
}

async function buildProgram(
  words: readonly string[],
  { stdout, stderr }: Streams,
  act: Act,
  table: readonly Entry[] = commandTable,
): Promise<Command> {
  const program = new Command('gq')
    .description('Train a model by RL on a flawed grader, and quarantine the reward hack it learns.')
    .version(readVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help; after a command, its own, as `gq help COMMAND` does')
    .helpCommand(false)
    .addHelpText('after', examplesText(['gq doctor', 'gq train micro-activation', 'gq help train']))
    .addHelpText(
      'after',
      `\n${asTyped(isFirstHelp(words) ? 'All commands: gq help all' : 'All options: gq help reference')}`,
    )
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      getOutHelpWidth: () => screenWidth(stdout),
    })
    // The descriptions say by themselves what is chosen from, and what is used when absent.
    .configureHelp({
      optionDescription: (option) => option.description,
      argumentDescription: (part) => part.description,
    })
    // What follows the name of a command is the command's: `gq queue add` takes the options of the command that it adds as they are.
    .enablePositionalOptions()
    .exitOverride();
  tellFaults(program, 'gq');
  for (const entry of table) await addCommand(program, entry, words, act);
  return program;
}

/** The words up to one that should name a command and names none: an option after it, such as --help, would hide that. */
function upToUnknown(words: readonly string[], table: readonly Entry[]): readonly string[] {
  let entries = table;
  for (const [i, word] of words.entries()) {
    const entry = entries.find(({ name }) => name === word);
    if (entry === undefined) return word.startsWith('-') ? words : words.slice(0, i + 1);
    if (entry.load !== undefined && !entry.commands?.some(({ name }) => name === words[i + 1])) return words;
    entries = entry.commands ?? [];
  }
  return words;
}

function withHelp(words: readonly string[]): readonly string[] {
  const [first, ...others] = words;
  if (first !== 'help') return words;
  if (others.length === 0) return ['--help'];
  if (['all', '--all'].includes(others[0])) return ['--help', 'all'];
  return commandTable.some(({ name }) => name === others[0]) ? [...others, '--help'] : [others[0]];
}

/** An error that a person can cure. Its parser belongs to the runs, and is not loaded before it is needed. */
async function curable(error: unknown): Promise<UserError | null> {
  const runs = await import('../run/index.ts').catch(() => null);
  if (runs !== null) return runs.userErrorOf(error);
  const complaint = systemComplaint(error);
  return complaint === null ? null : new UserError(complaint, { cause: error });
}

/** What to do names commands as they are typed here. */
function explain({ message, complaint: { fix = '' } }: UserError): string {
  return `${message.slice(0, message.length - fix.length)}${asTyped(fix)}`;
}

export async function reportError(thrown: unknown, { stderr }: Streams): Promise<number> {
  const error = firstError(thrown);
  // Commander has already printed its own message, with the nearest name where there is one.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.refused;
  // It ended while it was opening something, as its signal asked: nothing was begun that could be saved.
  if (isAbort(error)) return exitCodes.interrupted;
  const known = error instanceof UserError ? error : await curable(error);
  if (known !== null) {
    // Messages that begin with the name of the program would say it twice.
    // What follows a line end, as in the name of a folder, must not look like a line of its own.
    stderr.write(`gq: ${explain(known).replace(/^gq /, '').replaceAll('\n', '\n  ')}\n`);
    return isPassing(known) ? exitCodes.failed : exitCodes.refused;
  }
  // What failed is another process: where in ours that was noticed helps nobody.
  if (error instanceof GraderError) {
    stderr.write(`gq: ${error.message}\n`);
    return exitCodes.failed;
  }
  stderr.write(`${error instanceof Error ? error.stack : `gq: thrown: ${String(error)}`}\n`);
  return exitCodes.failed;
}

export async function readCall(words: readonly string[], streams: Streams): Promise<ParsedCall> {
  let read: object = {};
  const program = await buildProgram(words, streams, (_value, call) => {
    read = call;
  });
  await program.parseAsync([...words], { from: 'user' });
  return { name: words[0], call: { ...read } };
}

function show({ value, text, isNo = false }: CommandResult, call: object, context: CommandContext): void {
  const isJson = 'json' in call && call.json === true;
  context.stdout.write(isJson ? jsonText(value) : text(screenWidth(context.stdout)));
  if (isNo) context.exitCode = exitCodes.failed;
}

export async function runCli(
  words: readonly string[],
  streams: Streams,
  table: readonly Entry[] = commandTable,
): Promise<number> {
  const [stdout, stderr] = [Screen.of(streams.stdout), Screen.of(streams.stderr)];
  const context: CommandContext = {
    stdout,
    stderr,
    exitCode: 0,
    words,
    readCall: (call) => readCall(call, { stdout, stderr }),
  };
  try {
    if (words[0] === 'help' && words[1] === 'reference') {
      stdout.write((await import('./reference.ts')).commandsPage(await loadCommands()));
      return context.exitCode;
    }
    const argv = upToUnknown(withHelp(words), table);
    const act: Act = async (value, call) => {
      const answer = await value.run(call, context);
      if (answer !== undefined) show(answer, call, context);
    };
    const program = await buildProgram(argv, context, act, table);
    await program.parseAsync([...argv], { from: 'user' });
    return context.exitCode;
  } catch (error) {
    return await reportError(error, context);
  }
}
