/**
 * Python literals and calls, parsed on the trusted side so that no Python is needed there: numbers, strings (not bytes),
 * containers, True False None, unary + and −, inf, float('inf'), set(), set(…) and frozenset(…) of a container, and calls
 * with positional and keyword arguments. Anything else is an error with its position: the meaning of an unreadable test is
 * never guessed.
 */
import {
  isHashable,
  PythonDict,
  PythonSet,
  PythonTuple,
  type PythonValue,
  type SurrogateText,
  textOfCodePoints,
} from './python-value.ts';

export interface CallExpression {
  readonly kind: 'call';
  readonly name: string;
  readonly positional: readonly Expression[];
  readonly keywords: readonly (readonly [string, Expression])[];
}
export interface LiteralExpression {
  readonly kind: 'literal';
  readonly value: PythonValue;
}
/** A list that contains calls, such as `[list_node([1]), list_node([2])]`. */
export interface ListExpression {
  readonly kind: 'list';
  readonly items: readonly Expression[];
}
export type Expression = CallExpression | LiteralExpression | ListExpression;

class PythonSyntaxError extends Error {}

const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '0': '\0',
  a: '\x07',
  b: '\b',
  f: '\f',
  v: '\v',
  '\n': '',
};
const numberPattern =
  /(?:0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?)/y;
const namePattern = /[A-Za-z_]\w*(?:\(\)(?=\.))?(?:\.[A-Za-z_]\w*)*/y;
const stringStart = /[uUrR]{0,1}('''|"""|'|")/y;
const constants: ReadonlyMap<string, PythonValue> = new Map<string, PythonValue>([
  ['True', true],
  ['False', false],
  ['None', null],
  ['inf', Number.POSITIVE_INFINITY],
  ['math.inf', Number.POSITIVE_INFINITY],
]);
const deepest = 200;
/** Python itself refuses more decimal digits than this, because reading them takes quadratic time. */
const mostDecimalDigits = 4300;
const mostNumberCharacters = 1_000_000;
const lastCodePoint = 0x10ffff;

export class ExpressionParser {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get rest(): string {
    return this.#text.slice(this.#at);
  }

  fail(expected: string): never {
    const found = this.#at < this.#text.length ? `"${this.#text.slice(this.#at, this.#at + 30)}"` : 'the end';
    throw new PythonSyntaxError(`expected ${expected} at ${this.#at}, found ${found}`);
  }

  skip(): void {
    while (/[\s\\]/.test(this.#text[this.#at] ?? '')) this.#at += 1;
  }

  /** Consumes `token` when it is next. */
  accept(token: string): boolean {
    this.skip();
    if (!this.#text.startsWith(token, this.#at)) return false;
    this.#at += token.length;
    return true;
  }

  expect(token: string): void {
    if (!this.accept(token)) this.fail(`"${token}"`);
  }

  atEnd(): boolean {
    this.skip();
    return this.#at === this.#text.length;
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    this.skip();
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found !== null) this.#at = pattern.lastIndex;
    return found;
  }

  #number(text: string): PythonValue {
    if (text.length > mostNumberCharacters) this.fail(`a number of at most ${mostNumberCharacters} characters`);
    if (/__|_$|_[.eE]|[.eE]_/.test(text.replace(/^0[xX]/, ''))) this.fail('single underscores between digits');
    const plain = text.replaceAll('_', '');
    if (/^0[xXoObB]/.test(plain)) return BigInt(plain);
    if (/^0\d*[1-9]/.test(plain) && !/[.eE]/.test(plain)) this.fail('a number without leading zeros');
    if (/[jJ\w.]/.test(this.#text[this.#at] ?? '')) this.fail('the end of a number');
    if (/[.eE]/.test(plain)) return Number(plain);
    if (plain.length > mostDecimalDigits) this.fail(`an int of at most ${mostDecimalDigits} digits`);
    return BigInt(plain);
  }

  /** Adds the code points of a string, up to its closing quote. */
  #string(quote: string, raw: boolean, points: number[]): void {
    while (!this.#text.startsWith(quote, this.#at)) {
      const point = this.#text.codePointAt(this.#at) ?? -1;
      if (point < 0 || (point === newline && quote.length === 1)) this.fail(`a closing ${quote}`);
      if (isSurrogate(point)) this.fail('text without raw surrogates, which Python source cannot hold');
      this.#at += point > 0xffff ? 2 : 1;
      if (point !== backslash) points.push(point);
      else if (raw) {
        // In a raw string a backslash keeps the quote after it from closing the string; both stay.
        points.push(point);
        if (['\\', '\n', quote[0]].includes(this.#text[this.#at])) {
          points.push(this.#text.charCodeAt(this.#at));
          this.#at += 1;
        }
      } else this.#escape(points);
    }
    this.#at += quote.length;
  }

  #escape(points: number[]): void {
    const code = this.#text[this.#at] ?? '';
    const length = code === 'x' ? 2 : code === 'u' ? 4 : code === 'U' ? 8 : 0;
    if (length > 0) {
      const digits = this.#text.slice(this.#at + 1, this.#at + 1 + length);
      if (digits.length < length || /[^\da-fA-F]/.test(digits)) this.fail(`${length} hexadecimal digits`);
      const point = Number.parseInt(digits, 16);
      if (point > lastCodePoint) this.fail('a code point up to 10FFFF');
      points.push(point);
      this.#at += 1 + length;
      return;
    }
    if (/[1-7N]/.test(code) || /^0[0-7]/.test(this.#text.slice(this.#at, this.#at + 2))) this.fail('a simple escape');
    const meaning = escapes[code];
    // A backslash that begins no escape stays, and so does what follows it.
    if (meaning === undefined) points.push(backslash);
    else {
      for (const character of meaning) points.push(character.charCodeAt(0));
      this.#at += 1;
    }
  }

  #strings(): string | SurrogateText | undefined {
    let points: number[] | undefined;
    for (let found = this.#match(stringStart); found !== null; found = this.#match(stringStart)) {
      points ??= [];
      this.#string(found[1], /^r/i.test(found[0]), points);
    }
    return points === undefined ? undefined : textOfCodePoints(points);
  }

  /** One expression: a literal, a container or a call. */
  expression(): Expression {
    this.#depth += 1;
    if (this.#depth > deepest) this.fail('less nesting');
    const value = this.#unary();
    this.#depth -= 1;
    return value;
  }

  #unary(): Expression {
    const minus = this.accept('-');
    if (!minus && !this.accept('+')) return this.#atom();
    const inner = this.expression();
    if (inner.kind !== 'literal') return this.fail('a number after a sign');
    const { value } = inner;
    if (typeof value === 'bigint') return literal(minus ? -value : value);
    if (typeof value === 'number') return literal(minus ? -value : value);
    return this.fail('a number after a sign');
  }

  #atom(): Expression {
    const text = this.#strings();
    if (text !== undefined) return literal(text);
    if (this.accept('[')) return this.#list(']', (items) => items);
    if (this.accept('(')) return this.#parenthesised();
    if (this.accept('{')) return this.#braces();
    const number = this.#match(numberPattern);
    if (number !== null) return literal(this.#number(number[0]));
    const name = this.#match(namePattern);
    if (name === null) return this.fail('a value');
    return this.#named(name[0]);
  }

  #named(name: string): Expression {
    const constant = constants.get(name);
    if (constant !== undefined) return literal(constant);
    if (!this.accept('(')) return this.fail(`a call of ${name}`);
    const call = this.#arguments(name);
    if (name === 'set' || name === 'frozenset') return literal(this.#set(call));
    return name === 'float' ? this.#float(call) : call;
  }

  /** `set()`, or the set or frozenset of the items of a list, tuple or set. */
  #set({ name, positional, keywords }: CallExpression): PythonSet {
    const [only] = positional;
    const value = only === undefined ? [] : only.kind === 'literal' ? only.value : undefined;
    const items = value instanceof PythonTuple || value instanceof PythonSet ? value.items : value;
    if (!Array.isArray(items) || positional.length > 1 || keywords.length > 0) {
      return this.fail(`a list, tuple or set as the only argument of ${name}`);
    }
    return new PythonSet(this.#hashable(items), name === 'frozenset');
  }

  #hashable<Item extends PythonValue>(items: readonly Item[]): readonly Item[] {
    if (!items.every(isHashable)) this.fail('items and keys that can be hashed');
    return items;
  }

  #float({ positional }: CallExpression): Expression {
    const [only] = positional;
    const text = only?.kind === 'literal' ? only.value : undefined;
    const infinity = typeof text === 'string' ? /^([+-]?)inf(?:inity)?$/i.exec(text.trim()) : null;
    if (infinity === null) return this.fail("float('inf') as the only use of float");
    return literal(infinity[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY);
  }

  #arguments(name: string): CallExpression {
    const positional: Expression[] = [];
    const keywords: [string, Expression][] = [];
    while (!this.accept(')')) {
      const keyword = this.#match(/([A-Za-z_]\w*)\s*=(?!=)/y);
      if (keyword !== null) keywords.push([keyword[1], this.expression()]);
      else if (keywords.length > 0) this.fail('a keyword argument');
      else positional.push(this.expression());
      if (!this.accept(',')) {
        this.expect(')');
        break;
      }
    }
    return { kind: 'call', name, positional, keywords };
  }

  #items(close: string): { items: Expression[]; commas: number } {
    const items: Expression[] = [];
    let commas = 0;
    while (!this.accept(close)) {
      items.push(this.expression());
      if (!this.accept(',')) {
        this.expect(close);
        break;
      }
      commas += 1;
    }
    return { items, commas };
  }

  #values(items: readonly Expression[]): PythonValue[] {
    return items.map((item) => (item.kind === 'literal' ? item.value : this.fail('plain values only')));
  }

  #list(close: string, make: (items: PythonValue[]) => PythonValue): Expression {
    const { items } = this.#items(close);
    if (items.some(({ kind }) => kind !== 'literal')) return { kind: 'list', items };
    return literal(make(this.#values(items)));
  }

  #parenthesised(): Expression {
    const { items, commas } = this.#items(')');
    if (items.length === 1 && commas === 0) return items[0];
    return literal(new PythonTuple(this.#values(items)));
  }

  #braces(): Expression {
    const entries: [PythonValue, PythonValue][] = [];
    const items: PythonValue[] = [];
    while (!this.accept('}')) {
      const [first] = this.#values([this.expression()]);
      if (this.accept(':')) entries.push([first, ...this.#values([this.expression()])] as [PythonValue, PythonValue]);
      else items.push(first);
      if (!this.accept(',')) {
        this.expect('}');
        break;
      }
    }
    if (items.length > 0 && entries.length > 0) this.fail('a dict or a set, not both');
    this.#hashable(entries.map(([key]) => key));
    return literal(items.length > 0 ? new PythonSet(this.#hashable(items)) : new PythonDict(entries));
  }
}

const newline = 10;
const backslash = 92;

function isSurrogate(point: number): boolean {
  return point >= 0xd800 && point <= 0xdfff;
}

function literal(value: PythonValue): LiteralExpression {
  return { kind: 'literal', value };
}
