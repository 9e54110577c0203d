/** The types of a config as a program writes it, made from the schema: every arm, monitor, cut, remedy, loophole and problem source. */
import { z } from 'zod';
import { builtinParts } from '../src/lab/parts.ts';
import { runSchema } from '../src/run/config/schema.ts';

interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

const plainTypes: Readonly<Record<string, string>> = { integer: 'number', array: 'readonly unknown[]' };
const literal = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : JSON.stringify(value));
const lists = new Map([
  ['loopholes', 'readonly Loophole[]'],
  ['heldOutLoopholes', 'readonly Loophole[]'],
]);

export function configTypes(): string {
  const schema = z.toJSONSchema(runSchema(builtinParts), { io: 'input', unrepresentable: 'any' }) as Schema;
  const named = new Map<string, string>();

  /** A table of several kinds has a name, and one line for each kind. */
  const nameOf = (key: string, kinds: readonly Schema[]): string => {
    const text = kinds.map((kind) => `  | ${typeOf(kind)}`).join('\n');
    const name = `${key[0].toUpperCase()}${key.slice(1)}`;
    const known = named.get(text) ?? ([...named.values()].includes(name) ? `${name}Alone` : name);
    named.set(text, known);
    return known;
  };
  const typeOf = (one: Schema, key = ''): string => {
    const options = one.anyOf ?? one.oneOf;
    if (one.const !== undefined) return literal(one.const);
    if (one.enum !== undefined) return one.enum.map(literal).join(' | ');
    if (options?.every(({ properties }) => properties?.['kind'] !== undefined)) return nameOf(key, options);
    if (options !== undefined) return [...new Set(options.map((option) => typeOf(option)))].join(' | ');
    if (Array.isArray(one.type)) return one.type.map((type) => typeOf({ ...one, type })).join(' | ');
    if (one.properties !== undefined) {
      const parts = Object.entries(one.properties).map(([name, inner]) => keyOf(name, inner, one.required));
      return `{ ${parts.join('; ')} }`;
    }
    if (one.items !== undefined) return lists.get(key) ?? `readonly ${typeOf(one.items)}[]`;
    return plainTypes[String(one.type)] ?? String(one.type ?? 'unknown');
  };
  const keyOf = (name: string, inner: Schema, required: readonly string[] = []): string =>
    `readonly ${name}${required.includes(name) ? '' : '?'}: ${typeOf(inner, name)}`;

  const { plugins: _, ...tables } = schema.properties ?? {};
  const keys = Object.entries(tables).map(([name, inner]) => `  ${keyOf(name, inner)};\n`);
  const watched = [...named].find(([, name]) => name === 'Arm')?.[0].match(/kind: 'watched'; (.*) \}$/m)?.[1] ?? '';
  const own = watched.split('; ').map((part) => `  ${part.replace(': ', '?: ')};\n`);
  const loopholes = builtinParts.loopholes.map(({ name }) => literal(name)).join(' | ');
  return `/**
 * What a config may hold, as a program writes it. Made from the schema; a test compares it:
 * npx vitest run test/config-types.test.ts -u
 */
/** Several that are open on one prompt are joined by +. */
type Loophole = ${loopholes} | \`\${string}+\${string}\`;

${[...named].map(([text, name]) => `type ${name} =\n${text};\n`).join('\n')}
export interface BuiltinConfig {
  /** A recipe of the package by its name, or the path of one. */
  readonly extends?: string;
${keys.join('')}${own.join('')}}

type OpenTable = { readonly kind: string; readonly [key: string]: unknown };
type OpenName = 'arm' | 'data' | 'monitor' | 'cut' | 'remedy';

/** With plugins, kinds and keys of tables may be theirs. */
export type PluginConfig = Omit<BuiltinConfig, OpenName> & { readonly plugins: readonly string[] } & { readonly [K in OpenName]?: OpenTable };

/** Chosen by whether there is a list of plugins, so that an error of types names the key that is wrong, in the config that was meant. */
export type ConfigWith<Plugins> = Plugins extends readonly string[] ? PluginConfig : BuiltinConfig;

export type WrittenConfig = BuiltinConfig | PluginConfig;
`;
}
