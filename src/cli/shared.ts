/** What commands have in common: options, answers as JSON or text, and checks of files before the work begins. */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { exitCodes, UserError, wrapText } from '../base/index.ts';
import { expectPlainNames, expectWritable, makeFolder } from '../base/node/index.ts';
import { gqLine } from '../base/node/own-program.ts';
import { type CommandContext, repeated, whole, word } from './command.ts';

export const deviceOption = word('<name>', 'device to compute on: wasm, reference, cuda or webgpu', 'wasm');
export const runDeviceOption = word('<name>', 'device to compute on; the one the run was trained on when absent');
export const updateOption = whole('<n>', 'update of the checkpoint; the last one when absent', { least: 0 });
export const configOption = repeated('<key=value>', 'change one key of the config');
export const portOption = <U extends number>(usual: U) =>
  whole('<n>', 'port to listen on; 0: any that is free', { least: 0, most: 65_535, usual });

/** `fix`: what to do instead, with the name of the option that was given. */
export function expectAbsent(
  call: object,
  absent: readonly string[],
  form: string,
  fix?: (option: string) => string,
): void {
  const isGiven = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : (value ?? false) !== false);
  const wrong = Object.entries(call).find(([name, value]) => absent.includes(name) && isGiven(value));
  if (wrong === undefined) return;
  const option = optionName(wrong[0]);
  const complaint = { call: option, expected: `no such option ${form}`, found: 'one' };
  throw new UserError(fix === undefined ? complaint : { ...complaint, fix: fix(option) });
}

export const optionName = (name: string): string =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

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

export const jsonText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** The closing line of tables of which --all prints more. */
export const allPrints = (others: readonly string[], width: number): string[] =>
  others.length === 0 ? [] : [`${wrapText(`--all also prints: ${others.join('; ')}.`, width)}\n`];

export const sameCall = ({ words }: CommandContext): string => gqLine(...words);

export function endInterrupted(kept: string, context: CommandContext): undefined {
  context.stdout.write(`interrupted; ${kept}; go on with: ${sameCall(context)}\n`);
  context.exitCode = exitCodes.interrupted;
}

function refuse(call: string, expected: string, found: string, fix: string): never {
  throw new UserError({ call, expected, found, fix });
}

export function expectNewFile(path: string, option: string, force = false): void {
  const found = statSync(path, { throwIfNoEntry: false });
  const call = `${option} ${path}`;
  if (found?.isDirectory()) refuse(call, 'a file', 'a folder', 'Name a file.');
  if (found !== undefined && !found.isFile()) refuse(call, 'a file', 'a device or a pipe', 'Name a file.');
  if (found !== undefined && !force) {
    const fix = 'Name another file, or overwrite it with --force.';
    refuse(call, 'a file that does not exist yet', 'one that does', fix);
  }
  openPlace(path, call);
}

export function expectNewFolder(path: string, option: string): void {
  const call = `${option} ${path}`;
  if (existsSync(path)) {
    refuse(call, 'a folder that does not exist yet', 'one that does', 'Name another folder, or remove this one.');
  }
  openPlace(path, call);
}

function openPlace(path: string, call: string): void {
  const folder = dirname(resolve(path));
  expectPlainNames(call, path);
  expectWritable(call, folder);
  makeFolder(folder);
}

export const isSameFile = (one: string, other: string): boolean =>
  existsSync(one) && existsSync(other) && realpathSync(one) === realpathSync(other);
