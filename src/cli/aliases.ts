/**
 * Names that commands had before version 0.3, and what they are called now. They do what they did for one more version, and say on
 * stderr how the call is written now.
 */
interface Alias {
  readonly old: readonly string[];
  readonly now: readonly string[];
  /** Words after the arguments, and options that are called otherwise. */
  readonly flags?: readonly string[];
  readonly options?: Readonly<Record<string, string>>;
}

const aliases: readonly Alias[] = [
  { old: ['eval-curve'], now: ['eval'], flags: ['--curve'], options: { '--set': '--sets' } },
  { old: ['elicit'], now: ['eval'], flags: ['--elicit'], options: { '--prompts': '--sets' } },
  { old: ['probe'], now: ['eval'], flags: ['--leak'], options: { '--prompts': '--sets' } },
  { old: ['prefill-curve'], now: ['eval'], flags: ['--prefill'], options: { '--set': '--sets' } },
  { old: ['report'], now: ['results'], flags: ['--html'] },
  { old: ['export-log'], now: ['export'], options: { '--format': '--log' } },
  { old: ['bundle'], now: ['view'] },
  { old: ['problems', 'check'], now: ['verify', 'problems'] },
  ...['gate', 'evasion', 'relearn', 'replay', 'traces', 'labels'].map((old) => ({ old: [old], now: ['measure', old] })),
];

/** The first words of every old name. */
export const oldNames: readonly string[] = aliases.map(({ old }) => old.join(' '));

/** The call under the present names, and a line about it where it was written under an old one. */
export function renameCall(words: readonly string[]): { words: readonly string[]; note: string | null } {
  const alias = aliases.find(({ old }) => old.every((word, i) => words[i] === word));
  if (alias === undefined) return { words, note: null };
  const { old, now, flags = [], options = {} } = alias;
  const rest = words.slice(old.length).map((word) => {
    const [name, ...value] = word.split('=');
    return Object.hasOwn(options, name) ? [options[name], ...value].join('=') : word;
  });
  const renamed = Object.entries(options).map(([before, after]) => `, ${before} is ${after}`);
  const form = [...now, ...flags].join(' ');
  const note = `gq ${old.join(' ')} is now gq ${form}${renamed.join('')}; the old name goes with the next version\n`;
  return { words: [...now, ...flags, ...rest], note };
}
