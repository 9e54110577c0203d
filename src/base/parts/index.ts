/**
 * Parts that other people write, such as arms and cuts: whether one has the members of its kind and none that nothing reads, and whether
 * what its functions answer means anything. A mistake that was passed over in silence would train to the end.
 */
import { z } from 'zod';
import { UserError } from '../errors.ts';
import { nearestName } from '../nearest.ts';
import { visibleLine } from '../text.ts';

export const aFunction: z.ZodType = z.custom((value) => typeof value === 'function', 'a function');
export const flagOrFunction: z.ZodType = z.custom(
  (value) => typeof value === 'boolean' || typeof value === 'function',
  'true, false or a function',
);
/** Names that are safe in files, tables and terminals. */
export const partName: z.ZodType = z
  .string()
  .regex(/^[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*$/, 'small letters, digits, single - or _');
/** Words in a table: one line, without signs that steer a terminal. */
export const partWords: z.ZodType = z.string().regex(/^[^\p{Cc}\u2028\u2029]*$/u, 'one line of text');
export const partSettings: z.ZodType = z
  .custom((value) => value instanceof z.ZodObject, 'settings made with z.strictObject of gradient-quarantine')
  .refine(
    (value) => !(value instanceof z.ZodObject && 'kind' in value.shape),
    'settings without a key of their own named kind',
  );

/** A kind of part. */
export interface PartShape {
  readonly word: string;
  /** What a person gives to its helper. */
  readonly members: z.ZodObject;
  /** What its functions must answer at once. */
  readonly answers: Readonly<Record<string, z.ZodType>>;
}

/** Refuses a value that a schema does not allow; `call` says whose it is. */
export function expectShape(call: string, schema: z.ZodType, value: unknown): void {
  const issue = schema.safeParse(value).error?.issues[0];
  if (issue === undefined) return;
  const at = issue.path.length === 0 ? call : `${call}, key ${issue.path.map(String).join('.')}`;
  if (issue.code === 'unrecognized_keys') {
    const known = issue.path.length === 0 ? keysOf(schema) : [];
    const near = nearestName(issue.keys[0], known);
    const hint = near === undefined ? '' : `, did you mean ${near}?`;
    const expected = known.length === 0 ? 'no keys but those that are read' : `keys named ${known.join(', ')}`;
    throw new UserError({ call: at, expected, found: `${issue.keys[0]}${hint}` });
  }
  const found = issue.path.reduce<unknown>((inner, key) => Object(inner)[key], value);
  throw new UserError({ call: at, expected: expectation(issue), found: shown(found) });
}

/** The keys of an object, or of the objects among several shapes. */
function keysOf(schema: unknown): readonly string[] {
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(keysOf);
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

const typeWords: ReadonlyMap<string, string> = new Map([
  ['array', 'a list'],
  ['int', 'a whole number'],
  ['object', 'an object'],
]);

function expectation(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return typeWords.get(issue.expected) ?? `a ${issue.expected}`;
  return issue.code === 'invalid_value' ? issue.values.map(String).join(' or ') : issue.message;
}

const shownCharacters = 80;

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value instanceof Promise) return 'a promise';
  if (typeof value === 'function') return 'a function';
  const text = typeof value === 'object' && value !== null ? JSON.stringify(value, nonFinite) : shownPlain(value);
  return visibleLine(text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text);
}

const shownPlain = (value: unknown): string => (typeof value === 'string' ? JSON.stringify(value) : String(value));

/** JSON would write null. */
const nonFinite = (_key: string, value: unknown): unknown =>
  typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
