/** From a recipe and settings to a checked config: the plugins that it names are loaded first, since they extend the schema. */
import {
  type ConfigBase,
  checkConfig,
  type RawConfig,
  type ResolvedConfig,
  type RunConfig,
  rawConfig,
  readConfig,
} from '../run/index.ts';
import { builtinParts, type Parts } from './parts.ts';
import { loadParts } from './plugins.ts';

export interface LabConfig extends ResolvedConfig {
  readonly parts: Parts;
}

export async function resolveConfig(
  recipe: string | null,
  settings: readonly string[] = [],
  base: ConfigBase | null = null,
): Promise<LabConfig> {
  const raw = readConfig(recipe, settings, base);
  return check(raw, await loadParts(raw.plugins));
}

/** A config of the package's own parts: nothing has to be loaded. */
export function resolveBuiltin(recipe: string | null, settings: readonly string[] = []): LabConfig {
  return check(readConfig(recipe, settings), builtinParts);
}

/** A config as it stands in a manifest. */
export async function parseRunConfig(stored: unknown): Promise<RunConfig> {
  const raw = rawConfig(stored);
  return check(raw, await loadParts(raw.plugins)).config;
}

/** The parts that a config may name; modules are loaded once in a process. */
export function partsOf({ plugins }: Pick<RunConfig, 'plugins'>): Promise<Parts> {
  return loadParts(plugins);
}

function check(raw: RawConfig, parts: Parts): LabConfig {
  return { ...checkConfig(raw, parts), parts };
}
