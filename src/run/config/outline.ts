/** A config listed key by key for a reader, even if keys that must be given are still missing. */
import type { z } from 'zod';
import { checkConfig, completeRaw, type RawConfig, type ResolvedConfig, refuseFaults } from './config.ts';
import { type ConfigKey, listKeys, valueAt } from './issues.ts';
import type { ConfigParts } from './parts.ts';
import { brokenRules } from './rules.ts';
import { type RunConfig, runSchema, usualKinds } from './schema.ts';

export type ConfigOutline = ReturnType<typeof outlineConfig>;

export function outlineConfig(written: RawConfig, parts: ConfigParts) {
  const { raw, origins } = written;
  const resolved = resolveComplete(written, parts);
  const shown = resolved?.config ?? raw;
  const keys = listKeys(parts)
    .filter((key) =>
      key.choices.every(({ table, kinds }) => kinds.includes(kindAt(raw, table)) || isKindOf(key, table)),
    )
    .map((key): { path: string; source: string; value?: unknown } => {
      const path = key.path.join('.');
      const given = valueAt(shown, key.path);
      const source = origins.get(path)?.name ?? 'default';
      if (given !== undefined) return { path, value: given, source };
      const usual = defaultOf(key, kindAt(raw, key.choices.at(-1)?.table ?? []));
      return usual.success ? { path, value: usual.data ?? null, source } : { path, source: 'must be given' };
    });
  const missing = keys.filter((key) => !('value' in key)).map(({ path }) => path);
  const { kind: _kind, ...settings } = resolved?.config.arm ?? { kind: '' };
  const arm = resolved === null ? undefined : parts.arms.find(({ kind }) => kind === kindAt(raw, ['arm']));
  return { keys, missing, hash: resolved?.hash ?? null, meaning: arm?.means?.(settings) ?? null };
}

function resolveComplete(written: RawConfig, parts: ConfigParts): ResolvedConfig | null {
  const { raw } = written;
  completeRaw(written, parts);
  const schema = runSchema(parts);
  const parsed = schema.safeParse(raw);
  const isMissing = ({ path }: z.core.$ZodIssue) => valueAt(raw, path.map(String)) === undefined;
  if (parsed.success || !parsed.error.issues.every(isMissing)) return checkConfig(written, parts);
  const tables = Object.entries(schema.shape).map(([name, table]) => {
    const read = table.safeParse(raw[name]);
    return [name, read.success ? read.data : { ...Object(raw[name]), kind: kindAt(raw, [name]) }];
  });
  refuseFaults(brokenRules(Object.fromEntries(tables) as RunConfig, parts));
  return null;
}

function kindAt(raw: RawConfig['raw'], table: readonly string[]): string {
  const usual: Readonly<Record<string, string>> = usualKinds;
  return String(valueAt(raw, [...table, 'kind']) ?? usual[table.join('.')] ?? '');
}

const isKindOf = ({ path }: ConfigKey, table: readonly string[]): boolean =>
  path.length === table.length + 1 && path.at(-1) === 'kind';

function defaultOf({ path, kinds, variants, schema }: ConfigKey, kind: string): z.ZodSafeParseResult<unknown> {
  if (path.at(-1) === 'kind' && kinds.includes(kind)) return { success: true, data: kind };
  return ((variants[kinds.indexOf(kind)] ?? schema) as z.ZodType).safeParse(undefined);
}
