/**
 * The tokens of a straight-line program, as Python's own tokenizer finds them: names, whole numbers and decimals, texts in double
 * quotes, a few marks, and lines with their indentation. A text is judged three ways: tokens, `NotPython` (no Python compiles it), or
 * `Outside` (this grammar does not know, and somebody else must judge it).
 */

/** No version of Python compiles the program. */
export class NotPython extends Error {}
/** The program may be fine, but it is more than this grammar knows. */
export class Outside extends Error {}

export type TokenKind = 'name' | 'keyword' | 'number' | 'text' | 'mark' | 'newline' | 'indent' | 'dedent' | 'end';

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

const largestSource = 4_096;
const mostOpenBrackets = 50;
const alphabet = /^[A-Za-z0-9_ \n+\-*/%=():,."`]*$/;
const marks = /^(?:\/\/=|\*\*=|\/\/|\*\*|\+=|-=|\*=|\/=|%=|==|:=|->|\.\.\.|[+\-*/%=():,.])/;
const knownMarks = new Set(['+', '-', '*', '//', '%', '=', '+=', '-=', '*=', '//=', '%=', '(', ')', ':', ',', '.']);
const decimal = /^(?:(?:[0-9](?:_?[0-9])*)?\.[0-9](?:_?[0-9])*|[0-9](?:_?[0-9])*\.?)/;
const textPrefix = /^(?:[rubft]|br|rb|fr|rf|tr|rt)$/i;

const keywords = new Set(
  `False None True and as assert async await break class continue def del elif else except finally for from global if import in is
   lambda nonlocal not or pass raise return try while with yield`.split(/\s+/),
);

/** Words of Python's that may go on with an expression or a statement that is complete. */
export const joints: ReadonlySet<string> = new Set(['and', 'or', 'not', 'in', 'is', 'if', 'else', 'for', 'async']);

class Tokenizer {
  readonly #source: string;
  readonly #tokens: Token[] = [];
  readonly #indents = [0];
  #brackets = 0;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  read(): readonly Token[] {
    for (const line of this.#source.split('\n')) this.#line(line);
    if (this.#brackets > 0) throw new NotPython('a bracket that is never closed');
    while (this.#indents.length > 1) this.#dedent();
    this.#add('end', '');
    return this.#tokens;
  }

  #add(kind: TokenKind, text: string): void {
    this.#tokens.push({ kind, text });
  }

  #dedent(): void {
    this.#indents.pop();
    this.#add('dedent', '');
  }

  #line(line: string): void {
    const content = line.trimStart();
    if (content === '') return;
    if (this.#brackets === 0) this.#indent(line.length - content.length);
    for (this.#at = line.length - content.length; this.#at < line.length; ) this.#token(line.slice(this.#at));
    if (this.#brackets === 0) this.#add('newline', '');
  }

  #indent(spaces: number): void {
    const deepest = this.#indents[this.#indents.length - 1];
    if (spaces > deepest) {
      this.#indents.push(spaces);
      this.#add('indent', '');
    }
    while (spaces < this.#indents[this.#indents.length - 1]) this.#dedent();
    if (spaces !== this.#indents[this.#indents.length - 1]) throw new NotPython('an indentation that was never begun');
  }

  #token(rest: string): void {
    const [spaces] = /^ */.exec(rest) ?? [''];
    const [name] = /^[A-Za-z_][A-Za-z0-9_]*/.exec(rest) ?? [''];
    if (rest.startsWith('`')) throw new NotPython('a mark that Python does not have');
    if (spaces !== '') this.#skip(spaces);
    else if (rest.startsWith('"')) this.#text(rest);
    else if (/^\.?[0-9]/.test(rest)) this.#number(rest);
    else if (name !== '') this.#name(name, rest[name.length]);
    else this.#mark(rest);
  }

  #skip(text: string): void {
    this.#at += text.length;
  }

  #text(rest: string): void {
    if (rest.startsWith('"""')) throw new Outside('a text of several lines');
    const end = rest.indexOf('"', 1);
    if (end < 0) throw new NotPython('a text that is never closed');
    this.#add('text', rest.slice(1, end));
    this.#skip(rest.slice(0, end + 1));
  }

  #number(rest: string): void {
    const [number] = decimal.exec(rest) ?? [''];
    const [tail] = /^[A-Za-z0-9_]*/.exec(rest.slice(number.length)) ?? [''];
    if (tail !== '') {
      // An exponent, an imaginary number, another base, or a word of Python's that may follow a number at once.
      const isNumber = /^(?:e|e[0-9].*|j.*)$/i.test(tail) || (number === '0' && /^[xob]/i.test(tail));
      if (isNumber || joints.has(tail)) throw new Outside(tail);
      throw new NotPython('a number that goes on as a word');
    }
    if (!number.includes('.') && /^0[0_]*[1-9]/.test(number)) throw new NotPython('a number that begins with 0');
    this.#add('number', number.replaceAll('_', ''));
    this.#skip(number);
  }

  #name(name: string, next: string | undefined): void {
    if (/^__.*__$/.test(name) && name !== '__eq__') throw new Outside(name);
    if (next === '"' && textPrefix.test(name)) throw new Outside('a text of another kind');
    this.#add(keywords.has(name) ? 'keyword' : 'name', name);
    this.#skip(name);
  }

  #mark(rest: string): void {
    const [mark] = marks.exec(rest) ?? [''];
    if (!knownMarks.has(mark)) throw new Outside(mark);
    if (mark === '(') this.#brackets += 1;
    if (mark === ')') this.#brackets -= 1;
    if (this.#brackets < 0) throw new NotPython('a bracket that was never opened');
    if (this.#brackets > mostOpenBrackets) throw new Outside('many brackets');
    this.#add('mark', mark);
    this.#skip(mark);
  }
}

export function readTokens(source: string): readonly Token[] {
  if (source.length > largestSource || !alphabet.test(source)) throw new Outside('other characters');
  return new Tokenizer(source).read();
}
