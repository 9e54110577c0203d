/** Options that several commands have, and what is read from the environment. */
import { UserError } from '../base/index.ts';
import { flag, repeated, whole, word } from './command.ts';

export const deviceOption = word('<name>', 'device to compute on: wasm, reference or cuda', 'wasm');
export const runDeviceOption = word('<name>', 'device to compute on; the one the run was trained on when absent');
export const updateOption = whole('<n>', 'update of the checkpoint; the last one when absent', { least: 0 });
export const configOption = repeated('<key=value>', 'change one key of the config');
export const portOption = <U extends number>(usual: U) =>
  whole('<n>', 'port to listen on; 0: any that is free', { least: 0, most: 65_535, usual });
export const jsonOption = (what: string) => flag(`print ${what} as JSON`);

/** Refuses options that mean nothing in a form of a command, such as `with --html`. */
export function expectAbsent(call: object, absent: readonly string[], form: string): void {
  const isGiven = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : (value ?? false) !== false);
  const wrong = Object.entries(call).find(([name, value]) => absent.includes(name) && isGiven(value));
  if (wrong === undefined) return;
  throw new UserError({ call: optionName(wrong[0]), expected: `no such option ${form}`, found: 'one' });
}

/** An option as it is typed. */
export function optionName(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
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
