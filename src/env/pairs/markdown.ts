/**
 * Pairs as Markdown. `## Section`, then one `### Heading` per pair with a `Tags:` line and fenced blocks, each after a line
 * with its label: `Prompt:` (plain text) or `System:` and `User:` (messages), `Hack:`, `Clean:`. Text before the first pair of a
 * section is for people. A block holds exactly the lines between its fences; a fence of more backticks may hold
 * shorter ones. A pair may hold nothing else: a misspelt label must not pass as a remark. Above the first section a line `Shows:` may
 * name the loopholes that the pairs show, or none.
 */
import { nearestName } from '../../base/index.ts';
import type { Message } from '../problem.ts';
import { checkContents, normaliseLineEnds, type Pair, type PairProblem, type ParsedPairs } from './pair.ts';

const labels = ['Prompt', 'System', 'User', 'Hack', 'Clean'] as const;
type Label = (typeof labels)[number];

type Piece =
  | { readonly kind: 'heading'; readonly line: number; readonly level: number; readonly text: string }
  | { readonly kind: 'block'; readonly line: number; readonly text: string; readonly closed: boolean }
  | { readonly kind: 'text'; readonly line: number; readonly text: string };

function* readPieces(text: string): Generator<Piece> {
  const lines = normaliseLineEnds(text).split('\n');
  for (let at = 0; at < lines.length; at++) {
    const line = at + 1;
    const mark = fenceOf(lines[at]);
    const heading = /^(#{1,6})[ \t]+(.*)$/s.exec(lines[at]);
    if (mark !== null) {
      const end = endOfBlock(lines, at + 1, mark);
      const closed = end >= 0;
      yield { kind: 'block', line, text: lines.slice(at + 1, closed ? end : undefined).join('\n'), closed };
      if (!closed) return;
      at = end;
    } else if (heading !== null) {
      yield { kind: 'heading', line, level: heading[1].length, text: heading[2].trim() };
    } else if (lines[at].trim() !== '') yield { kind: 'text', line, text: lines[at].trim() };
  }
}

/** How many of a sign a line begins with. No pattern counts them: its stack would not hold a line of millions. */
function lengthOfRun(line: string, sign: string): number {
  let length = 0;
  while (line[length] === sign) length++;
  return length;
}

/** The signs with which a line opens a block: three or more, and no backtick after backticks. */
function fenceOf(line: string): string | null {
  const length = lengthOfRun(line, line.startsWith('~') ? '~' : '`');
  const isOpen = length >= 3 && (line.startsWith('~') || !line.includes('`', length));
  return isOpen ? line.slice(0, length) : null;
}

/** The first line from here on that ends the block; -1: none. Lines before it are not looked at again, or a long file would take for ever. */
function endOfBlock(lines: readonly string[], from: number, mark: string): number {
  for (let at = from; at < lines.length; at++) {
    if (lines[at].startsWith(mark) && lines[at].slice(lengthOfRun(lines[at], mark[0])).trim() === '') return at;
  }
  return -1;
}

/** One pair while its lines are read. */
class PairDraft {
  readonly heading: string;
  readonly #line: number;
  readonly #section: string | null;
  readonly #problems: PairProblem[] = [];
  #tags: string[] | null = null;
  #label: Label | null = null;
  readonly #blocks = new Map<Label, string>();
  readonly #messages: Message[] = [];

  constructor(heading: string, line: number, section: string | null) {
    this.heading = heading;
    this.#line = line;
    this.#section = section;
  }

  complain(line: number, expected: string, found: string): void {
    this.#problems.push({ place: `line ${line}`, heading: this.heading, expected, found });
  }

  add(piece: Piece): void {
    if (piece.kind === 'heading') this.complain(piece.line, 'a pair without headings inside', `"${piece.text}"`);
    else if (piece.kind === 'block') this.#addBlock(piece.line, piece.text, piece.closed);
    else this.#addText(piece.line, piece.text);
  }

  #addText(line: number, text: string): void {
    if (this.#label !== null) this.complain(line, `a fenced block after "${this.#label}:"`, `"${text}"`);
    this.#label = labels.find((name) => text === `${name}:`) ?? null;
    if (this.#label !== null) return;
    const tags = /^Tags:(.*)$/s.exec(text)?.[1];
    if (tags === undefined) {
      const nearest = nearestName(text, ['Tags:', ...labels.map((name) => `${name}:`)]);
      const meant = nearest === undefined ? '' : `; did you mean ${nearest}`;
      this.complain(line, 'a Tags: line, a label or a fenced block', `"${text.slice(0, 60)}"${meant}`);
    } else if (this.#tags !== null) this.complain(line, 'one Tags: line', 'a second one');
    else this.#tags = tags.trim() === '' ? [] : tags.split(',').map((tag) => tag.trim());
  }

  #addBlock(line: number, text: string, closed: boolean): void {
    const label = this.#label;
    this.#label = null;
    if (!closed) this.complain(line, 'a fenced block with an end', 'none up to the end of the file');
    if (label === null) this.complain(line, 'a label (such as "Hack:") before a fenced block', 'none');
    else if (label === 'System' || label === 'User') {
      this.#messages.push({ role: label === 'System' ? 'system' : 'user', content: text });
    } else if (this.#blocks.has(label)) this.complain(line, `one ${label} block`, 'a second one');
    else this.#blocks.set(label, text);
  }

  finish(): { readonly pair: Pair; readonly problems: readonly PairProblem[] } {
    const missing = (what: string): void => this.complain(this.#line, what, 'none');
    if (this.#label !== null) this.complain(this.#line, `a fenced block after "${this.#label}:"`, 'none');
    if (this.#section === null) missing('a section (## …) above the pair');
    if (this.#tags === null) missing('a Tags: line');
    const prompt = this.#blocks.get('Prompt');
    if (prompt === undefined && this.#messages.length === 0) missing('a Prompt block, or System and User blocks');
    if (prompt !== undefined && this.#messages.length > 0) {
      this.complain(this.#line, 'a Prompt block or messages', 'both');
    }
    for (const label of ['Hack', 'Clean'] as const) if (!this.#blocks.has(label)) missing(`a ${label} block`);
    const pair: Pair = {
      section: this.#section ?? '',
      heading: this.heading,
      tags: this.#tags ?? [],
      prompt: prompt ?? this.#messages,
      hack: this.#blocks.get('Hack') ?? '',
      clean: this.#blocks.get('Clean') ?? '',
    };
    // A missing part has been reported already; the check would report it once more as empty.
    if (this.#problems.length === 0) {
      checkContents(pair, (expected, found) => this.complain(this.#line, expected, found));
    }
    return { pair, problems: this.#problems };
  }
}

/** Text outside pairs is allowed, but a lost heading or an open fence must not turn a pair into such text. */
function complainOutside(piece: Piece, problems: PairProblem[]): void {
  const complain = (expected: string, found: string): void => {
    problems.push({ place: `line ${piece.line}`, heading: null, expected, found });
  };
  if (piece.kind === 'block' && !piece.closed) complain('an end of the fenced block', 'none');
  if (piece.kind === 'text' && (/^Tags:/.test(piece.text) || labels.some((name) => piece.text === `${name}:`))) {
    complain(`"${piece.text}" below a heading (### …)`, 'none above it');
  }
}

export function parsePairsMarkdown(text: string, file: string): ParsedPairs {
  const drafts: PairDraft[] = [];
  const problems: PairProblem[] = [];
  const firstLines = new Map<string, number>();
  let section: string | null = null;
  let isOpen = false;
  let shows: readonly string[] | undefined;
  for (const piece of readPieces(text)) {
    if (piece.kind !== 'heading' || piece.level > 3) {
      const named = piece.kind === 'text' && section === null ? /^Shows:(.*)$/s.exec(piece.text)?.[1] : undefined;
      if (isOpen) drafts.at(-1)?.add(piece);
      else if (named !== undefined) shows = listNames(named);
      else complainOutside(piece, problems);
      continue;
    }
    isOpen = piece.level === 3;
    if (!isOpen) section = piece.level === 2 ? piece.text : null;
    else {
      const draft = new PairDraft(piece.text, piece.line, section);
      drafts.push(draft);
      const first = firstLines.get(piece.text);
      if (first === undefined) firstLines.set(piece.text, piece.line);
      else draft.complain(piece.line, 'a heading that no other pair has', `the heading of line ${first} again`);
    }
  }
  const finished = drafts.map((draft) => draft.finish());
  problems.push(...finished.flatMap((draft) => draft.problems));
  if (drafts.length === 0 && problems.length === 0) {
    problems.push({ place: 'line 1', heading: null, expected: 'at least one pair (### …)', found: 'none' });
  }
  const pairs = finished.flatMap((draft) => (draft.problems.length === 0 ? [draft.pair] : []));
  return { file, pairs, problems, ...(shows === undefined ? {} : { shows }) };
}

const listNames = (text: string): string[] =>
  text.trim() === 'none' ? [] : text.split(',').map((name) => name.trim());
