/** Parsers of numbers in options. */
import { InvalidArgumentError } from 'commander';
import { UserError } from '../base/index.ts';

/** A count of at least one, as the value of an option; the parser of the command line names the option in its message. */
export function parseCount(text: string, _earlier?: unknown, most = Number.MAX_SAFE_INTEGER): number {
  return wholeFrom(text, 1, most);
}

export function parseSeed(text: string): number {
  return wholeFrom(text, 0, Number.MAX_SAFE_INTEGER);
}

/** A port of this machine; 0: any that is free. */
export function parsePort(text: string): number {
  return wholeFrom(text, 0, 65_535);
}

function wholeFrom(text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isSafeInteger(value) && value >= least && value <= most) return value;
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new InvalidArgumentError(`Expected a whole number ${range}.`);
}

export function parseWholeNumber(text: string, option: string, least = 0): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isSafeInteger(value) && value >= least) return value;
  throw new UserError({ call: option, expected: `a whole number of at least ${least}`, found: text });
}

/** Parses a list of shares such as `0,0.25,0.5`. */
export function shares(text: string, option: string): number[] {
  if (text.trim() === '') return [];
  return text.split(',').map((part) => {
    const value = Number(part);
    if (part.trim() !== '' && value >= 0 && value <= 1) return value;
    throw new UserError({ call: option, expected: 'numbers from 0 to 1, separated by commas', found: text });
  });
}

export function collect(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}

/** A token of the environment, where other users cannot see it, as they see the words of a call; null without one. */
export function tokenFrom(variable: string, call: string): string | null {
  const token = process.env[variable] || null;
  // A header has no other characters: a client could never send them.
  if (token === null || /^[!-~]+$/.test(token)) return token;
  throw new UserError({
    call: `${variable} of ${call}`,
    expected: 'a token of ASCII letters, digits and signs, without blanks',
    found: 'another',
    fix: `Set one, such as: export ${variable}=$(openssl rand -hex 16)`,
  });
}
