/**
 * `gq verify parity DIR` compares this machine's numbers with stored ones. `gq verify adapters` checks what must hold for every
 * adapter family, on a tiny random model. `gq verify arm RECIPE` runs the label-flip check on any recipe, plugins included.
 */
import { wrapText } from '../../base/index.ts';
import { scratchFolder } from '../../base/node/index.ts';
import { openDevice, resolveConfig } from '../../lab/index.ts';
import { type Check, type LabelFlip, verifyAdapters, verifyLabelFlip, verifyParity } from '../../verify/index.ts';
import { argument, type CommandContext, command, flag, whole, word } from '../command.ts';
import { configOption, deviceOption } from '../options.ts';
import { Progress } from '../terminal/progress.ts';
import { screenWidth } from '../terminal/screen.ts';
import { checksJson, renderChecks } from '../terminal/tables.ts';

interface Report {
  readonly device: string;
  readonly checks: readonly Check[];
  readonly notes?: readonly { readonly case: string; readonly note: string }[];
}

function show(report: Report, title: string, json: boolean, context: CommandContext): void {
  const width = screenWidth(context.stdout);
  context.stdout.write(json ? checksJson(report) : renderChecks(report.checks, `${title} on ${report.device}`, width));
  for (const { case: name, note } of report.notes ?? [])
    if (!json) context.stdout.write(`${wrapText(`note: ${name}: ${note}`, width)}\n`);
  if (report.checks.some(({ pass }) => !pass)) context.exitCode = 1;
}

const options = {
  device: deviceOption,
  json: flag('print {checks: [{case, quantity, maxAbs, maxRel, bound, pass}]}'),
};
const exits = { 1: 'a check fails' };

export const parityCommand = command({
  arguments: { dir: argument('<dir>', 'a folder laid out like test/golden') },
  options,
  examples: ['gq verify parity test/golden', 'gq verify parity DIR --device reference --json'],
  exits,
  async run({ dir, device: name, json }, context) {
    using device = await openDevice(name, { precision: 'f32' });
    show(await verifyParity(device, dir), 'Parity', json, context);
  },
});

export const adaptersCommand = command({
  options,
  examples: ['gq verify adapters'],
  exits,
  async run({ device: name, json }, context) {
    using device = await openDevice(name, { precision: 'f32' });
    show(await verifyAdapters(device), 'Adapter invariants', json, context);
  },
});

export const armCommand = command({
  arguments: { recipe: word('[recipe]', 'a TOML recipe, with plugins or without; without one, the defaults') },
  options: {
    set: configOption,
    updates: whole('<n>', 'updates of each of the two runs', { usual: 5 }),
    json: flag('print {checks, usesLabels, sources, trained, pinned}'),
  },
  examples: ['gq verify arm recipes/micro-activation.toml', 'gq verify arm my-gate.toml --updates 2 --json'],
  exits: { 1: 'labels reach training' },
  async run({ recipe = null, set, updates, json }, context) {
    const { config } = await resolveConfig(recipe, set);
    using folder = scratchFolder('gq-arm-');
    const bar = new Progress(context.stderr, 'update', 2 * updates);
    const flip = await verifyLabelFlip(config, { updates, folder: folder.path, onUpdate: (done) => bar.show(done) });
    context.stdout.write(json ? checksJson(flip) : renderFlip(flip, screenWidth(context.stdout)));
    if (flip.checks.some(({ pass }) => !pass)) context.exitCode = 1;
  },
});

function renderFlip({ checks, usesLabels, sources, trained, pinned }: LabelFlip, width: number): string {
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
