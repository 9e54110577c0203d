/** `gq verify arm RECIPE`: runs the label-flip check on any recipe, plugins included. */
import type { Command } from 'commander';
import { wrapText } from '../../base/index.ts';
import { scratchFolder } from '../../base/node/index.ts';
import { resolveConfig } from '../../lab/index.ts';
import type { LabelFlip } from '../../verify/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { checksJson, renderChecks } from '../terminal/check-table.ts';
import { Progress } from '../terminal/progress.ts';
import { screenWidth } from '../terminal/screen.ts';
import { collect, parseWholeNumber } from '../values.ts';

interface ArmOptions {
  readonly set: readonly string[];
  readonly updates: string;
  readonly json?: boolean;
}

export function configureVerifyArm(command: Command, context: CommandContext): void {
  command
    .command('arm')
    .description(
      'check that an arm sees no labels: train twice with the same rewards, once with flipped verdicts, and compare the bytes',
    )
    .argument('[recipe]', 'a TOML recipe, with plugins or without; without one, the defaults')
    .option('--set <key=value>', 'change one key of the config; may be repeated', collect, [])
    .option('--updates <n>', 'updates of each of the two runs', '5')
    .option('--json', 'print {checks, usesLabels, sources, trained, pinned}')
    .addHelpText(
      'after',
      examplesText('gq verify arm recipes/micro-activation.toml', 'gq verify arm my-gate.toml --updates 2 --json'),
    )
    .action((recipe: string | undefined, options: ArmOptions) => verifyArm(recipe, options, context));
}

async function verifyArm(recipe: string | undefined, options: ArmOptions, context: CommandContext): Promise<void> {
  const updates = parseWholeNumber(options.updates, '--updates', 1);
  const { config } = await resolveConfig(recipe ?? null, options.set);
  const { verifyLabelFlip } = await import('../../verify/index.ts');
  using folder = scratchFolder('gq-arm-');
  const bar = new Progress(context.stderr, 'update', 2 * updates);
  const flip = await verifyLabelFlip(config, { updates, folder: folder.path, onUpdate: (done) => bar.show(done) });
  context.stdout.write(options.json ? checksJson(flip) : render(flip, screenWidth(context.stdout)));
  if (flip.checks.some(({ pass }) => !pass)) context.exitCode = 1;
}

function render({ checks, usesLabels, sources, trained, pinned }: LabelFlip, width: number): string {
  const notes = [
    `${pinned} of ${trained} rollouts were kept or routed; the others trained both blocks.`,
    ...(usesLabels
      ? [`Labels reach training: ${sources.join('; ')}. It must fail this check, and the manifests of its runs say so.`]
      : []),
    ...(pinned === 0 && !usesLabels
      ? ['Nothing was kept or routed: a gate may need more updates to show what it reads.']
      : []),
  ];
  return `${renderChecks(checks, 'Labels flipped', width)}${wrapText(notes.join('\n'), width)}\n`;
}
