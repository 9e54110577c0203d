/** `gq config`: shows what a recipe and settings resolve to, where each value came from, and which keys must still be given. */
import type { Command } from 'commander';
import { loadParts } from '../../lab/index.ts';
import { type ConfigOutline, configPage, outlineConfig, readConfig, recipeName } from '../../run/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { collect } from '../values.ts';

interface ConfigOptions {
  readonly set: readonly string[];
  readonly json?: boolean;
  readonly reference?: boolean;
}

export function configureConfig(command: Command, context: CommandContext): void {
  command
    .argument('[recipe]', 'a TOML recipe; without one, the defaults')
    .option('--set <key=value>', 'change one key; may be repeated', collect, [])
    .option('--json', 'print {config, hash, sources, missing}')
    .option('--reference', 'print the reference page of all keys instead, with those of the recipe’s plugins')
    .addHelpText(
      'after',
      examplesText(
        'gq config recipes/micro-activation.toml',
        'gq config recipes/micro-vanilla.toml --set seed=2 --json',
        'gq config --reference > docs/config.md',
      ),
    )
    .action(async (recipe: string | undefined, { set, json, reference }: ConfigOptions) => {
      const raw = readConfig(recipe ?? null, set);
      const parts = await loadParts(raw.plugins);
      if (reference) {
        context.stdout.write(configPage(parts));
        return;
      }
      const outline = outlineConfig(raw, parts);
      context.stdout.write(json ? outlineJson(outline) : renderOutline(outline));
    });
}

function outlineJson({ keys, hash, missing }: ConfigOutline): string {
  const config: Record<string, unknown> = {};
  for (const { path, ...key } of keys) {
    if (!('value' in key)) continue;
    const names = path.split('.');
    const last = names.length - 1;
    names.reduce<Record<string, unknown>>((table, name, i) => {
      table[name] ??= i === last ? key.value : {};
      return table[name] as Record<string, unknown>;
    }, config);
  }
  const sources = Object.fromEntries(keys.map(({ path, source }) => [path, source]));
  return `${JSON.stringify({ config, hash, sources, missing }, null, 2)}\n`;
}

/** Longer names and values push the rest of their line to the right, and only of theirs. */
const widest = 32;

function renderOutline({ keys, hash, missing }: ConfigOutline): string {
  const rows = keys.map(({ path, source, ...key }) => [
    path,
    'value' in key ? JSON.stringify(key.value) : '-',
    showSource(source),
  ]);
  const widths = [0, 1].map((column) => Math.min(widest, Math.max(...rows.map((row) => row[column].length))));
  const lines = rows.map(([path, value, source]) => `${path.padEnd(widths[0])}  ${value.padEnd(widths[1])}  ${source}`);
  const end = hash === null ? `must be given before a run can start: ${missing.join(', ')}` : `hash ${hash}`;
  return `${[...lines, end].join('\n')}\n`;
}

function showSource(source: string): string {
  return source.endsWith('.toml') ? recipeName(source) : source;
}
