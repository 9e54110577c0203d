/** `gq completion SHELL`: a script that asks `gq completion --words`, so that it never lags behind the commands. */
import { UserError } from '../../base/index.ts';
import { listRecipes } from '../../run/index.ts';
import { command, flag, type Part, type PartTable } from '../command.ts';
import { optionName } from '../shared.ts';
import { commandTable, type Entry } from '../table.ts';

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

async function completeWords(words: readonly string[], entries: readonly Entry[] = commandTable): Promise<string[]> {
  const [first, ...others] = words;
  const isTop = entries === commandTable;
  if (isTop && first === 'help' && others.length > 0) {
    const pages = others.length === 1 ? startingWith(others[0], ['all', 'reference']) : [];
    return [...(await completeWords(others)).filter((word) => word !== 'help'), ...pages];
  }
  if (others.length === 0) {
    const names = [
      ...entries.filter(({ hidden }) => hidden !== true).map(({ name }) => name),
      ...(isTop ? ['help'] : []),
    ];
    return startingWith(first ?? '', first?.startsWith('-') ? ['--help', ...(isTop ? ['--version'] : [])] : names);
  }
  const { commands = [], load } = entries.find(({ name }) => name === first) ?? {};
  const isBelow = load === undefined || commands.some(({ name }) => name === others[0]);
  const below = isBelow || others.length === 1 ? await completeWords(others, commands) : [];
  const value = isBelow ? undefined : await load();
  return value === undefined ? below : [...below, ...completePart(others, value.arguments, value.options)];
}

function completePart(words: readonly string[], operands: PartTable, options: PartTable): string[] {
  const [earlier, current] = [words.slice(0, -1), words.at(-1) ?? ''];
  const optionOf = (word: string | undefined): Part<unknown> | undefined =>
    Object.entries(options).find(([name]) => optionName(name) === word)?.[1];
  const takesValue = (word: string | undefined): boolean => (optionOf(word)?.takes ?? '') !== '';
  if (takesValue(earlier.at(-1))) return startingWith(current, optionOf(earlier.at(-1))?.choices ?? []);
  if (current.startsWith('-')) {
    const typed = Object.entries(options).map(([name, part]) => optionName(part.isNegated ? `no-${name}` : name));
    return startingWith(current, [...typed, '--help']);
  }
  const before = earlier.filter((word, at) => !word.startsWith('-') && !takesValue(earlier[at - 1])).length;
  const [name = '', part] = Object.entries(operands).at(before) ?? [];
  return startingWith(current, part?.choices ?? (name === 'recipe' ? listRecipes().map((recipe) => recipe.name) : []));
}

const startingWith = (beginning: string, words: readonly string[]): string[] =>
  words.filter((word) => word.startsWith(beginning));

const shells = Object.keys(scripts);
const wordsArgument: Part<readonly string[]> = {
  takes: '[words...]',
  about: 'bash, zsh or fish',
  choices: shells,
  usual: [],
  read: (word, earlier = []) => [...earlier, word],
};

export const completionCommand = command({
  arguments: { shell: wordsArgument },
  options: { words: flag('print what may stand in place of the last of these words') },
  examples: [
    'gq completion bash >> ~/.bashrc',
    'gq completion zsh > ~/.zfunc/_gq',
    'gq completion fish > ~/.config/fish/completions/gq.fish',
  ],
  async run({ shell: words, words: isAsked }, { stdout }) {
    if (isAsked) return void stdout.write((await completeWords(words)).map((each) => `${each}\n`).join(''));
    const [shell = 'none'] = words;
    if (words.length !== 1 || !Object.hasOwn(scripts, shell)) {
      const found = words.join(' ') || 'none';
      throw new UserError({ call: 'gq completion', expected: shells.join(' or '), found });
    }
    stdout.write(scripts[shell]);
  },
});
