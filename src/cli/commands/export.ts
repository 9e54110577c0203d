/** `gq export SOURCE --to DIR`: the policy without its quarantine, certified; with --log, files of another viewer. */
import { InvalidArgumentError } from 'commander';
import { type AdaptedState, isPolicyState, scaleOf } from '../../adapters/policy-state.ts';
import { UserError } from '../../base/index.ts';
import { createFolder } from '../../base/node/index.ts';
import type { DeletionCertificate, LogFormat } from '../../export/index.ts';
import { exportInspect, exportMetrics, exportPolicy, logFolder, logFormats } from '../../export/index.ts';
import { RunDirectory } from '../../run/index.ts';
import { argument, type CommandContext, choice, command, type Part, whole, wholes, word } from '../command.ts';
import { expectAbsent, expectNewFolder } from '../shared.ts';

const formats = { peft: ['peft'], merged: ['merged'], both: ['peft', 'merged'] } as const;
const dtypes = { float32: 'F32', float16: 'F16', bfloat16: 'BF16' } as const;
const namesIn = <N extends string>(table: Readonly<Record<N, unknown>>) => Object.keys(table) as N[];

const state: Part<AdaptedState | undefined> = {
  takes: '<name>',
  about: 'without the quarantine, as trained, or with the quarantine scaled by any number; deployed when absent',
  choices: ['deployed', 'full', 'scale-0.25'],
  read: (word) => {
    if (isPolicyState(word) && word !== 'base') return word;
    throw new InvalidArgumentError('Expected deployed, full, or a scale of the quarantine such as scale-0.25.');
  },
};

export const exportCommand = command({
  arguments: { source: argument('<source>', 'a run, one of its checkpoint folders, or a file of adapter tensors') },
  options: {
    to: word(
      '<dir>',
      'the folder to write: peft/, merged/ and deletion-certificate.json (export-record.json with another --state than deployed); with --log, logs/VIEWER of the run when absent',
    ),
    state,
    format: choice('<kind>', 'what to write; both when absent', namesIn(formats)),
    dtype: choice('<name>', 'format of the merged weights; as stored when absent', namesIn(dtypes)),
    model: word('<dir>', "the model folder the adapter was trained on; a run's own when absent"),
    update: whole('<n>', 'update of the checkpoint of a run; the last one when absent', { least: 0 }),
    baseName: word(
      '<name>',
      'what the PEFT config and the cards call the base model; its name on the hub or its folder when absent',
    ),
    labels: choice(
      '<part>',
      'whether labels had a part in training a file of adapter tensors that does not say; unknown, which counts as used, when absent',
      ['none', 'used'],
    ),
    device: word('<name>', 'device to compute on; wasm when absent'),
    log: choice('<viewer>', 'write a log for this viewer instead', logFormats),
    updates: wholes('<list>', '--log inspect: updates whose rollouts to write, e.g. 10,20; the last one when absent'),
  },
  json: 'the certificate as JSON',
  examples: [
    'gq export runs/first --to OUT',
    'gq export runs/vanilla-1 --state full --to OUT',
    'gq export runs/activation-1 --state scale-0.25 --to OUT',
    'gq export adapter.safetensors --model DIR --to OUT',
    'gq export adapter.safetensors --model DIR --to OUT --format peft --base-name Qwen/Qwen3-4B',
    'gq export runs/activation-1 --log tensorboard',
    'gq export runs/activation-1 --log inspect --updates 10,60',
  ],
  exits: { 1: 'the certificate does not hold, and nothing is written' },
  async run({ log, updates, ...call }, context) {
    const { source, to } = call;
    if (log !== undefined) {
      const others = ['state', 'format', 'dtype', 'model', 'update', 'baseName', 'labels', 'device', 'json'];
      expectAbsent(call, others, 'with --log');
      return await exportLog(source, log, to, updates ?? null, context);
    }
    expectAbsent({ updates }, ['updates'], 'without --log inspect');
    if (to === undefined) throw new UserError({ call: `gq export ${source}`, expected: '--to DIR', found: 'none' });
    expectNewFolder(to, '--to');
    const { format = 'both', dtype, device = 'wasm' } = call;
    const { certificate, hasQuarantine } = await exportPolicy({
      ...{ ...call, to, device, formats: formats[format] },
      dtype: dtype === undefined ? null : dtypes[dtype],
    });
    const text = (): string => certificateText(certificate, to, hasQuarantine);
    return { value: certificate, text, isNo: !certificate.holds };
  },
});

function certificateText(certificate: DeletionCertificate, to: string, hasQuarantine: boolean): string {
  const { parts, quarantine, adapter, state, base, findings, words: marks, holds } = certificate;
  const isWhole = state !== 'deployed';
  const words = state === 'full' ? 'as trained' : `with the quarantine at ${scaleOf(state, 0)}`;
  const lines = parts.map((part) => {
    const { format, dtype, tensors, quarantineFound: left } = part;
    const logits = `${part.maxLogitDifference.toExponential(2)} of ${part.largestLogit.toFixed(2)}`;
    const clean = isWhole ? words : 'no quarantine tensor';
    const found = left.length === 0 ? clean : `FOUND ${left.slice(0, 3).join('; ')}`;
    const verdict = part.holds ? 'holds' : 'DOES NOT HOLD';
    return `${format.padEnd(6)}  ${dtype}  largest logit difference ${logits} (at most ${part.bound} of it)  ${tensors.length} tensors, ${found}  ${verdict}`;
  });
  const effect = `the quarantine of this ${adapter.family} adapter moves logits by up to ${quarantine.effect.toExponential(2)}`;
  const removed = isWhole
    ? `${words[0].toUpperCase()}${words.slice(1)}, nothing deleted${hasQuarantine ? `; ${effect}` : ''}. Quarantine in these weights: ${marks.quarantine}.`
    : `The policy as deployed: ${effect}, and ${findings.length === 0 ? 'is deleted' : `is left out, but ${findings.join('; ')}`}.`;
  const trainedOn = base.isTrainedOn
    ? 'which the adapter was trained on'
    : 'as given: the adapter does not say what it was trained on';
  const named = `The base is ${base.directory} (${base.hash.slice(0, 12)}), ${trainedOn}.`;
  const written = holds ? `Written to ${to}.` : 'Nothing was written.';
  return `${[...lines, named, `${removed} ${written}`].join('\n')}\n`;
}

const commandFor: Readonly<Record<LogFormat, (folder: string) => string>> = {
  tensorboard: (folder) => `tensorboard --logdir ${folder}`,
  wandb: (folder) => `wandb sync ${folder}/offline-run-*`,
  trackio: (folder) => `python -c "import trackio; trackio.import_csv('${folder}/trackio.csv', project='gq')"`,
  inspect: (folder) => `inspect view --log-dir ${folder}`,
};

async function exportLog(
  path: string,
  format: LogFormat,
  to: string | undefined,
  updates: readonly number[] | null,
  context: CommandContext,
): Promise<undefined> {
  const run = RunDirectory.open(path);
  const folder = to ?? logFolder(run, format);
  expectNewFolder(folder, '--to');
  let count = 0;
  // Where the disk is full, half a log would stand in the way of the next call.
  await createFolder(folder, async (made) => {
    const written = format === 'inspect' ? exportInspect(run, made, updates) : exportMetrics(run, format, made);
    ({ count } = await written);
  });
  context.stdout.write(`${folder}\n`);
  const what = format === 'inspect' ? 'logs of samples' : 'points';
  context.stderr.write(`${count} ${what}; look at them with: ${commandFor[format](folder)}\n`);
}
