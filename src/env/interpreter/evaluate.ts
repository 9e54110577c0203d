/**
 * Evaluates straight-line programs as Python does: whole numbers of any size, decimals, texts, the objects that such programs can
 * make, and the few builtins that they call. There is no loop and no call of a program's own functions, so every program ends; a value
 * that grows too large, and whatever else could differ from Python, is `Outside`.
 */
import type { FunctionStatement, Operator, ProgramExpression, Statement } from './syntax.ts';
import { Outside } from './tokens.ts';

/** An exception of Python's, by the name of its class. */
export class Raised extends Error {
  readonly type: string;
  constructor(type: string) {
    super(type);
    this.type = type;
  }
}

/** The program asked for its own end. */
export class Exited extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`exit ${status}`);
    this.status = status;
  }
}

export class ClassValue {
  readonly members: Map<string, Value>;
  constructor(members: Map<string, Value>) {
    this.members = members;
  }
}

class InstanceValue {
  readonly type: ClassValue;
  constructor(type: ClassValue) {
    this.type = type;
  }
}

export class FunctionValue {
  readonly statement: FunctionStatement;
  readonly locals: ReadonlySet<string>;
  constructor(statement: FunctionStatement) {
    this.statement = statement;
    const assigned = statement.body.flatMap((line) => {
      return 'target' in line ? [line.target] : line.kind === 'function' ? [line.name] : [];
    });
    this.locals = new Set([...statement.parameters, ...assigned]);
  }
}

class BuiltinValue {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** A file as `open` returns it, or its method `write`. It may only be written to at once: when a kept one is flushed is another question. */
class FileValue {
  readonly name: string;
  readonly isMethod: boolean;
  constructor(name: string, isMethod = false) {
    this.name = name;
    this.isMethod = isMethod;
  }
}

/** A value that Python knows and nobody here does: whoever reads it is outside. */
export const unknownValue = Symbol('unknown');

export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | ClassValue
  | InstanceValue
  | FunctionValue
  | BuiltinValue
  | FileValue
  | typeof unknownValue;

export type PlainValue = null | boolean | bigint | number | string;

export function isPlain(value: Value): value is PlainValue {
  return value === null || (typeof value !== 'object' && typeof value !== 'symbol');
}

const builtins = new Map(['print', 'open', 'exit', 'all'].map((name) => [name, new BuiltinValue(name)]));
/** What other names Python gives a meaning by itself, in any of its versions. */
const otherBuiltins = new RegExp(
  `^(?:abs|aiter|anext|any|ascii|bin|bool|breakpoint|bytearray|bytes|callable|chr|classmethod|compile|complex|copyright|credits|delattr|dict|dir|divmod|enumerate|eval|exec|filter|float|format|frozenset|getattr|globals|hasattr|hash|help|hex|id|input|int|isinstance|issubclass|iter|len|license|list|locals|map|max|memoryview|min|next|object|oct|ord|pow|property|quit|range|repr|reversed|round|set|setattr|slice|sorted|staticmethod|str|sum|super|tuple|type|vars|zip|Ellipsis|NotImplemented|_|${'(?:[A-Z][A-Za-z]*)?(?:Error|Warning|Exception|Exit|Interrupt|Iteration|ExceptionGroup)'})$`,
);
/** Attributes that no plain value and no function has. */
const absentAttributes = new Set(['write', 'txt']);
const largestWhole = 1n << 20_000n;
const mostOutput = 60_000;
const longestFileName = 200;
/** Python refuses to print a number of more digits, in its newer versions. */
const mostDigits = 4_300;

type Names = Map<string, Value>;

/** One process: what it has printed and written, and its global names. */
export class Process {
  readonly globals: Names = new Map();
  readonly files = new Map<string, string>();
  stdout = '';

  /** Executes a statement outside of functions. */
  execute(statement: Statement, names: Names = this.globals): void {
    switch (statement.kind) {
      case 'class': {
        const members: Names = new Map();
        for (const line of statement.body) this.execute(line, members);
        names.set(statement.name, new ClassValue(members));
        return;
      }
      default:
        this.#line(statement, { names, locals: null });
    }
  }

  /** Calls a function of the program. */
  call({ statement, locals }: FunctionValue, given: readonly Value[]): Value {
    const { parameters, body } = statement;
    if (parameters.length !== given.length) throw new Raised('TypeError');
    const names: Names = new Map(parameters.map((name, index) => [name, given[index]]));
    for (const line of body) {
      if (line.kind === 'return') return line.value === null ? null : this.#kept(line.value, { names, locals });
      this.#line(line, { names, locals });
    }
    return null;
  }

  instance(type: ClassValue): InstanceValue {
    return new InstanceValue(type);
  }

  /** Whether `value == anything` by a method of the program's own. */
  equalsAnything(value: Value): boolean {
    const method = value instanceof InstanceValue ? value.type.members.get('__eq__') : undefined;
    if (method === undefined) return false;
    if (!(method instanceof FunctionValue)) throw new Outside('an equality that is no function');
    const answer = this.call(method, [value, unknownValue]);
    return isPlain(answer) ? Boolean(answer) : true;
  }

  #line(statement: Statement, scope: Scope): void {
    switch (statement.kind) {
      case 'pass':
        return;
      case 'function':
        // Nobody here calls one that is made within another: it only has its name there.
        scope.names.set(statement.name, new FunctionValue(statement));
        return;
      case 'expression':
        this.#value(statement.value, scope);
        return;
      case 'assign':
        scope.names.set(statement.target, this.#kept(statement.value, scope));
        return;
      case 'change': {
        const before = this.#load(statement.target, scope);
        const by = this.#kept(statement.value, scope);
        scope.names.set(statement.target, combine(statement.operator, before, by));
        return;
      }
      default:
        throw new Outside(statement.kind);
    }
  }

  /** A value that outlives its line. */
  #kept(expression: ProgramExpression, scope: Scope): Value {
    const value = this.#value(expression, scope);
    if (value instanceof FileValue) throw new Outside('a file that is kept open');
    return value;
  }

  #value(expression: ProgramExpression, scope: Scope): Value {
    switch (expression.kind) {
      case 'value':
        return expression.value;
      case 'name':
        return this.#load(expression.name, scope);
      case 'binary': {
        const left = this.#kept(expression.left, scope);
        return combine(expression.operator, left, this.#kept(expression.right, scope));
      }
      case 'attribute':
        return attributeOf(this.#value(expression.of, scope), expression.name);
      case 'call': {
        const called = this.#value(expression.called, scope);
        return this.#callValue(
          called,
          expression.given.map((each) => this.#kept(each, scope)),
        );
      }
    }
  }

  #load(name: string, { names, locals }: Scope): Value {
    const value = names.get(name);
    if (value === undefined && locals?.has(name)) throw new Raised('UnboundLocalError');
    const known = value ?? (value === null ? null : this.globals.get(name));
    if (known === unknownValue) throw new Outside(name);
    if (known !== undefined) return known;
    const builtin = builtins.get(name);
    if (builtin !== undefined) return builtin;
    if (otherBuiltins.test(name)) throw new Outside(name);
    throw new Raised('NameError');
  }

  #callValue(called: Value, given: readonly Value[]): Value {
    if (called instanceof ClassValue) {
      if (given.length > 0) throw new Raised('TypeError');
      return new InstanceValue(called);
    }
    if (called instanceof FileValue && called.isMethod) return this.#write(called.name, given);
    if (called instanceof BuiltinValue && called.name !== 'all') return this.#callBuiltin(called.name, given);
    if (isPlain(called) || called instanceof InstanceValue) throw new Raised('TypeError');
    throw new Outside('a call of a function');
  }

  #callBuiltin(name: string, given: readonly Value[]): Value {
    if (name === 'print') return this.#print(given);
    if (name === 'open') return this.#open(given);
    if (given.length > 1) throw new Raised('TypeError');
    const [code = null] = given;
    if (code !== null && typeof code !== 'bigint') throw new Outside('another status');
    throw new Exited(code === null ? 0 : Number(BigInt.asUintN(8, code)));
  }

  #print(given: readonly Value[]): null {
    const words = given.map((value) => {
      if (typeof value === 'string') return value;
      if (typeof value === 'bigint') return digitsOf(value);
      if (value === null) return 'None';
      if (typeof value === 'boolean') return value ? 'True' : 'False';
      throw new Outside('a value that is printed in a form of its own');
    });
    this.stdout += `${words.join(' ')}\n`;
    if (this.stdout.length > mostOutput) throw new Outside('much output');
    return null;
  }

  #open([name, mode = 'r', ...rest]: readonly Value[]): FileValue {
    if (typeof name !== 'string' || typeof mode !== 'string' || rest.length > 0)
      throw new Outside('open by other means');
    if (!['r', 'w'].includes(mode) || name.includes('/') || name.length > longestFileName) throw new Outside(mode);
    if (name === '.' || name === '..') throw new Raised('IsADirectoryError');
    if (name === '' || (mode === 'r' && !this.files.has(name))) throw new Raised('FileNotFoundError');
    if (mode === 'r') throw new Outside('a file that is read');
    this.files.set(name, '');
    return new FileValue(name);
  }

  #write(name: string, given: readonly Value[]): bigint {
    const [text] = given;
    if (given.length !== 1 || typeof text !== 'string') throw new Raised('TypeError');
    this.files.set(name, `${this.files.get(name) ?? ''}${text}`);
    return BigInt(text.length);
  }
}

interface Scope {
  readonly names: Names;
  /** The names of a function's own, with a value or not; null outside of functions. */
  readonly locals: ReadonlySet<string> | null;
}

function attributeOf(value: Value, name: string): Value {
  if (value instanceof FileValue && !value.isMethod && name === 'write') return new FileValue(value.name, true);
  if (value instanceof FileValue || !absentAttributes.has(name)) throw new Outside(name);
  const type = value instanceof InstanceValue ? value.type : value;
  if (type instanceof ClassValue && type.members.has(name)) throw new Outside(name);
  throw new Raised('AttributeError');
}

function combine(operator: Operator, left: Value, right: Value): Value {
  const [a, b] = [numberOf(left), numberOf(right)];
  if (a === null || b === null) {
    const hasText = typeof left === 'string' || (operator === '*' && typeof right === 'string');
    const isTextTask = operator === '+' ? typeof left === 'string' && typeof right === 'string' : hasText;
    if (isTextTask) throw new Outside('arithmetic of texts');
    throw new Raised('TypeError');
  }
  if (typeof a === 'bigint' && typeof b === 'bigint') return combineWholes(operator, a, b);
  return combineDecimals(operator, decimalOf(a), decimalOf(b));
}

function digitsOf(value: bigint): string {
  const digits = value.toString();
  if (digits.length > mostDigits) throw new Outside('a number of many digits');
  return digits;
}

function numberOf(value: Value): bigint | number | null {
  if (typeof value === 'boolean') return BigInt(value);
  return typeof value === 'bigint' || typeof value === 'number' ? value : null;
}

function combineWholes(operator: Operator, a: bigint, b: bigint): bigint {
  if (operator === '%' || operator === '//') {
    if (b === 0n) throw new Raised('ZeroDivisionError');
    // Python rounds down, and a remainder has the sign of the divisor.
    const remainder = ((a % b) + b) % b;
    return operator === '%' ? remainder : (a - remainder) / b;
  }
  const value = operator === '+' ? a + b : operator === '-' ? a - b : a * b;
  if (value > largestWhole || value < -largestWhole) throw new Outside('a large number');
  return value;
}

function decimalOf(value: bigint | number): number {
  const decimal = Number(value);
  if (!Number.isFinite(decimal)) throw new Outside('a large number');
  return decimal;
}

function combineDecimals(operator: Operator, a: number, b: number): number {
  if (operator === '//') throw new Outside('a division of decimals');
  if (operator !== '%') return decimalOf(operator === '+' ? a + b : operator === '-' ? a - b : a * b);
  if (b === 0) throw new Raised('ZeroDivisionError');
  const remainder = a % b;
  return remainder !== 0 && remainder < 0 !== b < 0 ? remainder + b : remainder;
}
