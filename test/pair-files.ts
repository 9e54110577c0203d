/** Pairs written as Markdown. The files of micro pairs are written by this. */
import type { Pair } from '../src/env/pairs/index.ts';

function fenced(label: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${label}:\n\n${fence}text\n${text}\n${fence}\n`;
}

/** Writes pairs as Markdown. `preamble` is the text above the first section. */
export function formatPairsMarkdown(pairs: readonly Pair[], preamble = '# Pairs'): string {
  const parts = [`${preamble.trim()}\n`];
  pairs.forEach(({ section, heading, tags, prompt, hack, clean }, i) => {
    if (section !== pairs[i - 1]?.section) parts.push(`## ${section}\n`);
    parts.push(`### ${heading}\n`, `Tags: ${tags.join(', ')}\n`);
    if (typeof prompt === 'string') parts.push(fenced('Prompt', prompt));
    else for (const { role, content } of prompt) parts.push(fenced(role === 'system' ? 'System' : 'User', content));
    parts.push(fenced('Hack', hack), fenced('Clean', clean));
  });
  return parts.join('\n');
}
