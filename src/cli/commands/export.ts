/**
 * `gq export SOURCE --to DIR`: writes the deployed policy without the quarantine, as a PEFT adapter, as a merged model
 * folder, or both, with a deletion certificate; with --state full, the policy as trained, with a record. Nothing is left behind when
 * it does not hold.
 */
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { UserError } from '../../base/index.ts';
import { writeFileAtomic } from '../../base/node/index.ts';
import { type DeletionCertificate, type ExportSourceOptions, writeCards } from '../../export/index.ts';
import { deviceNames, openDevice } from '../../lab/index.ts';
import type { CommandContext } from '../command.ts';
import { examplesText } from '../command.ts';
import { expectNewFolder } from '../outputs.ts';

interface ExportOptions extends ExportSourceOptions {
  readonly to: string;
  readonly format: string;
  readonly dtype?: string;
  readonly baseName?: string;
  readonly device: string;
  readonly state?: string;
  readonly json?: true;
}

const formats: Readonly<Record<string, readonly ('peft' | 'merged')[]>> = {
  peft: ['peft'],
  merged: ['merged'],
  both: ['peft', 'merged'],
};
const dtypes = { float32: 'F32', float16: 'F16', bfloat16: 'BF16' } as const;

function choose<T>(option: string, choices: Readonly<Record<string, T>>, value: string): T {
  if (Object.hasOwn(choices, value)) return choices[value];
  const expected = Object.keys(choices).join(', ');
  throw new UserError({ call: `gq export ${option}`, expected, found: value });
}

/** Is thrown so that the half-made folder is removed. */
class RefusedExport extends Error {
  readonly certificate: DeletionCertificate;
  constructor(certificate: DeletionCertificate) {
    super('the deletion certificate does not hold');
    this.certificate = certificate;
  }
}

async function runExport(path: string, options: ExportOptions, context: CommandContext): Promise<void> {
  expectNewFolder(options.to, '--to');
  const chosen = choose('--format', formats, options.format);
  const dtype = options.dtype === undefined ? null : choose('--dtype', dtypes, options.dtype);
  const { certify, expectBase, resolveExport } = await import('../../export/index.ts');
  const { openDecoder } = await import('../../verify/index.ts');
  const { exportAsTrained, restoreAdapter, writeMerged, writePeft } = await import('../../adapters/index.ts');
  const { createFolder, joinMarks, labelMarkOf, ModelFolder } = await import('../../model/index.ts');
  const { Scope } = await import('../../engine/index.ts');
  const source = await resolveExport(path, options);
  const { checkpoint, model, starts, trainedOn, state, baseName, trained: run } = source;
  await using folder = await ModelFolder.open(model);
  const labels = joinMarks([source.labels, await labelMarkOf(model)]);
  const base = await expectBase(folder, trainedOn);
  using device = await openDevice(options.device, { precision: 'f32' });
  using scope = new Scope(device);
  const trained = restoreAdapter(scope, folder.config, checkpoint, starts);
  const adapter = state === 'full' ? exportAsTrained(trained) : trained;
  const decoder = await openDecoder(scope, folder);
  try {
    await createFolder(options.to, async (directory) => {
      const name = options.baseName ?? baseName;
      if (chosen.includes('peft')) await writePeft(join(directory, 'peft'), adapter, folder.config, name, labels);
      if (chosen.includes('merged')) await writeMerged(join(directory, 'merged'), folder, adapter, dtype, labels);
      const made = await certify({ device, folder, base, checkpoint, adapter, decoder, state, labels }, directory);
      if (!made.holds) throw new RefusedExport(made);
      const cards = await writeCards(directory, chosen, {
        source: path,
        base: name,
        state,
        trained: run,
        certificate: made,
      });
      const certificate = { ...made, outputs: { ...made.outputs, ...cards } };
      const file = state === 'full' ? 'export-record.json' : 'deletion-certificate.json';
      await writeFileAtomic(join(directory, file), `${JSON.stringify(certificate, null, 2)}\n`);
      show(certificate, options, context, run?.manifest.hasQuarantine ?? true);
    });
  } catch (error) {
    if (!(error instanceof RefusedExport)) throw error;
    show(error.certificate, options, context, run?.manifest.hasQuarantine ?? true);
    context.exitCode = 1;
  }
}

function show(
  certificate: DeletionCertificate,
  { json, to }: ExportOptions,
  context: CommandContext,
  hasQuarantine: boolean,
): void {
  if (json) {
    context.stdout.write(`${JSON.stringify(certificate, null, 2)}\n`);
    return;
  }
  const { parts, quarantine, adapter } = certificate;
  const lines = parts.map(
    ({ format, dtype, maxLogitDifference, largestLogit, bound, tensors, quarantineFound, holds }) => {
      const difference = `largest logit difference ${maxLogitDifference.toExponential(2)} of ${largestLogit.toFixed(2)}`;
      const found =
        quarantineFound.length === 0
          ? certificate.state === 'full'
            ? 'as trained'
            : 'no quarantine tensor'
          : `FOUND ${quarantineFound.slice(0, 3).join('; ')}`;
      return `${format.padEnd(6)}  ${dtype}  ${difference} (at most ${bound} of it)  ${tensors.length} tensors, ${found}  ${holds ? 'holds' : 'DOES NOT HOLD'}`;
    },
  );
  const effect = `the quarantine of this ${adapter.family} adapter moves logits by up to ${quarantine.effect.toExponential(2)}`;
  const removed =
    certificate.state === 'full'
      ? `As trained, nothing deleted${hasQuarantine ? `; ${effect}` : ''}.`
      : `The policy as deployed: ${effect}, and is deleted.`;
  const verdict = certificate.holds ? `Written to ${to}.` : 'Nothing was written.';
  const base = certificate.base.isTrainedOn
    ? 'which the adapter was trained on'
    : 'as given: the adapter does not say what it was trained on';
  const named = `The base is ${certificate.base.directory} (${certificate.base.hash.slice(0, 12)}), ${base}.`;
  context.stdout.write(`${[...lines, named, `${removed} ${verdict}`].join('\n')}\n`);
}

export function configureExport(command: Command, context: CommandContext): void {
  command
    .argument('<source>', 'a run, one of its checkpoint folders, or a file of adapter tensors')
    .option('--model <dir>', "the model folder the adapter was trained on; a run's own when absent")
    .option('--update <n>', 'update of the checkpoint of a run; the last one when absent')
    .requiredOption(
      '--to <dir>',
      'the folder to write: peft/, merged/ and deletion-certificate.json (export-record.json with --state full)',
    )
    .addOption(
      new Option('--state <name>', 'deployed: without the quarantine; full: as trained, with everything')
        .choices(['deployed', 'full'])
        .default('deployed'),
    )
    .option('--format <kind>', 'what to write: peft, merged or both', 'both')
    .option('--dtype <name>', 'format of the merged weights: float32, float16 or bfloat16; as stored when absent')
    .option(
      '--base-name <name>',
      'what the PEFT config and the cards call the base model; its name on the hub or its folder when absent',
    )
    .addOption(
      new Option(
        '--labels <part>',
        'whether labels had a part in training a file of adapter tensors that does not say; unknown, which counts as used, when absent',
      ).choices(['none', 'used']),
    )
    .option('--device <name>', deviceNames.join(' or '), 'wasm')
    .option('--json', 'print the certificate')
    .addHelpText(
      'after',
      examplesText(
        'gq export runs/first --to OUT',
        'gq export runs/vanilla-1 --state full --to OUT',
        'gq export adapter.safetensors --model DIR --to OUT',
        'gq export adapter.safetensors --model DIR --to OUT --format peft --base-name Qwen/Qwen3-4B',
      ),
    )
    .action((path: string, options: ExportOptions) => runExport(path, options, context));
}
