/**
 * Opens the source of `gq export`: a run directory (its last checkpoint, or the one of --update), one of its checkpoint
 * folders, or a file of adapter tensors, and writes its policy as a PEFT adapter, as a merged model folder, or both, with cards and a
 * certificate. Nothing is left behind when that does not hold. A run knows its model; a file needs --model.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { AdapterCheckpoint, AdapterStart } from '../adapters/index.ts';
import {
  builtinStarts,
  exportAtScale,
  readCheckpoint,
  restoreAdapter,
  scaleOf,
  writeMerged,
  writePeft,
} from '../adapters/index.ts';
import type { AdaptedState } from '../adapters/policy-state.ts';
import { UserError } from '../base/index.ts';
import { createFolder, writeFileAtomic } from '../base/node/index.ts';
import { Scope } from '../engine/index.ts';
import { modelArgument, modelDirectory, openDevice, openLab } from '../lab/index.ts';
import { adapterMarks, joinMarks, type LabelMarks, labelMarksOf, ModelFolder } from '../model/index.ts';
import { checkedInitial, checkedTensors, isRun, type Manifest, marksOf, RunDirectory } from '../run/index.ts';
import { openDecoder } from '../verify/index.ts';
import { writeCards } from './card.ts';
import { certify, type DeletionCertificate, expectBase } from './certificate.ts';

export interface ExportSourceOptions {
  readonly model?: string | undefined;
  readonly update?: number | undefined;
  readonly state?: AdaptedState | undefined;
  readonly labels?: 'none' | 'used' | undefined;
}

export interface ResolvedExport {
  readonly state: AdaptedState;
  readonly checkpoint: AdapterCheckpoint;
  readonly model: string;
  /** What the base is called: its name on the hub where it was found by that, else its folder. */
  readonly baseName: string;
  readonly trained: { readonly path: string; readonly manifest: Manifest; readonly update: number } | null;
  readonly starts: readonly AdapterStart[];
  readonly marks: LabelMarks;
  /** Hash of the model that the adapter was trained on; null for a file of tensors, which does not say. */
  readonly trainedOn: string | null;
}

const sources = 'a run, one of its checkpoints, or a file of adapter tensors';

const refusal = (path: string, expected: string, found: string, fix?: string): UserError =>
  new UserError({ call: `gq export ${path}`, expected, found, fix });

async function resolveExport(path: string, options: ExportSourceOptions): Promise<ResolvedExport> {
  if (!existsSync(path)) throw refusal(path, sources, 'no such file or folder');
  if (!statSync(path).isDirectory()) return resolveFile(path, options);
  if (isRun(path)) return resolveRun(path, options);
  const run = dirname(dirname(resolve(path)));
  if (!/^\d{5,}$/.test(basename(resolve(path))) || !isRun(run)) throw notOneRun(path);
  const update = Number(basename(resolve(path)));
  if (options.update === undefined || options.update === update) return resolveRun(run, { ...options, update });
  throw refusal(path, '--update with a run, and a checkpoint without it', `--update ${options.update}`);
}

function notOneRun(path: string): UserError {
  const runs = readdirSync(path)
    .map((name) => join(path, name))
    .filter(isRun);
  return runs.length === 0
    ? refusal(path, sources, 'a folder that is none of them')
    : refusal(path, sources, `a folder of ${runs.length} runs`, `Name one of them: ${runs.join(', ')}.`);
}

async function resolveFile(path: string, options: ExportSourceOptions): Promise<ResolvedExport> {
  const { model, update, state = 'deployed', labels } = options;
  if (model === undefined || update !== undefined) {
    const found = model === undefined ? 'none' : '--update, which is for runs';
    throw refusal(path, '--model with a file of adapter tensors', found);
  }
  const checkpoint = await readCheckpoint(path);
  const said = adapterMarks(checkpoint.metadata);
  return {
    checkpoint,
    // Nobody knows whether it has a quarantine; deployed, it has none.
    marks: { ...said, labels: labels ?? said.labels, quarantine: state === 'deployed' ? 'none' : 'unknown' },
    model: modelArgument(model),
    baseName: model,
    trained: null,
    starts: builtinStarts,
    trainedOn: null,
    state,
  };
}

async function resolveRun(path: string, options: ExportSourceOptions): Promise<ResolvedExport> {
  const { model, update, state = 'deployed', labels } = options;
  const run = RunDirectory.open(path);
  const manifest = run.readManifest();
  if (labels !== undefined) {
    throw refusal(path, '--labels with a file of adapter tensors only', 'it with a run, whose manifest says so');
  }
  const checkpoints = run.listCheckpoints();
  const { config } = manifest;
  if (!manifest.hasQuarantine && state !== 'full') {
    const found = `the arm ${config.arm.kind}, which deploys everything it trained`;
    throw refusal(path, 'an arm with a quarantine to delete', found, 'Export it as trained: --state full.');
  }
  const wanted = update ?? checkpoints.at(-1);
  if (wanted === undefined || !checkpoints.includes(wanted)) {
    const expected = `one of its checkpoints: ${checkpoints.join(', ') || 'none yet'}`;
    throw refusal(path, expected, `update ${update ?? 'none'}`);
  }
  const { family, rank } = config.adapter;
  const known = { family, rank, modules: manifest.features.modules };
  await using lab = await openLab({ run }, { work: 'unplanned', call: `gq export ${run.path}` });
  const checkpoint = await readCheckpoint(checkedTensors(run, wanted, 'adapter'), known, checkedInitial(run));
  const { starts } = lab.parts;
  const folder = model === undefined ? modelDirectory(config.model) : modelArgument(model);
  const named = model ?? config.model;
  return {
    checkpoint,
    marks: marksOf(manifest, { deletes: state === 'deployed' }),
    model: folder,
    baseName: named.startsWith('micro') ? folder : named,
    trained: { path: run.path, manifest, update: wanted },
    starts,
    trainedOn: manifest.identity.model,
    state,
  };
}

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
  const marks = joinMarks([source.marks, await labelMarksOf(model)]);
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
      if (formats.includes('peft')) await writePeft(join(directory, 'peft'), adapter, folder.config, name, marks);
      if (formats.includes('merged')) {
        await writeMerged(join(directory, 'merged'), folder, adapter, settings.dtype, marks);
      }
      const made = await certify({ device, folder, base, checkpoint, adapter, decoder, state, marks }, directory);
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
