/**
 * Writes the policy of a source as a PEFT adapter, as a merged model folder, or both, with cards and a certificate. Nothing is left behind
 * when that does not hold.
 */
import { join } from 'node:path';
import { exportAtScale, restoreAdapter, scaleOf, writeMerged, writePeft } from '../adapters/index.ts';
import { writeFileAtomic } from '../base/node/index.ts';
import { Scope } from '../engine/index.ts';
import { openDevice } from '../lab/index.ts';
import { createFolder, joinMarks, labelMarkOf, ModelFolder } from '../model/index.ts';
import { openDecoder } from '../verify/index.ts';
import { writeCards } from './card.ts';
import { certify, type DeletionCertificate, expectBase } from './certificate.ts';
import { type ExportSourceOptions, resolveExport } from './source.ts';

export interface ExportSettings extends ExportSourceOptions {
  readonly source: string;
  readonly to: string;
  readonly formats: readonly ('peft' | 'merged')[];
  /** Format of the merged weights; null: as stored. */
  readonly dtype: 'F32' | 'F16' | 'BF16' | null;
  readonly baseName?: string;
  readonly device: string;
}

/** Is thrown so that the half-made folder is removed. */
class RefusedExport extends Error {
  readonly certificate: DeletionCertificate;
  constructor(certificate: DeletionCertificate) {
    super('the deletion certificate does not hold');
    this.certificate = certificate;
  }
}

export async function exportPolicy(
  settings: ExportSettings,
): Promise<{ readonly certificate: DeletionCertificate; readonly hasQuarantine: boolean }> {
  const { source: path, formats } = settings;
  const source = await resolveExport(path, settings);
  const { checkpoint, model, starts, trainedOn, state, trained: run } = source;
  const hasQuarantine = run?.manifest.hasQuarantine ?? true;
  await using folder = await ModelFolder.open(model);
  const labels = joinMarks([source.labels, await labelMarkOf(model)]);
  const base = await expectBase(folder, trainedOn);
  using device = await openDevice(settings.device, { precision: 'f32' });
  using scope = new Scope(device);
  const trained = restoreAdapter(scope, folder.config, checkpoint, starts);
  const adapter = state === 'deployed' ? trained : exportAtScale(trained, scaleOf(state, 0));
  const decoder = await openDecoder(scope, folder);
  let certificate: DeletionCertificate | null = null;
  try {
    await createFolder(settings.to, async (directory) => {
      const name = settings.baseName ?? source.baseName;
      if (formats.includes('peft')) await writePeft(join(directory, 'peft'), adapter, folder.config, name, labels);
      if (formats.includes('merged')) {
        await writeMerged(join(directory, 'merged'), folder, adapter, settings.dtype, labels);
      }
      const made = await certify({ device, folder, base, checkpoint, adapter, decoder, state, labels }, directory);
      if (!made.holds) throw new RefusedExport(made);
      const card = { source: path, base: name, state, trained: run, certificate: made };
      certificate = { ...made, outputs: { ...made.outputs, ...(await writeCards(directory, formats, card)) } };
      const file = state === 'deployed' ? 'deletion-certificate.json' : 'export-record.json';
      await writeFileAtomic(join(directory, file), `${JSON.stringify(certificate, null, 2)}\n`);
    });
  } catch (error) {
    if (!(error instanceof RefusedExport)) throw error;
    ({ certificate } = error);
  }
  if (certificate === null) throw new Error('an export without a certificate');
  return { certificate, hasQuarantine };
}
