/** The frozen model of a run: its files, and its weights on the device. */
import { fileURLToPath } from 'node:url';
import { sha256File } from '../base/node/index.ts';
import { type Device, Scope } from '../engine/index.ts';
import { rowsTogether } from '../evaluate/index.ts';
import type { Task } from '../grpo/index.ts';
import { Decoder, loadWeights, ModelFolder, type ModelText, modelText } from '../model/index.ts';
import type { RunConfig } from '../run/index.ts';
import { openDevice } from './devices.ts';
import type { Resources } from './resources.ts';
import { deviceOptions, openRunDevice } from './run-device.ts';

export function modelDirectory(model: string): string {
  return model === 'micro' ? fileURLToPath(new URL('../../models/micro', import.meta.url)) : model;
}

/** The files of a model and the device that it will be on; the weights are not loaded yet. */
export interface ModelFiles {
  readonly device: Device;
  readonly folder: ModelFolder;
  readonly text: ModelText;
  readonly hash: string;
}

/** The frozen model on its device. */
export interface OpenModel extends ModelFiles {
  readonly scope: Scope;
  readonly decoder: Decoder;
}

/** Opens the files of a model, checks them and hashes the weights. */
export async function openFolder(config: RunConfig, resources: Resources): Promise<Omit<ModelFiles, 'device'>> {
  const folder = resources.use(await ModelFolder.open(modelDirectory(config.model)));
  const hashes = await Promise.all(folder.weights.files.map(({ path }) => sha256File(path)));
  return { folder, text: modelText(folder, config.environment.enableThinking), hash: hashes.join(' ') };
}

export async function loadModel({ sampling }: RunConfig, files: ModelFiles, resources: Resources): Promise<OpenModel> {
  const { device, folder } = files;
  const scope = resources.use(new Scope(device));
  const as = device.floats[0] === 'f32' ? 'float32' : 'stored';
  const maxPositions = Math.min(folder.config.maxPositions, sampling.maxPromptTokens + sampling.maxNewTokens);
  const weights = loadWeights(folder.weights, folder.config, { as });
  return { ...files, scope, decoder: await Decoder.load(scope, folder.config, weights, { maxPositions }) };
}

/** Opens a model for evaluation. With `tasks`, a GPU reserves what evaluating them needs; without, what it takes by default. */
export async function openModel(
  config: RunConfig,
  resources: Resources,
  tasks?: (text: ModelText) => Promise<readonly Task[]>,
): Promise<OpenModel> {
  const files = await openFolder(config, resources);
  const open = () =>
    tasks === undefined
      ? openDevice(config.device.kind, deviceOptions(config))
      : openRunDevice(config, {
          decoder: files.folder.config,
          tasks: () => tasks(files.text),
          work: { rowsTogether },
          show: () => undefined,
        });
  const device = resources.use(await open());
  return loadModel(config, { ...files, device }, resources);
}
