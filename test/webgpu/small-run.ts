/** A run that ends in minutes on SwiftShader: an eighth of the rollouts of the recipe, with the model of the tests. */
import { tinyModel } from '../smoke/lab.ts';

export async function smallRun(): Promise<{ readonly model: string; readonly settings: readonly string[] }> {
  const model = await tinyModel();
  const settings = ['arm.warmupRows=4', 'sampling.promptsPerStep=2', 'sampling.group=4', `model=${model}`];
  return { model, settings };
}
