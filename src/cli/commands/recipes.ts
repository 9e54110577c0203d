/** `gq recipes`: the recipes of the package by name, with what each is for; with a name, its text. */
import type { Command } from 'commander';
import { cutText, padText } from '../../base/index.ts';
import { readRegularText } from '../../base/node/index.ts';
import { listRecipes, recipePath, type ShippedRecipe } from '../../run/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { Screen } from '../terminal/screen.ts';

const commandOf = { run: 'gq train', experiment: 'gq experiment' } as const;

/** On a terminal every recipe takes one line; elsewhere nothing is cut. */
function renderRecipes(recipes: readonly ShippedRecipe[], columns: number): string {
  const width = Math.max(...recipes.map(({ name }) => name.length));
  const blocks = (['run', 'experiment'] as const).map((kind) => {
    const own = recipes.filter((recipe) => recipe.kind === kind);
    const lines = own.map(({ name, summary }) => cutText(`  ${padText(name, width)}  ${summary}`, columns));
    return [`${commandOf[kind]} NAME`, ...lines].join('\n');
  });
  return `${blocks.join('\n\n')}\n`;
}

export function configureRecipes(command: Command, context: CommandContext): void {
  command
    .argument('[recipe]', 'a recipe whose text to print')
    .option('--json', 'print the list as JSON: name, kind (run or experiment), summary')
    .addHelpText(
      'after',
      examplesText('gq recipes', 'gq recipes micro-activation > mine.toml', 'gq config micro-activation'),
    )
    .action((recipe: string | undefined, { json }: { readonly json?: true }) => {
      if (recipe !== undefined) {
        context.stdout.write(readRegularText(recipePath(recipe)));
        return;
      }
      const recipes = listRecipes();
      const screen = Screen.of(context.stdout);
      const columns = screen.isTTY ? screen.columns : Number.POSITIVE_INFINITY;
      context.stdout.write(json ? `${JSON.stringify(recipes, null, 2)}\n` : renderRecipes(recipes, columns));
    });
}
