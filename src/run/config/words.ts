/** The values that a key of a schema takes, in words: `a whole number of at least 1`, `a number from 0 to 1`, `wasm, reference or cuda`. */
import { z } from 'zod';

interface JsonSchema {
  readonly title?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly exclusiveMaximum?: number;
}

export const wordsOf = (schema: z.core.$ZodType): string =>
  describe(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema);

export function wordsOfEntry(schema: z.core.$ZodType): string | null {
  const { items } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  return items === undefined ? null : describe(items);
}

function describe(schema: JsonSchema): string {
  if (schema.title !== undefined) return schema.title;
  if (schema.enum !== undefined) return joinOr(schema.enum.map(String));
  if (schema.const !== undefined) return String(schema.const);
  const options = schema.anyOf ?? schema.oneOf;
  if (options !== undefined) return joinOr([...new Set(options.map(describe))]);
  if (Array.isArray(schema.type)) return joinOr(schema.type.map((type) => describe({ ...schema, type })));
  switch (schema.type) {
    case 'integer':
      return `a whole number${boundsOf(schema)}`;
    case 'number':
      return `a number${boundsOf(schema)}`;
    case 'string':
      return 'text';
    case 'boolean':
      return 'true or false';
    case 'array':
      return `a list${entryWords(schema)}${(schema.minItems ?? 0) > 0 ? ' that is not empty' : ''}`;
    case 'object':
      return 'a table of keys';
    case 'null':
      return 'null';
    default:
      return 'a value that the config takes';
  }
}

const entryWords = ({ items }: JsonSchema): string =>
  items?.title === undefined && items?.enum === undefined ? '' : ` of ${describe(items)}`;

function boundsOf({ minimum, exclusiveMinimum, maximum, exclusiveMaximum }: JsonSchema): string {
  // A whole number without a bound of its own has those of exact integers.
  const least = minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined;
  const most = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined;
  if (least !== undefined && most !== undefined) return ` from ${least} to ${most}`;
  const parts = [
    ...(least === undefined ? [] : [`of at least ${least}`]),
    ...(exclusiveMinimum === undefined ? [] : [`above ${exclusiveMinimum}`]),
    ...(most === undefined ? [] : [`of at most ${most}`]),
    ...(exclusiveMaximum === undefined ? [] : [`below ${exclusiveMaximum}`]),
  ];
  return parts.length === 0 ? '' : ` ${parts.join(' and ')}`;
}

const joinOr = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
