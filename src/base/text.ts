/**
 * Text for a terminal. A terminal obeys control characters and reorders text at bidirectional marks, and what is printed may come
 * from a model, a file name or a plugin: `visible` writes such characters as escapes. Widths are counted in columns.
 */

/** Control, format, line and paragraph separator characters, and halves of pairs that stand alone. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/**
 * Writes characters that a terminal would obey, or not show, as `\x1b` or `\u202e`; line ends and tabs stay. JSON keeps its
 * meaning: it holds no raw control character below 0x20, and `\u202e` in a JSON text is the character itself.
 */
export function visible(text: string): string {
  return text.replace(unseen, (found) => (found === '\n' || found === '\t' ? found : escapeText(found)));
}

/** The same for text that must stay on one line. */
export function visibleLine(text: string): string {
  return text.replace(unseen, escapeText);
}

/** `1 run`, `2 runs`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

function escapeText(found: string): string {
  return Array.from({ length: found.length }, (_, i) => {
    const code = found.charCodeAt(i);
    return code < 0x20 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
  }).join('');
}

/** Characters that take two columns: East Asian wide and full-width ones, and emoji. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]/u;
const plainText = /^[\u0020-\u007e]*$/;

function characterWidth(character: string): number {
  if (/\p{M}/u.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}

/** The columns that a text without control characters takes. */
export function textWidth(text: string): number {
  if (plainText.test(text)) return text.length;
  return [...text].reduce((sum, character) => sum + characterWidth(character), 0);
}

/** The text if it fits into `width` columns, else its beginning and an ellipsis. */
export function cutText(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  if (width < 1) return '';
  let [kept, used] = ['', 0];
  for (const character of text) {
    used += characterWidth(character);
    if (used > width - 1) break;
    kept += character;
  }
  return `${kept}…`;
}

/** Pads a text with spaces on the right to `width` columns. */
export function padText(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - textWidth(text)));
}

/** Breaks every line at spaces so that none is wider than `width`; a word that is too wide for a line is broken too. */
export function wrapText(text: string, width: number): string {
  return text
    .split('\n')
    .map((line) => (textWidth(line) <= width ? line : wrapLine(line, Math.max(1, width))))
    .join('\n');
}

function wrapLine(line: string, width: number): string {
  const lines: string[] = [];
  let current = '';
  for (const word of line.split(' ').flatMap((each) => breakWord(each, width))) {
    const longer = current === '' ? word : `${current} ${word}`;
    if (textWidth(longer) <= width) current = longer;
    else {
      lines.push(current);
      current = word;
    }
  }
  return [...lines, current].join('\n');
}

function breakWord(word: string, width: number): string[] {
  if (textWidth(word) <= width) return [word];
  const parts = [''];
  for (const character of word) {
    const last = parts.length - 1;
    if (textWidth(parts[last]) + characterWidth(character) > width) parts.push(character);
    else parts[last] += character;
  }
  return parts;
}

/** The length of the longest run of backticks: a fence around the text has more. */
export function longestBackticks(text: string): number {
  let longest = 0;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return longest;
}
