/**
 * `gq completion SHELL` prints a script for bash, zsh or fish. The script asks `gq completion --words -- WORDS` for what may stand in
 * place of the last word, so that it never lags behind the commands. Where that says nothing, the shell offers files.
 */
import { type Argument, type Command, Argument as CommanderArgument, type Option } from 'commander';
import { UserError } from '../../base/index.ts';
import { listRecipes } from '../../run/index.ts';
import { type CommandContext, examplesText } from '../command.ts';

const scripts: Readonly<Record<string, string>> = {
  bash: `_gq() {
  local IFS=$'\\n'
  COMPREPLY=($(gq completion --words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _gq gq
`,
  zsh: `#compdef gq
_gq() {
  local -a found
  found=("\${(@f)$(gq completion --words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -- "\${found[@]}"; else _files; fi
}
if [[ "$funcstack[1]" == "_gq" ]]; then _gq "$@"; else compdef _gq gq; fi
`,
  fish: `complete -c gq -a '(set -l words (commandline -opc) (commandline -ct); gq completion --words -- $words[2..-1] 2>/dev/null)'
`,
};

/** What may stand in place of the last word of a call; empty where only files may. */
export function completeWords(program: Command, words: readonly string[]): string[] {
  const current = words.at(-1) ?? '';
  if (words[0] === 'help' && words.length > 1) return completeWords(program, words.slice(1));
  const { command, rest } = descend(program, words.slice(0, -1));
  const option = optionOf(command, rest.at(-1));
  if (option !== undefined && takesValue(option)) return startingWith(current, option.argChoices ?? []);
  if (current.startsWith('-'))
    return startingWith(current, [...command.options.flatMap(({ long }) => long ?? []), '--help']);
  const below = command.commands.map((each) => each.name());
  const argument = command.registeredArguments.at(operandsIn(command, rest));
  return startingWith(current, [...below, ...(argument === undefined ? [] : valuesOf(argument))]);
}

function optionOf(command: Command, word: string | undefined): Option | undefined {
  return command.options.find(({ long, short }) => word !== undefined && (long === word || short === word));
}

const takesValue = ({ required, optional }: Option): boolean => required || optional;

/** The command that the words name, and the words after its name. */
function descend(command: Command, words: readonly string[]): { command: Command; rest: readonly string[] } {
  const [first, ...others] = words;
  const below = command.commands.find((each) => each.name() === first);
  return below === undefined ? { command, rest: words } : descend(below, others);
}

function operandsIn(command: Command, words: readonly string[]): number {
  const isValue = (at: number): boolean => {
    const option = optionOf(command, words[at - 1]);
    return option !== undefined && takesValue(option);
  };
  return words.filter((word, at) => !word.startsWith('-') && !isValue(at)).length;
}

function valuesOf(argument: Argument): readonly string[] {
  if (argument.argChoices !== undefined) return argument.argChoices;
  return /recipe|experiment/.test(argument.name()) ? listRecipes().map(({ name }) => name) : [];
}

const startingWith = (beginning: string, words: readonly string[]): string[] =>
  words.filter((word) => word.startsWith(beginning));

export function configureCompletion(command: Command, context: CommandContext): void {
  command
    .addArgument(
      new CommanderArgument('[words...]', 'bash, zsh or fish')
        .choices(Object.keys(scripts))
        .argParser((word: string, earlier: readonly string[] | undefined) => [...(earlier ?? []), word]),
    )
    .option('--words', 'print what may stand in place of the last of these words')
    .addHelpText(
      'after',
      examplesText(
        'gq completion bash >> ~/.bashrc',
        'gq completion zsh > ~/.zfunc/_gq',
        'gq completion fish > ~/.config/fish/completions/gq.fish',
      ),
    )
    .action((words: readonly string[], { words: asked }: { readonly words?: true }) => {
      if (asked) {
        const found = command.parent === null ? [] : completeWords(command.parent, words);
        context.stdout.write(found.map((each) => `${each}\n`).join(''));
        return;
      }
      const [shell = 'none'] = words;
      if (words.length === 1 && Object.hasOwn(scripts, shell)) context.stdout.write(scripts[shell]);
      else
        throw new UserError({
          call: 'gq completion',
          expected: Object.keys(scripts).join(' or '),
          found: words.join(' ') || 'none',
        });
    });
}
