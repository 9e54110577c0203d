/** The keys in which two configs differ, with both values. */
import { basename } from 'node:path';
import type { RunConfig } from './schema.ts';

const shownLength = 40;

export function configDifferences(first: RunConfig, second: RunConfig, except: readonly string[] = []): string[] {
  const [before, after] = [leavesOf(comparable(first)), leavesOf(comparable(second))];
  const keys = [...new Set([...before.keys(), ...after.keys()])].filter((key) => !except.includes(key));
  return keys
    .filter((key) => before.get(key) !== after.get(key))
    .map((key) => `${key} (${shown(before.get(key))} and ${shown(after.get(key))})`);
}

/** The keys in which two seeds of one arm may not differ: an arm is its config less the seed. */
export const armDifferences = (first: RunConfig, second: RunConfig): string[] =>
  configDifferences(first, second, ['seed']);

function comparable(config: RunConfig): object {
  return { ...config, plugins: config.plugins.map((path) => basename(path)) };
}

export function leavesOf(value: unknown, prefix = ''): Map<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return new Map([[prefix, JSON.stringify(value)]]);
  }
  const inner = Object.entries(value).filter(([, own]) => own !== undefined);
  return new Map(inner.flatMap(([key, own]) => [...leavesOf(own, prefix === '' ? key : `${prefix}.${key}`)]));
}

function shown(json: string | undefined): string {
  if (json === undefined) return 'absent';
  return json.length > shownLength ? `${json.slice(0, shownLength)}…` : json;
}
