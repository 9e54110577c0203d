/**
 * Plugins: modules that a recipe names and that export arms, monitors, cuts, remedies, loopholes, adapter starts or problem sources. They are loaded before the
 * config is checked, so that the schema covers what they add as strictly as everything else. The manifest of a run has a hash of
 * their code and of the files that it imports by relative paths.
 */
import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { z } from 'zod';
import { UserError } from '../base/index.ts';
import { readRegularText, sha256 } from '../base/node/index.ts';
import { builtinParts, joinParts, type Parts } from './parts.ts';

export interface PluginRecord {
  readonly path: string;
  /** Hash of the module's code and of the files that it imports by relative paths. */
  readonly hash: string;
}

const exportNames = [
  'arms',
  'loopholes',
  'starts',
  'problemSources',
  'monitors',
  'cuts',
  'remedies',
] as const satisfies readonly (keyof Parts)[];

/** The parts of the package, followed by those of the modules in the given order. */
export async function loadParts(plugins: readonly string[]): Promise<Parts> {
  let parts = builtinParts;
  for (const path of plugins) parts = joinParts(parts, await loadPlugin(path), path);
  return parts;
}

export function pluginRecords(plugins: readonly string[]): PluginRecord[] {
  return plugins.map((path) => {
    expectModule(path);
    return { path, hash: hashCode(path) };
  });
}

/** Hashes of the code that this process has loaded: a module is loaded once, whatever becomes of its file. */
const loaded = new Map<string, string>();

/** Refuses plugins whose files were changed after this process loaded them: a run would name code that it was not trained with. */
export function expectLoadedCode(plugins: readonly string[]): void {
  const changed = pluginRecords(plugins).find(({ path, hash }) => (loaded.get(path) ?? hash) !== hash);
  if (changed === undefined) return;
  throw new UserError({
    call: `plugin ${changed.path}`,
    expected: 'the code that this process has loaded (key plugins)',
    found: `other content in ${changed.path}, or in what it imports`,
    fix: 'Restore the file, or call the command again for new runs with the new code.',
  });
}

function expectModule(path: string): void {
  if (existsSync(path)) return;
  throw new UserError({
    call: `plugin ${path}`,
    expected: 'a module',
    found: 'no such file',
    fix: 'A path in `plugins` is relative to the folder of the recipe that names it; a run keeps the absolute path, where the module must stay.',
  });
}

const built = fileURLToPath(new URL('../../dist/', import.meta.url));

/** A plugin imports this package by its name, which works in a clone that is built and where the package is installed. */
function loadingFix(message: string): { fix?: string } {
  if (message.includes(`Cannot find module '${built}`)) {
    return { fix: 'Plugins use the built package: run npm run build in the clone first.' };
  }
  if (!message.includes("Cannot find package 'gradient-quarantine'")) return {};
  return { fix: 'Keep the plugin inside the clone, or in a project with npm install gradient-quarantine.' };
}

async function loadPlugin(path: string): Promise<Partial<Parts>> {
  const call = `plugin ${path}`;
  expectModule(path);
  if (!loaded.has(path)) loaded.set(path, hashCode(path));
  let module: Readonly<Record<string, unknown>>;
  try {
    module = await import(pathToFileURL(path).href);
  } catch (cause) {
    const found = cause instanceof Error ? cause.message : String(cause);
    throw new UserError({ call, expected: 'a module that loads', found, ...loadingFix(found) }, { cause });
  }
  const found = exportNames.filter((name) => module[name] !== undefined);
  if (found.length === 0) {
    const expected = `an export named ${exportNames.join(' or ')}`;
    throw new UserError({ call, expected, found: Object.keys(module).join(', ') || 'no exports' });
  }
  for (const name of found) checkList(call, name, module[name]);
  return Object.fromEntries(found.map((name) => [name, module[name]]));
}

/** The keys, with their types, that each kind of part must have. */
const neededKeys: Readonly<Record<keyof Parts, Readonly<Record<string, string>>>> = {
  arms: {
    kind: 'string',
    summary: 'string',
    settings: 'object',
    quarantine: 'function',
    usesLabels: 'function',
    open: 'function',
    label: 'function',
  },
  monitors: {
    kind: 'string',
    summary: 'string',
    settings: 'object',
    usesLabels: 'function',
    open: 'function',
    label: 'function',
    models: 'function',
    costs: 'function',
  },
  cuts: { kind: 'string', summary: 'string', settings: 'object', words: 'function', find: 'function' },
  remedies: { kind: 'string', summary: 'string', settings: 'object', words: 'function', act: 'function' },
  loopholes: { name: 'string', summary: 'string' },
  starts: { name: 'string', summary: 'string', factors: 'function' },
  problemSources: { kind: 'string', summary: 'string', settings: 'object', load: 'function' },
};

const helpers: Readonly<Record<keyof Parts, string>> = {
  arms: 'defineArm',
  monitors: 'defineMonitor',
  cuts: 'defineCut',
  remedies: 'defineRemedy',
  loopholes: 'defineLoophole',
  starts: 'defineStart',
  problemSources: 'defineProblemSource',
};

function checkList(call: string, name: keyof Parts, value: unknown): void {
  const fix = `Make each with ${helpers[name]} of gradient-quarantine.`;
  if (!Array.isArray(value)) {
    throw new UserError({ call: `${call}, export ${name}`, expected: 'a list', found: typeof value, fix });
  }
  for (const [index, part] of value.entries()) {
    for (const [key, type] of Object.entries(neededKeys[name])) {
      const own: unknown = typeof part === 'object' && part !== null ? part[key] : undefined;
      if (typeof own === type && own !== null) continue;
      const at = `${call}, export ${name}[${index}], key ${key}`;
      throw new UserError({ call: at, expected: `a ${type}`, found: own === undefined ? 'nothing' : typeof own, fix });
    }
    checkPart(call, name, part);
  }
}

/** Names that are safe in files, tables and terminals. */
const plainName = /^[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*$/;

/** What the keys cannot say one by one. */
function checkPart(call: string, name: keyof Parts, part: Readonly<Record<string, unknown>>): void {
  const [key, word] = 'kind' in part ? ['kind', part['kind']] : ['name', part['name']];
  const refuse = (expected: string, found: string): never => {
    throw new UserError({ call: `${call}, export ${name}, key ${key}`, expected, found });
  };
  if (!plainName.test(String(word))) refuse('small letters, digits, single - or _', JSON.stringify(word));
  if (name === 'loopholes' || name === 'starts') return;
  const { settings } = part;
  const shape = settings instanceof z.ZodObject ? settings.shape : null;
  if (shape === null) refuse('settings made with z.strictObject of gradient-quarantine', 'something else');
  else if ('kind' in shape) refuse('settings without a key of their own named kind', 'one');
}

/** Matches imports by a literal relative path; imported packages are not hashed. */
const relativeImport = /(?:from|import|require)\s*\(?\s*['"](\.{1,2}\/[^'"?#]+)[^'"]*['"]/g;

function hashCode(path: string, seen: Set<string> = new Set()): string {
  seen.add(path);
  const text = readRegularText(path);
  const imported = [...text.matchAll(relativeImport)]
    .map(([, specifier]) => resolve(dirname(path), specifier))
    .filter((file) => !seen.has(file) && existsSync(file) && statSync(file).isFile());
  return sha256([sha256(text), ...imported.map((file) => hashCode(file, seen))].join(' '));
}
