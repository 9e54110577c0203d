/**
 * Canonical JSON: keys sorted by UTF-16 code units and no white space (the form of RFC 8785), so equal values have equal hashes whatever
 * the order in which they were built.
 */
import { UserError } from './errors.ts';

function refuse(found: string, path: string): never {
  throw new UserError({
    call: 'canonicalJson',
    expected: 'null, booleans, finite numbers, strings, arrays and plain objects',
    found: `${found} at ${path === '' ? 'the top' : path}`,
  });
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function canonicalObject(value: object, path: string): string {
  if (!isPlain(value)) refuse(`a ${value.constructor.name}`, path);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalValue(member, `${path}.${key}`)}`);
  return `{${members.join(',')}}`;
}

function canonicalValue(value: unknown, path: string): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') return Number.isFinite(value) ? JSON.stringify(value) : refuse(`${value}`, path);
  if (Array.isArray(value)) return `[${value.map((item, at) => canonicalValue(item, `${path}[${at}]`)).join(',')}]`;
  return typeof value === 'object' ? canonicalObject(value, path) : refuse(typeof value, path);
}

/** Members that are undefined are left out; whatever JSON cannot hold exactly is an error. */
export function canonicalJson(value: unknown): string {
  return canonicalValue(value, '');
}
