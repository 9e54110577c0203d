/** A recipe and settings as a checked, frozen config. Plugins are loaded first, since they extend the schema. */
import type { ConfigBase, FileSetting, RawConfig, ResolvedConfig } from '../run/config/config.ts';
import { checkConfig, expectRead, rawConfig, readConfig } from '../run/config/config.ts';
import type { RunConfig } from '../run/config/schema.ts';
import type { ConfigWith, WrittenConfig } from '../run/config/written.ts';
import { armOf, builtinParts, type Parts, sourceOf } from './parts.ts';
import { loadParts } from './plugins.ts';

export type LabConfig = ResolvedConfig & { readonly parts: Parts };

/** A config as a program writes it, frozen: a wrong key is an error of types. resolveConfig() and train() check it against the schema. */
export function defineConfig<Plugins extends readonly string[] | undefined = undefined>(
  written: { readonly plugins?: Plugins } & ConfigWith<Plugins>,
): ConfigWith<Plugins> {
  return freeze(structuredClone(written));
}

export async function resolveConfig(
  recipe: string | WrittenConfig | null,
  settings: readonly (string | FileSetting)[] = [],
  base: ConfigBase | null = null,
): Promise<LabConfig> {
  const raw = readConfig(recipe, settings, base);
  return check(raw, await loadParts(raw.plugins));
}

export const resolveBuiltin = (recipe: string | null, settings: readonly string[] = []): LabConfig =>
  check(readConfig(recipe, settings), builtinParts);

export async function parseRunConfig(stored: unknown): Promise<RunConfig> {
  const raw = rawConfig(stored);
  return check(raw, await loadParts(raw.plugins)).config;
}

/** The config itself if it was checked and is frozen since; any other object is checked as if a person had written it. */
export async function admitConfig(config: RunConfig): Promise<RunConfig> {
  if (checked.has(config)) return config;
  const parsed = await parseRunConfig(config);
  expectRead(parsed, await partsOf(parsed));
  return parsed;
}

/** What the config can name, with the loopholes that its problems can have. */
export async function partsOf({ plugins, data }: Pick<RunConfig, 'plugins' | 'data'>): Promise<Parts> {
  const parts = await loadParts(plugins);
  const { texts } = sourceOf({ data }, parts);
  return texts === null ? parts : { ...parts, loopholes: texts.loopholes };
}

const checked = new WeakSet<RunConfig>();

function check(raw: RawConfig, parts: Parts): LabConfig {
  const resolved = checkConfig(raw, parts);
  if (resolved.config.plugins.length > 0) askArm(resolved.config, parts);
  checked.add(freeze(resolved.config));
  return { ...resolved, parts };
}

/** Asks a plugin's parts what they say of the config, so that a mistake in them is told before anything begins. */
function askArm(config: RunConfig, parts: Parts): void {
  const { kind: _kind, ...settings } = config.arm;
  const arm = armOf(config, parts);
  for (const question of ['label', 'usesLabels', 'models', 'runs', 'means'] as const) arm[question](settings);
}

function freeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) freeze(inner);
  return Object.freeze(value);
}
