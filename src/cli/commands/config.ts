/** `gq config`: what a recipe and settings resolve to, and where each value came from. */
import { relative } from 'node:path';
import type { Command } from 'commander';
import { configPage, leafPaths, type ResolvedConfig, resolveConfig } from '../../run/index.ts';
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
    .option('--json', 'print {config, hash, sources}')
    .option('--reference', 'print the reference page of every key instead')
    .addHelpText(
      'after',
      examplesText(
        'gq config recipes/micro-activation.toml',
        'gq config recipes/micro-vanilla.toml --set seed=2 --json',
        'gq config --reference > docs/config.md',
      ),
    )
    .action((recipe: string | undefined, { set, json, reference }: ConfigOptions) => {
      if (reference) {
        context.stdout.write(configPage());
        return;
      }
      const resolved = resolveConfig(recipe ?? null, set);
      const { config, hash, sources } = resolved;
      const shown = {
        config,
        hash,
        sources: Object.fromEntries(leafPaths(config).map((path) => [path, sources.get(path)])),
      };
      context.stdout.write(json ? `${JSON.stringify(shown, null, 2)}\n` : renderConfig(resolved));
    });
}

function renderConfig({ config, hash, sources }: ResolvedConfig): string {
  const rows = leafPaths(config).map((path) => {
    const value = path.split('.').reduce<unknown>((table, key) => (table as Record<string, unknown>)[key], config);
    return [path, JSON.stringify(value), showSource(sources.get(path) ?? 'default')];
  });
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column].length)));
  const lines = rows.map(([path, value, source]) => `${path.padEnd(widths[0])}  ${value.padEnd(widths[1])}  ${source}`);
  return `${[...lines, `hash ${hash}`].join('\n')}\n`;
}

function showSource(source: string): string {
  return source.endsWith('.toml') ? relative(process.cwd(), source) : source;
}
