/**
 * The grammar of straight-line programs: classes of functions, functions, and lines that assign, change, return, pass or evaluate
 * sums, products and calls. Every text is a program, no Python at all, or outside of the grammar, and never the wrong one of these.
 */
import { joints, NotPython, Outside, readTokens, type Token, type TokenKind } from './tokens.ts';

export type Operator = '+' | '-' | '*' | '//' | '%';

export type ProgramExpression =
  | { readonly kind: 'value'; readonly value: null | boolean | bigint | number | string }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'attribute'; readonly of: ProgramExpression; readonly name: string }
  | { readonly kind: 'call'; readonly called: ProgramExpression; readonly given: readonly ProgramExpression[] }
  | {
      readonly kind: 'binary';
      readonly operator: Operator;
      readonly left: ProgramExpression;
      readonly right: ProgramExpression;
    };

export interface FunctionStatement {
  readonly kind: 'function';
  readonly name: string;
  readonly parameters: readonly string[];
  readonly body: readonly Statement[];
}

export type Statement =
  | { readonly kind: 'pass' }
  | { readonly kind: 'return'; readonly value: ProgramExpression | null }
  | { readonly kind: 'expression'; readonly value: ProgramExpression }
  | { readonly kind: 'assign'; readonly target: string; readonly value: ProgramExpression }
  | { readonly kind: 'change'; readonly target: string; readonly operator: Operator; readonly value: ProgramExpression }
  | FunctionStatement
  | { readonly kind: 'class'; readonly name: string; readonly body: readonly Statement[] };

type Place = 'module' | 'class' | 'function';

/** Words and marks that may begin an expression which this grammar does not know. */
const beginnings = new Set(['lambda', 'not', 'await', 'yield', '(', '+', '-', '*']);
/** Words of Python's that begin a statement which this grammar does not know. */
const statements = new Set(
  'assert async await break continue del for from global if import nonlocal raise try while with lambda not yield'.split(
    ' ',
  ),
);
/** Names that begin a statement in newer versions of Python. */
const softWords = new Set(['match', 'case', 'type']);
/** Operators, attributes and calls of a line. Python refuses lines of many hundreds, how many depends on its version. */
const mostSteps = 100;
const constants: Readonly<Record<string, null | boolean>> = { None: null, True: true, False: false };

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #isInClass = false;
  #steps = 0;

  constructor(source: string) {
    this.#tokens = readTokens(source);
  }

  program(): readonly Statement[] {
    const body: Statement[] = [];
    while (!this.#is('end')) body.push(this.#statement('module'));
    return body;
  }

  get #next(): Token {
    return this.#tokens[this.#at];
  }

  #is(kind: TokenKind, text = ''): boolean {
    return this.#next.kind === kind && (text === '' || this.#next.text === text);
  }

  #take(): Token {
    this.#at += 1;
    return this.#tokens[this.#at - 1];
  }

  #takeIf(kind: TokenKind, text = ''): boolean {
    const taken = this.#is(kind, text);
    if (taken) this.#at += 1;
    return taken;
  }

  #expect(kind: TokenKind, text = ''): string {
    if (!this.#is(kind, text)) throw new NotPython(`${this.#next.text} where ${text === '' ? kind : text} must be`);
    const { text: taken } = this.#take();
    // Python gives such a name the name of its class.
    const isPrivate = kind === 'name' && this.#isInClass && taken.startsWith('__') && taken !== '__eq__';
    if (isPrivate) throw new Outside(taken);
    return taken;
  }

  #statement(place: Place): Statement {
    const { kind, text } = this.#next;
    this.#steps = 0;
    if (kind === 'keyword') {
      if (text === 'class') return this.#class(place);
      if (text === 'def') return this.#function();
      if (statements.has(text)) throw new Outside(text);
      if (text === 'pass' || text === 'return') return this.#simple(place);
    }
    if (softWords.has(text)) throw new Outside(text);
    return this.#expressionLine();
  }

  #simple(place: Place): Statement {
    const { text } = this.#take();
    if (text === 'return' && place !== 'function') throw new NotPython('a return outside of a function');
    const value = text === 'return' && !this.#is('newline') ? this.#sum() : null;
    this.#endOfLine();
    return text === 'pass' ? { kind: 'pass' } : { kind: 'return', value };
  }

  #endOfLine(): void {
    if (this.#is('mark', ',')) throw new Outside('several values');
    this.#refuseJoint();
    // An annotation has a value after its colon, as a line of another kind may have.
    if (this.#takeIf('mark', ':')) {
      if (this.#is('newline')) throw new NotPython('a colon at the end of a line');
      throw new Outside('a colon within a line');
    }
    this.#expect('newline');
  }

  #refuseJoint(): void {
    if (this.#next.kind === 'keyword' && joints.has(this.#next.text)) throw new Outside(this.#next.text);
  }

  #block(place: Place): readonly Statement[] {
    this.#expect('mark', ':');
    if (!this.#is('newline')) throw new Outside('a block in one line');
    this.#take();
    this.#expect('indent');
    const body: Statement[] = [];
    while (!this.#takeIf('dedent')) body.push(this.#statement(place));
    return body;
  }

  #class(place: Place): Statement {
    this.#take();
    const name = this.#expect('name');
    if (this.#is('mark', '(')) throw new Outside('a class with bases');
    this.#isInClass = true;
    const body = this.#block('class');
    this.#isInClass = false;
    if (place !== 'module') throw new Outside('a class within another block');
    return { kind: 'class', name, body };
  }

  #function(): Statement {
    this.#take();
    const name = this.#expect('name');
    this.#expect('mark', '(');
    const parameters = this.#parameters();
    const body = this.#block('function');
    return { kind: 'function', name, parameters, body };
  }

  #parameters(): readonly string[] {
    const names: string[] = [];
    while (!this.#takeIf('mark', ')')) {
      if (names.length > 0) this.#expect('mark', ',');
      if (this.#is('mark', '*') || (names.length > 0 && this.#is('mark', ')'))) throw new Outside('other parameters');
      names.push(this.#expect('name'));
      if (this.#is('mark', '=') || this.#is('mark', ':')) throw new Outside('other parameters');
    }
    if (new Set(names).size < names.length) throw new NotPython('a parameter twice');
    return names;
  }

  #expressionLine(): Statement {
    const value = this.#sum();
    const { kind, text } = this.#next;
    const operator = /^(\+|-|\*|\/\/|%)=$/.exec(text)?.[1] as Operator | undefined;
    if (kind !== 'mark' || (text !== '=' && operator === undefined)) {
      this.#endOfLine();
      return { kind: 'expression', value };
    }
    this.#take();
    if (value.kind === 'attribute') throw new Outside('an attribute that is given a value');
    if (value.kind !== 'name') throw new NotPython('a value for what has no name');
    const line = { target: value.name, value: this.#sum() };
    if (operator === undefined && this.#is('mark', '=')) throw new Outside('several targets');
    this.#endOfLine();
    return operator === undefined ? { kind: 'assign', ...line } : { kind: 'change', operator, ...line };
  }

  #sum(): ProgramExpression {
    return this.#binary(['+', '-'], () => this.#binary(['*', '//', '%'], () => this.#postfix()));
  }

  #binary(operators: readonly Operator[], operand: () => ProgramExpression): ProgramExpression {
    let left = operand();
    for (;;) {
      const operator = operators.find((each) => this.#takeIf('mark', each));
      if (operator === undefined) return left;
      this.#countStep();
      left = { kind: 'binary', operator, left, right: operand() };
    }
  }

  #postfix(): ProgramExpression {
    let value = this.#atom();
    for (;;) {
      if (this.#takeIf('mark', '.')) value = { kind: 'attribute', of: value, name: this.#expect('name') };
      else if (this.#takeIf('mark', '(')) value = { kind: 'call', called: value, given: this.#given() };
      else return value;
      this.#countStep();
    }
  }

  #countStep(): void {
    this.#steps += 1;
    if (this.#steps > mostSteps) throw new Outside('a long line');
  }

  #given(): readonly ProgramExpression[] {
    const given: ProgramExpression[] = [];
    while (!this.#takeIf('mark', ')')) {
      if (given.length > 0) this.#expect('mark', ',');
      if (given.length > 0 && this.#is('mark', ')')) throw new Outside('a comma at the end');
      given.push(this.#sum());
      if (this.#is('mark', '=')) throw new Outside('an argument by name');
      this.#refuseJoint();
    }
    return given;
  }

  #atom(): ProgramExpression {
    const { kind, text } = this.#next;
    if (this.#isHeadWithoutName()) throw new NotPython('a colon at the end of a line');
    if (beginnings.has(text) && kind !== 'text') throw new Outside(text);
    if (kind === 'text') return { kind: 'value', value: this.#texts() };
    if (kind === 'number') return { kind: 'value', value: this.#number() };
    if (kind === 'keyword' && text in constants) return { kind: 'value', value: constants[this.#take().text] };
    return { kind: 'name', name: this.#expect('name') };
  }

  /** Whether `():` ends this line. */
  #isHeadWithoutName(): boolean {
    const kinds = this.#tokens.slice(this.#at, this.#at + 4).map(({ kind, text }) => (kind === 'mark' ? text : kind));
    return kinds.join(' ') === '( ) : newline';
  }

  /** Texts that follow each other are one. */
  #texts(): string {
    let text = '';
    while (this.#is('text')) text += this.#take().text;
    return text;
  }

  #number(): bigint | number {
    const { text } = this.#take();
    return text.includes('.') ? Number(text) : BigInt(text);
  }
}

/** The statements of a program, `'not Python'` where no Python compiles it, or null where this grammar does not know. */
export function parseProgram(source: string): readonly Statement[] | 'not Python' | null {
  try {
    return new Parser(source).program();
  } catch (error) {
    if (error instanceof NotPython) return 'not Python';
    if (error instanceof Outside) return null;
    throw error;
  }
}
