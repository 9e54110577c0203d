/** What a model wrote, as text and nothing else: characters that cannot be seen are written as escapes, long texts are cut until asked for. */
import { useState } from 'preact/hooks';
import { visible } from '../../base/index.ts';
import { diffWords } from '../word-diff.ts';

const firstCharacters = 20_000;

/** The names that a prompt's hint discloses, in backticks: where they stand in a completion, the exploit is. */
export function disclosedNames(prompt: string): string[] {
  const quoted = [...prompt.matchAll(/`([^`\n]{2,60})`/g)].map(([, name]) => name.replace(/\(\)$/, ''));
  return [...new Set(quoted)];
}

/** Splits a text at what is marked; every second part is a hit. */
function splitAt(content: string, marked: readonly string[]): string[] {
  const names = marked.filter((name) => name !== '').map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return names.length === 0 ? [content] : content.split(new RegExp(`(${names.join('|')})`, 'i'));
}

export function Completion(props: {
  readonly content: string;
  readonly marked?: readonly string[];
  readonly label?: string;
}) {
  const { content, marked = [], label = 'completion' } = props;
  const [isWhole, setWhole] = useState(false);
  const isCut = content.length > firstCharacters && !isWhole;
  const parts = splitAt(visible(isCut ? content.slice(0, firstCharacters) : content), marked);
  return (
    <>
      <pre tabIndex={0} role="region" aria-label={label}>
        {parts.map((part, i) => (i % 2 === 1 ? <mark key={`${i} ${part}`}>{part}</mark> : part))}
      </pre>
      {isCut && (
        <p>
          <button type="button" onClick={() => setWhole(true)}>
            show all {(content.length / 1e6).toFixed(1)} million characters
          </button>{' '}
          <button type="button" onClick={() => save(content, 'completion.txt')}>
            download
          </button>
        </p>
      )}
    </>
  );
}

export function save(content: string, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([content], { type: 'text/plain' }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

export function Difference({ first, second }: { readonly first: string; readonly second: string }) {
  const parts = diffWords(visible(first).slice(0, firstCharacters), visible(second).slice(0, firstCharacters));
  return (
    <pre tabIndex={0} role="region" aria-label="difference">
      {parts.map(({ text, where }, i) => {
        if (where === 'both') return text;
        return where === 'first' ? <del key={i}>{text}</del> : <ins key={i}>{text}</ins>;
      })}
    </pre>
  );
}
