/** `gq config`: what a recipe and settings resolve to, and where each value came from. `gq recipes`: the recipes of the package. */
import { cutText, padText } from '../../base/index.ts';
import { readRegularText } from '../../base/node/index.ts';
import { resolveConfig } from '../../lab/config.ts';
import { loadParts } from '../../lab/plugins.ts';
import { readConfig } from '../../run/config/config.ts';
import { type ConfigOutline, outlineConfig } from '../../run/config/outline.ts';
import { configPage } from '../../run/config/page.ts';
import { listRecipes, recipeName, recipePath, type ShippedRecipe } from '../../run/config/recipes.ts';
import { command, flag, word } from '../command.ts';
import { configOption } from '../shared.ts';
import { Screen } from '../terminal/screen.ts';

export const configCommand = command({
  arguments: { recipe: word('[recipe]', 'a TOML recipe; without one, the defaults') },
  options: {
    set: configOption,
    reference: flag('print the reference page of all keys instead, with those of the recipe’s plugins'),
  },
  json: '{config, hash, sources, missing, meaning}',
  examples: [
    'gq config micro-activation',
    'gq config micro-vanilla --set seed=2 --json',
    'gq config micro-base --set monitor.kind=probe --set remedy.kind=screen',
    'gq config --reference > docs/config.md',
  ],
  async run({ recipe = null, set, reference }, { stdout }) {
    const raw = readConfig(recipe, set);
    const parts = await loadParts(raw.plugins);
    if (reference) return void stdout.write(configPage(parts));
    const outline = outlineConfig(raw, parts);
    // What a start would refuse is refused here too.
    if (outline.hash !== null) await resolveConfig(recipe, set);
    return { value: outlineValue(outline), text: () => renderOutline(outline) };
  },
});

function outlineValue({ keys, hash, missing, meaning }: ConfigOutline): object {
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
  return { config, hash, sources, missing, meaning };
}

const widest = 32;

function renderOutline({ keys, hash, missing, meaning }: ConfigOutline): string {
  const rows = keys.map(({ path, source, ...key }) => [
    path,
    'value' in key ? JSON.stringify(key.value) : '-',
    showSource(source),
  ]);
  const widths = [0, 1].map((column) => Math.min(widest, Math.max(...rows.map((row) => row[column].length))));
  const lines = rows.map(([path, value, source]) => `${path.padEnd(widths[0])}  ${value.padEnd(widths[1])}  ${source}`);
  const end = hash === null ? `must be given before a run can start: ${missing.join(', ')}` : `hash ${hash}`;
  return `${[...lines, ...meaningLines(meaning), end].join('\n')}\n`;
}

function meaningLines(meaning: ConfigOutline['meaning']): string[] {
  if (meaning === null) return [];
  const { costs, placebos, ...parts } = meaning;
  const tables = Object.entries(parts).map(([part, { kind, ...keys }]) => {
    const values = Object.entries(keys).map(([key, value]) => `${key} ${JSON.stringify(value)}`);
    return `[${part}] ${[kind, ...values].join(', ')}`;
  });
  return [
    'what the arm is made of:',
    ...tables.map((line) => `  ${line}`),
    `  costs ${costs.join(', ') || 'nothing'}`,
    `  placebos ${placebos.join(', ') || 'none'}`,
  ];
}

const showSource = (source: string): string => (source.endsWith('.toml') ? recipeName(source) : source);

const commandOf = { run: 'gq train', experiment: 'gq experiment' } as const;

function renderRecipes(recipes: readonly ShippedRecipe[], columns: number): string {
  const width = Math.max(...recipes.map(({ name }) => name.length));
  const blocks = (['run', 'experiment'] as const).map((kind) => {
    const own = recipes.filter((recipe) => recipe.kind === kind);
    const lines = own.map(({ name, summary }) => cutText(`  ${padText(name, width)}  ${summary}`, columns));
    return [`${commandOf[kind]} NAME`, ...lines].join('\n');
  });
  return `${blocks.join('\n\n')}\n`;
}

export const recipesCommand = command({
  arguments: { recipe: word('[recipe]', 'a recipe whose text to print') },
  json: 'the list as JSON: name, kind (run or experiment), summary',
  examples: ['gq recipes', 'gq recipes micro-activation > mine.toml', 'gq config micro-activation'],
  run({ recipe }, { stdout }) {
    if (recipe !== undefined) return void stdout.write(readRegularText(recipePath(recipe)));
    const recipes = listRecipes();
    return { value: recipes, text: () => renderRecipes(recipes, Screen.of(stdout).lineWidth) };
  },
});
