/** The frozen model of a run: its files, and its weights on the device. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { targetModules } from '../adapters/index.ts';
import type { Complaint } from '../base/errors.ts';
import { UserError } from '../base/index.ts';
import { keptHash, sha256File, sha256Json } from '../base/node/index.ts';
import { Scope } from '../engine/index.ts';
import type { ArmTools } from '../grpo/index.ts';
import type { DecoderConfig, ModelText, WeightFiles } from '../model/index.ts';
import { Decoder, findSnapshot, loadWeights, ModelFolder, modelText, parseHubName } from '../model/index.ts';
import type { RunConfig } from '../run/index.ts';
import type { Lab } from './open.ts';
import type { Resources } from './open-parts.ts';

const shippedModels = {
  micro: new URL('../../models/micro', import.meta.url),
  'micro-two': new URL('../../models/micro-two', import.meta.url),
  countdown: new URL('../../models/countdown', import.meta.url),
};
const isShipped = (model: string): model is keyof typeof shippedModels => Object.hasOwn(shippedModels, model);

/** The folder of a model as a config names it: of the package, a path, or by its name on the hub a snapshot in the Hugging Face cache. */
export function modelDirectory(model: string): string {
  if (isShipped(model)) return fileURLToPath(shippedModels[model]);
  const name = parseHubName(model);
  return name === null ? model : findSnapshot(name);
}

/** What is wrong with where a config says that its model is; nothing of the model is read. */
export function missingModel({ model }: Pick<RunConfig, 'model'>): Complaint[] {
  try {
    const directory = modelDirectory(model);
    if (existsSync(directory)) return [];
    return [{ call: `open the model ${directory}`, expected: 'a model folder', found: 'no such folder' }];
  } catch (error) {
    if (error instanceof UserError) return [error.complaint];
    throw error;
  }
}

export const modelArgument = (model: string): string =>
  !isShipped(model) && existsSync(model) ? resolve(model) : modelDirectory(model);

export interface ModelFiles {
  readonly folder: ModelFolder;
  readonly text: ModelText;
  /** Large weights that were not hashed before are hashed meanwhile. */
  readonly hash: Promise<string>;
}

export type OpenModel = ModelFiles & { readonly scope: Scope; readonly decoder: Decoder };

export async function openModel(lab: Lab): Promise<ModelFiles> {
  const files = await openFolder(lab.config.model, lab.config.environment.enableThinking, lab);
  checkRank(lab.config, files.folder.config);
  return files;
}

export async function openArmModels(lab: Lab): Promise<ReadonlyMap<string, ModelFiles>> {
  const names = lab.options.work === 'training' ? lab.arm.models(lab.armSettings) : [];
  const others = names.filter((name) => name !== 'base');
  return new Map(await Promise.all(others.map(async (name) => [name, await openFolder(name, false, lab)] as const)));
}

export async function openWeights(lab: Lab): Promise<OpenModel> {
  const given = await lab.options.given?.weights;
  // Weights may be another lab's; what is made beside them is this one's.
  if (given !== undefined) return { ...given, scope: lab.use(new Scope(given.scope.device)) };
  const [files, device] = await Promise.all([lab.model, lab.device]);
  const scope = lab.use(new Scope(device));
  const { maxPromptTokens, maxNewTokens } = lab.config.sampling;
  const { context = maxPromptTokens + maxNewTokens } = lab.options;
  return { ...files, scope, decoder: await loadDecoder(scope, files, context) };
}

export async function openFolder(model: string, enableThinking: boolean, resources: Resources): Promise<ModelFiles> {
  const folder = resources.use(await ModelFolder.open(modelDirectory(model)));
  return { folder, text: modelText(folder, enableThinking), hash: beginHashing(folder, resources) };
}

export function beginHashing(folder: ModelFolder, resources: Resources): Promise<string> {
  const stop = new AbortController();
  resources.use({ [Symbol.dispose]: () => stop.abort() });
  // Weights that were hashed before and have not changed since are known.
  const hash = hashModel(folder, (path) => keptHash(path, { signal: stop.signal }));
  // A failure is told to whoever needs the hash.
  hash.catch(() => undefined);
  return hash;
}

const describingFiles = [
  'config.json',
  'generation_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'chat_template.jinja',
  'chat_template.json',
];

export async function hashModel({ directory, weights }: ModelFolder, hashFile = sha256File): Promise<string> {
  const hashes = await Promise.all(weights.files.map(({ path }) => hashFile(path)));
  await expectUnchanged(weights);
  const others = describingFiles.filter((name) => existsSync(join(directory, name)));
  const described = await Promise.all(others.map(async (name) => [name, await sha256File(join(directory, name))]));
  return [...hashes, sha256Json(described)].join(' ');
}

/** The weights that are loaded must be those that are hashed, which is done at the same time. */
async function expectUnchanged({ files }: WeightFiles): Promise<void> {
  await Promise.all(files.map((file) => file.expectUnchanged()));
}

export async function hashOfBase({ model }: Pick<RunConfig, 'model'>): Promise<string | null> {
  try {
    await using folder = await ModelFolder.open(modelDirectory(model));
    return await hashModel(folder, (path) => keptHash(path));
  } catch (error) {
    if (error instanceof UserError) return null;
    throw error;
  }
}

const manyBytes = 2 ** 28;

export async function loadDecoder(
  scope: Scope,
  { folder }: Pick<ModelFiles, 'folder'>,
  longest: number,
): Promise<Decoder> {
  const as = scope.device.floats[0] === 'f32' ? 'float32' : 'stored';
  const maxPositions = Math.min(folder.config.maxPositions, longest);
  const isLarge = folder.weights.files.reduce((sum, { bytes }) => sum + bytes, 0) >= manyBytes;
  const weights = loadWeights(folder.weights, folder.config, { as, finite: isLarge });
  const decoder = await Decoder.load(scope, folder.config, weights, { maxPositions });
  // Once more from the files, to name the weight that is not finite.
  if (isLarge && !(await hasFiniteWeights(decoder))) {
    for await (const _ of loadWeights(folder.weights, folder.config, { as: 'stored' }));
  }
  await expectUnchanged(folder.weights);
  return decoder;
}

export async function hasFiniteWeights({ head: { device }, weights }: Decoder): Promise<boolean> {
  using scope = new Scope(device);
  const counts = scope.empty([weights.size], 'weights that are not finite', 'i32');
  [...weights.values()].forEach((weight, i) => {
    device.kernels.countNonFinite(counts.rows(i, i + 1), weight);
  });
  return (await device.read(counts)).every((count) => count === 0);
}

export function modelOpener(
  { scope, decoder, folder, text }: OpenModel,
  others: ReadonlyMap<string, ModelFiles>,
  resources: Resources,
): ArmTools['openModel'] {
  return async (name, maxPositions) => {
    const own = resources.use(new Scope(scope.device));
    if (name === 'base') {
      return { text, decoder: decoder.withPositions(own, Math.min(folder.config.maxPositions, maxPositions)) };
    }
    const files = others.get(name);
    if (files === undefined) throw new RangeError(`the arm did not say that it opens the model ${name}`);
    return { text: files.text, decoder: await loadDecoder(own, files, maxPositions) };
  };
}

/** A rank above the sides of every layer adds nothing and costs the memory of the machine. */
export function checkRank({ adapter: { rank, targets } }: RunConfig, decoder: DecoderConfig): void {
  const most = Math.max(...targetModules(decoder, targets).map(({ inputs, outputs }) => Math.min(inputs, outputs)));
  if (rank <= most) return;
  throw new UserError({
    call: 'config, key adapter.rank',
    expected: `at most ${most}, the smaller side of the model’s widest target layer`,
    found: `${rank}`,
  });
}

/** The micro model knows few characters: who brings other texts and names no model has forgotten to. */
export async function withModelHint<T>(config: RunConfig, encode: () => Promise<T>): Promise<T> {
  try {
    return await encode();
  } catch (error) {
    if (!(error instanceof UserError) || config.model !== 'micro') throw error;
    if (config.data.kind === 'micro' && config.pairs.file === null) throw error;
    if (!error.complaint.call.includes('encode with ')) throw error;
    const fix =
      'No model is named, so this is the micro model of the package, which knows few characters: name a model folder with --set model=DIR.';
    throw new UserError({ ...error.complaint, fix }, { cause: error });
  }
}
