/** A config key by key, for a reader: also one whose required keys are not given yet, which no run could start from. */
import type { z } from 'zod';
import { checkConfig, configHash, type RawConfig } from './config.ts';
import { type ConfigKey, listKeys } from './config-issues.ts';
import { type ConfigParts, runSchema, usualKinds } from './schema.ts';

export interface OutlinedKey {
  readonly path: string;
  /** Absent for a key that must be given. */
  readonly value?: unknown;
  readonly source: string;
}

export interface ConfigOutline {
  readonly keys: readonly OutlinedKey[];
  /** Keys that must be given before a run can start. */
  readonly missing: readonly string[];
  /** null while keys are missing. */
  readonly hash: string | null;
}

/** What is wrong is an error, as it is for a run; what is merely missing is listed. */
export function outlineConfig(written: RawConfig, parts: ConfigParts): ConfigOutline {
  const { raw, sources } = written;
  const parsed = runSchema(parts).safeParse(withKinds(raw));
  const complete = parsed.success || parsed.error.issues.some((issue) => !isMissing(issue, raw));
  const config = complete ? checkConfig(written, parts).config : null;
  const keys = listKeys(parts)
    .filter((key) => isOfKind(key, raw))
    .map((key): OutlinedKey => {
      const path = key.path.join('.');
      const value = valueAt(config ?? raw, key.path) ?? (config === null ? defaultOf(key, raw) : null);
      return value === undefined
        ? { path, source: 'must be given' }
        : { path, value, source: sources.get(path) ?? 'default' };
    });
  const missing = keys.filter((key) => !('value' in key)).map(({ path }) => path);
  return { keys, missing, hash: config === null ? null : configHash(config) };
}

function withKinds(raw: RawConfig['raw']): unknown {
  return { ...raw, ...Object.fromEntries(Object.entries(usualKinds).map(([name]) => [name, tableOf(raw, name)])) };
}

function tableOf(raw: RawConfig['raw'], name: string): Readonly<Record<string, unknown>> {
  const table = raw[name];
  const kind = usualKinds[name as keyof typeof usualKinds];
  return typeof table === 'object' && table !== null ? { kind, ...table } : { kind };
}

function isMissing(issue: z.core.$ZodIssue, raw: RawConfig['raw']): boolean {
  return issue.code === 'invalid_type' && valueAt(raw, issue.path.map(String)) === undefined;
}

function isOfKind({ path, kinds }: ConfigKey, raw: RawConfig['raw']): boolean {
  return kinds.length === 0 || kinds.includes(String(tableOf(raw, path[0])['kind']));
}

function defaultOf({ path, schema }: ConfigKey, raw: RawConfig['raw']): unknown {
  if (path.at(-1) === 'kind') return tableOf(raw, path[0])['kind'];
  const parsed = (schema as z.ZodType).safeParse(undefined);
  return parsed.success ? parsed.data : undefined;
}

function valueAt(table: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Readonly<Record<string, unknown>>)[key]
        : undefined,
    table,
  );
}
