/** Plugins: modules of parts, loaded before the config is checked, and hashed with what they import by path. */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { z } from 'zod';
import { startShape } from '../adapters/starts/start.ts';
import { explainForeign, inTime, messageOf, UserError } from '../base/index.ts';
import { readRegularText, sha256 } from '../base/node/index.ts';
import { aFunction, expectShape, type PartShape, partName } from '../base/parts/index.ts';
import { defineLoophole, loopholeShape } from '../env/loopholes/define.ts';
import { sourceShape } from '../env/sources/source.ts';
import { armShape } from '../grpo/arm.ts';
import { cutShape } from '../monitors/cut.ts';
import { watchedArms } from '../monitors/kinds.ts';
import { monitorShape } from '../monitors/monitor.ts';
import { remedyShape } from '../monitors/remedy.ts';
import { allLoopholes } from '../run/config/parts.ts';
import { builtinParts, type Parts } from './parts.ts';

export async function loadParts(plugins: readonly string[]): Promise<Parts> {
  let parts = builtinParts;
  for (const path of plugins) parts = joinParts(parts, await loadPlugin(path), path);
  return parts;
}

export function pluginRecords(plugins: readonly string[]) {
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

/** Node would fail too, after two warnings of its own. */
function expectModuleSyntax(path: string): void {
  if (extname(path) !== '.js' || !/^(?:import|export)\b/m.test(readRegularText(path))) return;
  const manifest = nearestManifest(dirname(resolve(path)));
  if (manifest === null || !/"type"\s*:\s*"commonjs"/.test(readRegularText(manifest))) return;
  throw new UserError({
    call: `plugin ${path}`,
    expected: 'a module that loads',
    found: `one that ${manifest} makes no module ("type": "commonjs")`,
    fix: `Name the file ${basename(path, '.js')}.mjs, also in the recipe.`,
  });
}

function nearestManifest(folder: string): string | null {
  const manifest = join(folder, 'package.json');
  if (existsSync(manifest)) return manifest;
  return dirname(folder) === folder ? null : nearestManifest(dirname(folder));
}

const built = fileURLToPath(new URL('../../dist/', import.meta.url));

/** A plugin imports this package by its name, which works in a clone that is built and where the package is installed. */
function loadingFix(message: string): { fix?: string } {
  const [, installed] =
    /^Cannot find module '(.*[/\\]node_modules[/\\]gradient-quarantine)[/\\]dist[/\\]/.exec(message) ?? [];
  if (installed !== undefined || message.includes(`Cannot find module '${built}`)) {
    const clone = installed === undefined ? 'the clone' : realpathSync(installed);
    return { fix: `Plugins use the built package, and the clone is not built: run npm run build in ${clone} first.` };
  }
  if (!message.includes("Cannot find package 'gradient-quarantine'")) return {};
  return { fix: 'Keep the plugin inside the clone, or in a project with npm install PATH_OF_THE_CLONE.' };
}

async function loadPlugin(path: string): Promise<Partial<Parts>> {
  expectModule(path);
  expectModuleSyntax(path);
  if (!loaded.has(path)) loaded.set(path, hashCode(path));
  const loading = { call: `plugin ${path}`, expected: 'a module that loads', mostSeconds: loadSeconds };
  const parts = checked.get(path) ?? readModule(`plugin ${path}`, await inTime(importModule(path), loading));
  checked.set(path, parts);
  return parts;
}

function readModule(call: string, module: Readonly<Record<string, unknown>>): Partial<Parts> {
  try {
    return checkModule(call, module);
  } catch (error) {
    throw explainForeign(error, { call, expected: 'parts whose members can be read' });
  }
}

const checked = new Map<string, Partial<Parts>>();

/** How long a module may take to load: what it waits for may never come while a timer keeps the process alive. */
const loadSeconds = 60;

async function importModule(path: string): Promise<Readonly<Record<string, unknown>>> {
  let onIdle = (): void => undefined;
  // Nothing is left that could settle what the module waits for: Node would end here, with a status and a warning of its own.
  const idle = new Promise<never>((_, reject) => {
    onIdle = () => reject(new Error('an await that never comes to its end'));
  });
  process.once('beforeExit', onIdle);
  try {
    return await Promise.race([import(pathToFileURL(path).href), idle]);
  } catch (cause) {
    const found = messageOf(cause);
    const complaint = { call: `plugin ${path}`, expected: 'a module that loads', found, ...loadingFix(found) };
    throw new UserError(complaint, { cause });
  } finally {
    process.off('beforeExit', onIdle);
  }
}

const exported: Readonly<Record<keyof Parts, { readonly helper: string; readonly shape: PartShape }>> = {
  arms: { helper: 'defineArm', shape: armShape },
  loopholes: { helper: 'defineLoophole', shape: loopholeShape },
  starts: { helper: 'defineStart', shape: startShape },
  problemSources: { helper: 'defineProblemSource', shape: sourceShape },
  monitors: { helper: 'defineMonitor', shape: monitorShape },
  cuts: { helper: 'defineCut', shape: cutShape },
  remedies: { helper: 'defineRemedy', shape: remedyShape },
};
const exportNames = Object.keys(exported) as (keyof Parts)[];

type Part = Parts[keyof Parts][number];
const nameOf = (part: Part): string => ('kind' in part ? part.kind : part.name);

export function joinParts(known: Parts, added: Partial<Parts>, source: string): Parts {
  const join = (key: keyof Parts): readonly Part[] => {
    const all: readonly Part[] = [...known[key], ...(added[key] ?? [])];
    const names = all.map(nameOf);
    const twice = names.find((name, i) => names.indexOf(name) < i);
    if (twice === undefined) return all;
    const expected = `a new name for its ${exported[key].shape.word}`;
    throw new UserError({ call: `plugin ${source}`, expected, found: `${twice}, which is taken` });
  };
  const joined = Object.fromEntries(exportNames.map((key) => [key, join(key)])) as unknown as Parts;
  const names = allLoopholes(joined).map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) {
    const expected = 'new names for the loopholes of its problem sources';
    throw new UserError({ call: `plugin ${source}`, expected, found: `${twice}, which is taken` });
  }
  const watched = watchedArms(joined);
  return { ...joined, arms: joined.arms.map((arm) => watched.find(({ kind }) => kind === arm.kind) ?? arm) };
}

function checkModule(call: string, module: Readonly<Record<string, unknown>>): Partial<Parts> {
  const found = exportNames.filter((name) => module[name] !== undefined);
  if (found.length === 0) {
    const expected = `an export named ${exportNames.join(' or ')}`;
    throw new UserError({ call, expected, found: Object.keys(module).join(', ') || 'no exports' });
  }
  return Object.fromEntries(found.map((name) => [name, checkList(call, name, module[name])]));
}

function checkList(call: string, name: keyof Parts, list: unknown): unknown[] {
  const { helper, shape } = exported[name];
  if (!Array.isArray(list)) {
    const fix = `Make each with ${helper} of gradient-quarantine.`;
    throw new UserError({ call: `${call}, export ${name}`, expected: 'a list', found: typeof list, fix });
  }
  const schema = wholePart(name, shape);
  return list.map((part, i) => {
    expectShape(`${call}, export ${name}[${i}]`, schema, part);
    if (name === 'loopholes' && ('hint' in part || 'fires' in part)) defineLoophole(part);
    return guarded(`${call}, ${shape.word} ${part.kind ?? part.name}`, part, shape);
  });
}

function wholePart(name: keyof Parts, { members, answers }: PartShape): z.ZodObject {
  const named = 'name' in members.shape ? { name: partName } : {};
  if (name === 'loopholes') return members.partial({ hint: true, fires: true }).extend(named);
  if (name === 'starts') return members;
  return members.required().extend(Object.fromEntries(Object.keys(answers).map((key) => [key, aFunction])));
}

/** The same part, whose functions name themselves where they throw, and where what they answer means nothing. */
function guarded(call: string, part: Readonly<Record<string, unknown>>, { answers }: PartShape): object {
  const wrap = ([name, schema]: readonly [string, z.ZodType]) => {
    const own = part[name];
    if (typeof own !== 'function') return {};
    const at = `${call}, ${name}`;
    const answer = (...given: unknown[]): unknown => {
      let value: unknown;
      try {
        value = own.apply(part, given);
      } catch (error) {
        throw explainForeign(error, { call: at, expected: 'no error' });
      }
      // What a promise is rejected with is no news any more.
      if (value instanceof Promise) value.catch(() => undefined);
      expectShape(at, schema, value);
      return value;
    };
    return { [name]: answer };
  };
  return Object.assign({ ...part }, ...Object.entries(answers).map(wrap));
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
