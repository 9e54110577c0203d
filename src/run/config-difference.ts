/** The keys in which two configs differ, for messages: a hash tells nobody what to change. */
import { isDeepStrictEqual } from 'node:util';

/** Paths of the keys, such as `sampling.group`, in the order of the first config. */
export function changedKeys(before: object, after: object, prefix = ''): string[] {
  const [old, now] = [before as Record<string, unknown>, after as Record<string, unknown>];
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  return names.flatMap((name) => {
    const [one, other] = [old[name], now[name]];
    if (isDeepStrictEqual(plain(one), plain(other))) return [];
    if (!isTable(one) || !isTable(other)) return [`${prefix}${name}`];
    // A table of another kind has other keys altogether.
    if (one['kind'] !== other['kind']) return [`${prefix}${name}.kind`];
    return changedKeys(one, other, `${prefix}${name}.`);
  });
}

/** Such a list in words, with the two values of each key, cut when there are many. */
export function describeChanges(before: object, after: object): string {
  const keys = changedKeys(before, after);
  const shown = keys.slice(0, 8).map((key) => `${key} (${show(before, key)} before, ${show(after, key)} now)`);
  return `${shown.join(', ')}${keys.length > 8 ? ` and ${keys.length - 8} more` : ''}`;
}

function show(config: object, key: string): string {
  const value = key.split('.').reduce<unknown>((table, name) => (isTable(table) ? table[name] : undefined), config);
  const text = value === undefined ? 'none' : JSON.stringify(value);
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

/** Tables made without a prototype are equal to others. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
