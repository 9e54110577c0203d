/** A model small enough to train in a second: for smoke runs and tests. */
import { writeModelFolder } from '../model/index.ts';
import { microRecipe, pretrainMicro } from '../pretrain/index.ts';
import { openDevice } from './device.ts';

const tinyRecipe = {
  ...microRecipe,
  hiddenSize: 32,
  layers: 1,
  heads: 2,
  steps: 60,
  documentsPerStep: 24,
  learningRate: 1e-2,
  warmupSteps: 5,
  hardShare: 0.3,
  rightFraction: 0.5,
};

/** A model of one layer that has seen a few documents: most of its programs compile, so rewards differ within groups. */
export async function makeTinyModel(
  directory: string,
  device: string,
  variant: 'auto' | 'plain' = 'auto',
): Promise<void> {
  using own = await openDevice(device, { threads: 1, precision: 'f32', variant });
  await writeModelFolder(directory, await pretrainMicro(own, tinyRecipe, () => undefined));
}
