/**
 * How much memory pre-training needs, known before anything is computed: one step of the recipe, with every document as long as
 * the longest of the first ones, is rehearsed on a device that only counts.
 */
import { UserError } from '../base/index.ts';
import { CountingDevice, Scope } from '../engine/index.ts';
import { expectedTensors, type Group, type LoadedWeight, ModelTokenizer } from '../model/index.ts';
import { documentsOf, microConfig, tokenizerOf } from './micro.ts';
import { openTrainee, pretrain } from './pretrain.ts';
import type { MicroRecipe } from './recipe.ts';

interface Part {
  readonly name: string;
  readonly bytes: number;
}

export interface PretrainPlan {
  readonly standing: readonly Part[];
  readonly phases: readonly Part[];
  readonly marginBytes: number;
  readonly totalBytes: number;
}

/** Enough documents that hardly any later one is longer. */
const looked = 256;
const marginShare = 0.05;
const leastMarginBytes = 128 * 2 ** 20;
/** Assumed size of the device's memory, which decides the size of chunks of logits. */
const nominalBytes = 2 ** 30;

export async function planPretraining(recipe: MicroRecipe): Promise<PretrainPlan> {
  const { precision = 'f32' } = recipe;
  const device = new CountingDevice({ floats: ['f32', 'bf16'], capacity: nominalBytes });
  using scope = new Scope(device);
  const tokenizer = new ModelTokenizer(tokenizerOf(recipe), 'micro tokenizer');
  const config = microConfig(recipe, tokenizer);
  const nothing = [...expectedTensors(config)].map(
    ([name, shape]): LoadedWeight => ({ name, shape, dtype: 'f32', data: new Float32Array() }),
  );
  const trainee = await openTrainee(scope, config, nothing, precision);
  const weights = [...trainee.weights.values()].reduce((sum, { size }) => sum + 4 * size, 0);
  const copies = precision === 'bf16' ? weights / 2 : 0;
  const documents = longestDocuments(recipe, tokenizer);
  for await (const _ of pretrain(trainee, documents, { ...recipe, steps: 1 }));
  // Beside every weight there are its gradient and two moments.
  const learning = 3 * weights;
  const { highest } = device.arena;
  const marginBytes = Math.max(leastMarginBytes, Math.ceil(highest * marginShare));
  return {
    standing: [
      { name: 'weights', bytes: weights },
      ...(copies === 0 ? [] : [{ name: 'their copies in bf16', bytes: copies }]),
      { name: 'gradients and optimiser', bytes: learning },
    ],
    phases: [{ name: 'a pass', bytes: Math.max(0, highest - weights - copies - learning) }],
    marginBytes,
    totalBytes: highest + marginBytes,
  };
}

function longestDocuments(recipe: MicroRecipe, tokenizer: ModelTokenizer): Iterator<Group> {
  const first = documentsOf({ ...recipe, steps: 1, documentsPerStep: looked }, tokenizer);
  let longest = 0;
  let most: Group = { prompt: new Int32Array(), completions: [] };
  for (const group of first) {
    const tokens = group.prompt.length + group.completions[0].length;
    if (tokens <= longest) continue;
    [longest, most] = [tokens, group];
  }
  return { next: () => ({ done: false, value: most }) };
}

/** Refuses a recipe that does not fit into the memory there is, and says what to lower. */
export function expectRoom(plan: PretrainPlan, recipe: MicroRecipe, bytes: number, source: string): void {
  if (plan.totalBytes <= bytes) return;
  const { standing, phases, marginBytes, totalBytes } = plan;
  const { documentsPerStep, documentsPerPass = documentsPerStep } = recipe;
  const parts = [...standing, ...phases, { name: 'margin', bytes: marginBytes }];
  const room = bytes - marginBytes - standing.reduce((sum, part) => sum + part.bytes, 0);
  const documents = Math.floor((documentsPerPass * room) / phases[0].bytes);
  throw new UserError({
    call: 'memory of the device',
    expected: `a recipe that fits into ${gibibytes(bytes)} (${source})`,
    found: `one that needs ${gibibytes(totalBytes)}: ${parts.map((part) => `${part.name} ${gibibytes(part.bytes)}`).join(', ')}`,
    fix:
      documents >= 1
        ? `Lower documentsPerPass to about ${documents} (now ${documentsPerPass}): --set documentsPerPass=${documents}`
        : 'The weights and what they learn with need more than that: use a smaller --shape, or lower hiddenSize or layers with --set.',
  });
}

function gibibytes(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(2)} GiB`;
}
