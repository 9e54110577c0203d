/**
 * `gq verify parity DIR` compares this machine's numbers with stored ones. `gq verify adapters` checks what must hold for every
 * adapter family, on a tiny random model. Both print one line per check; exit 1 when one fails.
 */
import type { Command } from 'commander';
import { wrapText } from '../../base/index.ts';
import { deviceNames, openDevice } from '../../lab/index.ts';
import type { Check } from '../../verify/index.ts';
import type { CommandContext } from '../command.ts';
import { examplesText } from '../command.ts';
import { checksJson, renderChecks } from '../terminal/check-table.ts';
import { screenWidth } from '../terminal/screen.ts';
import { configureVerifyArm } from './verify-arm.ts';
import { configureEnvironmentChecks } from './verify-environment.ts';

interface VerifyOptions {
  readonly device: string;
  readonly json?: true;
}

interface Report {
  readonly device: string;
  readonly checks: readonly Check[];
  readonly notes?: readonly { readonly case: string; readonly note: string }[];
}

function show(report: Report, title: string, { json }: VerifyOptions, context: CommandContext): void {
  const width = screenWidth(context.stdout);
  context.stdout.write(json ? checksJson(report) : renderChecks(report.checks, `${title} on ${report.device}`, width));
  for (const { case: name, note } of report.notes ?? [])
    if (!json) context.stdout.write(`${wrapText(`note: ${name}: ${note}`, width)}\n`);
  if (report.checks.some(({ pass }) => !pass)) context.exitCode = 1;
}

async function parity(directory: string, options: VerifyOptions, context: CommandContext): Promise<void> {
  const { verifyParity } = await import('../../verify/index.ts');
  using device = await openDevice(options.device, { precision: 'f32' });
  show(await verifyParity(device, directory), 'Parity', options, context);
}

async function adapters(options: VerifyOptions, context: CommandContext): Promise<void> {
  const { verifyAdapters } = await import('../../verify/index.ts');
  using device = await openDevice(options.device, { precision: 'f32' });
  show(await verifyAdapters(device), 'Adapter invariants', options, context);
}

export function configureVerify(command: Command, context: CommandContext): void {
  command
    .helpCommand(false)
    .addHelpText(
      'after',
      examplesText(
        'gq verify parity test/golden',
        'gq verify parity DIR --device reference --json',
        'gq verify adapters',
        'gq verify arm recipes/micro-activation.toml',
      ),
    );
  const add = (name: string): Command =>
    command
      .command(name)
      .option('--device <name>', deviceNames.join(' or '), 'wasm')
      .option('--json', 'print {checks: [{case, quantity, maxAbs, maxRel, bound, pass}]}');
  add('parity')
    .description('compare models, a GRPO step and bases with stored values, for every case in the folder')
    .argument('<dir>', 'a folder laid out like test/golden')
    .action((directory: string, options: VerifyOptions) => parity(directory, options, context));
  add('adapters')
    .description('check zero start, routes, mixed batches, ablation, packing and sampling on a tiny random model')
    .action((options: VerifyOptions) => adapters(options, context));
  configureEnvironmentChecks(command, context);
  configureVerifyArm(command, context);
}
