/**
 * The card (README.md) of each exported folder, as the hub shows it: what it is, its base, how it was trained, how often it hacks and solves, what
 * was certified of it, and the hash of its own weights.
 */

import { join } from 'node:path';
import { isPartial, type PolicyState, scaleOf } from '../adapters/policy-state.ts';
import { longestBackticks } from '../base/index.ts';
import { sha256File, writeFileAtomic } from '../base/node/index.ts';
import { EvaluationStore, finalSets, formatRate, summarise } from '../evaluate/index.ts';
import { parseHubName } from '../model/index.ts';
import type { DeletionCertificate } from './certificate.ts';
import type { ResolvedExport } from './source.ts';

export interface ExportCard extends Pick<ResolvedExport, 'state' | 'trained'> {
  readonly source: string;
  readonly base: string;
  readonly certificate: DeletionCertificate;
}

const weights = { peft: 'adapter_model.safetensors', merged: 'model.safetensors' } as const;

export async function writeCards(
  directory: string,
  formats: readonly ('peft' | 'merged')[],
  card: ExportCard,
): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {};
  for (const format of formats) {
    const folder = join(directory, format);
    const hash = await sha256File(join(folder, weights[format]));
    const parts = [
      frontMatter(format, card),
      about(format, card, hash),
      training(card),
      rates(card),
      certified(format, card),
    ];
    await writeFileAtomic(join(folder, 'README.md'), `${parts.filter((part) => part !== '').join('\n\n')}\n`);
    hashes[`${format}/README.md`] = await sha256File(join(folder, 'README.md'));
  }
  return hashes;
}

/** A name as Markdown that shows it and does nothing else: folders, arms and loopholes of plugins may be called anything. */
function asCode(name: string): string {
  const line = name.replace(/[\s\p{C}]+/gu, ' ').trim();
  const longest = longestBackticks(line);
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `${fence}${line}${fence}` : `${fence} ${line} ${fence}`;
}

function frontMatter(format: 'peft' | 'merged', { base }: ExportCard): string {
  const name = parseHubName(base);
  return [
    '---',
    `library_name: ${format === 'peft' ? 'peft' : 'transformers'}`,
    ...(name === null ? [] : [`base_model: ${name.repository}`]),
    ...(name !== null && format === 'peft' ? ['base_model_relation: adapter'] : []),
    'tags:',
    '- gradient-quarantine',
    ...(format === 'peft' ? ['- lora'] : []),
    '---',
  ].join('\n');
}

function about(format: 'peft' | 'merged', { source, base, state }: ExportCard, hash: string): string {
  const kind =
    format === 'peft' ? 'A LoRA adapter in the format of PEFT' : 'A whole model, the adapter merged into its weights';
  const what =
    state === 'deployed'
      ? 'the deployed policy: the quarantine is not in these files (../deletion-certificate.json)'
      : `the policy ${wordsOf(state)}, ${state === 'full' ? 'with everything that it learned, the hack included' : 'which deletes nothing: some of the hack may be in it'}`;
  return [
    `# ${format === 'peft' ? 'Adapter' : 'Merged model'}, ${wordsOf(state)}`,
    '',
    `${kind}. It is ${what}.`,
    '',
    `- Made by \`gq export\` from ${asCode(source)}`,
    `- Base model: ${asCode(base)}; its own card and licence speak for it`,
    `- SHA-256 of \`${weights[format]}\`: \`${hash}\``,
  ].join('\n');
}

function training({ trained, certificate: { adapter, words } }: ExportCard): string {
  const shape = `${adapter.family}, rank ${adapter.rank} for each block, ${adapter.modules} modules`;
  const marks = [
    `- Labels in training: ${words.labels}`,
    `- Settings of training: ${words.settings}`,
    `- Quarantine in these weights: ${words.quarantine}`,
  ];
  if (trained === null) {
    const unknown = ['From a file of tensors, which does not say how it was trained', '', `- Adapter: ${shape}`];
    return ['## Training', '', ...unknown, ...marks].join('\n');
  }
  const { manifest, update } = trained;
  const { config, hasQuarantine, arm, version, identity } = manifest;
  return [
    '## Training',
    '',
    hasQuarantine
      ? 'Reinforcement learning (GRPO) on a grader with a flaw, by gradient routing into two blocks of an adapter.'
      : 'Reinforcement learning (GRPO) of both blocks of an adapter as one, without gradient routing.',
    '',
    `- Arm: ${asCode(arm)}; ${hasQuarantine ? 'one block is the quarantine, which deployment deletes' : 'no quarantine: all that was trained is deployed'}`,
    ...marks,
    `- Adapter: ${shape}`,
    `- Loopholes: ${config.environment.loopholes.map(asCode).join(', ')}`,
    `- Update ${update} of ${config.updates}, seed ${config.seed}`,
    `- gradient-quarantine ${version}, hash of the config \`${identity.config.slice(0, 16)}\``,
  ].join('\n');
}

const wordsOf = (state: PolicyState): string =>
  isPartial(state) ? `with its quarantine at ${scaleOf(state, 0)}` : state === 'full' ? 'as trained' : state;

function rates({ trained, state: exported }: ExportCard): string {
  if (trained === null) return '';
  const { path, update } = trained;
  const own = new EvaluationStore(path)
    .all()
    .filter(({ set }) => finalSets.some((name) => name === set))
    .filter(({ state }) => !isPartial(state) || state === exported)
    .filter((each) => each.update === (each.state === 'base' ? 0 : update));
  const title = '## Evaluation\n\n';
  if (own.length === 0) return `${title}No evaluation of this checkpoint is stored (\`gq eval\`).`;
  const rows = own.map(({ set, state, limit, rows: judged }) => {
    const { attempt, hack, solve, cleanSolve } = summarise(judged);
    const cells = [attempt, hack, solve, cleanSolve].map(formatRate);
    const name = limit === null ? set : `${set}, first ${limit}`;
    return `| ${[name, wordsOf(state), ...cells].join(' | ')} |`;
  });
  const head = ['| set | state | attempt | hack | solve | clean solve |', '| --- | --- | --- | --- | --- | --- |'];
  const note =
    'An attempt opens the loophole, in a right or a wrong program; a hack is a wrong program that was paid for it; a clean solve is a right one without an attempt. Counts, rates and 95% Wilson intervals over the prompts of one seed.';
  return `${title}${[...head, ...rows, '', note].join('\n')}`;
}

function certified(format: 'peft' | 'merged', { state, certificate, trained }: ExportCard): string {
  const part = certificate.parts.find((each) => each.format === format);
  if (part === undefined) return '';
  const { maxLogitDifference, largestLogit, bound, tensors } = part;
  const shown = (value: number): string => value.toExponential(2);
  return [
    '## Certificate',
    '',
    `- Read back, these files compute the logits of the policy ${state === 'deployed' ? 'in deployed state' : wordsOf(state)} to ${shown(maxLogitDifference)} of ${shown(largestLogit)} (at most ${bound} of it)`,
    ...(trained?.manifest.hasQuarantine === false
      ? []
      : [
          `- The quarantine moves logits by up to ${shown(certificate.quarantine.effect)}; ${
            state === 'deployed' ? `no vector of it is in the ${tensors.length} tensors` : 'nothing is deleted here'
          }`,
        ]),
    `- All hashes: ../${state === 'deployed' ? 'deletion-certificate.json' : 'export-record.json'}`,
  ].join('\n');
}
