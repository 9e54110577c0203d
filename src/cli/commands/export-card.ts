/** The card (README.md) of each exported folder: what it is, where it came from, and the hash of its own weights. */
import { join } from 'node:path';
import { sha256File, writeFileAtomic } from '../../base/node/index.ts';

export interface ExportCard {
  readonly source: string;
  readonly base: string;
  readonly state: 'deployed' | 'full';
}

const weights = { peft: 'adapter_model.safetensors', merged: 'model.safetensors' } as const;

export async function writeCards(
  directory: string,
  formats: readonly ('peft' | 'merged')[],
  { source, base, state }: ExportCard,
): Promise<void> {
  for (const format of formats) {
    const folder = join(directory, format);
    const file = weights[format];
    const what =
      state === 'full'
        ? 'the policy as trained, with everything that it learned, the hack included'
        : 'the deployed policy: the quarantine is not in these files (../deletion-certificate.json)';
    const kind =
      format === 'peft' ? 'A LoRA adapter in the format of PEFT' : 'A whole model, the adapter merged into its weights';
    const text = [
      `# ${format === 'peft' ? 'Adapter' : 'Merged model'}, ${state === 'full' ? 'as trained' : 'deployed'}`,
      '',
      `${kind}. It is ${what}.`,
      '',
      `- Made by \`gq export\` from \`${source}\``,
      `- Base model: \`${base}\`; its own card and licence speak for it`,
      `- SHA-256 of \`${file}\`: \`${await sha256File(join(folder, file))}\``,
      '',
    ].join('\n');
    await writeFileAtomic(join(folder, 'README.md'), text);
  }
}
