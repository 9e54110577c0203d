/** A policy to serve: the micro model, or one of random weights, with an adapter that is moved from its start, so that no two states agree. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAdapter } from '../../src/adapters/create.ts';
import { randomStream } from '../../src/base/rng.ts';
import { type Device, readFloats, Scope } from '../../src/engine/index.ts';
import { type Policy, projectRows } from '../../src/grpo/policy.ts';
import { modelDirectory } from '../../src/lab/index.ts';
import { OpenParts } from '../../src/lab/open-parts.ts';
import { planModel } from '../../src/model/files/plan.ts';
import {
  Decoder,
  generate,
  loadWeights,
  ModelFolder,
  modelText,
  OpenBatch,
  writeModelFolder,
} from '../../src/model/index.ts';
import { type ServedPolicy, type ServedState, servedStates } from '../../src/serve/index.ts';
import { streamOf } from '../../src/serve/policy.ts';

export interface MadePolicy extends AsyncDisposable {
  readonly served: ServedPolicy;
  /** The tokens that a state draws alone for a prompt, a seed and a temperature. */
  alone(
    state: ServedState,
    prompt: Int32Array,
    seed: number,
    temperature: number,
    maxNewTokens: number,
  ): Promise<number[]>;
  readonly policy: Policy;
}

const draw = { topK: 0, topP: 1, minP: 0 };
const stream = randomStream(0, 'serve');

export async function makeServed(
  device: Device,
  model: 'nano' | 'micro',
  rows: number,
  context: number,
): Promise<MadePolicy> {
  const directory =
    model === 'micro' ? modelDirectory('micro') : join(mkdtempSync(join(tmpdir(), 'gq-serve-')), 'model');
  if (model === 'nano') await writeModelFolder(directory, await planModel('nano', 'bytes', 1));
  const resources = new OpenParts();
  resources.use(device);
  const scope = resources.use(new Scope(device));
  const folder = resources.use(await ModelFolder.open(directory));
  const weights = loadWeights(folder.weights, folder.config, { as: 'float32' });
  const decoder = await Decoder.load(scope, folder.config, weights, { maxPositions: context });
  const adapter = await createAdapter(scope, decoder, { family: 'lora', rank: 4, seed: 1 });
  for (const { name, value } of adapter.parameters) {
    const noise = new Float32Array(value.size);
    randomStream(1, ['nudge', name]).fillNormal(noise, 0.1);
    const data = await readFloats(value);
    device.write(
      value,
      data.map((x, i) => x + noise[i]),
    );
  }
  const policy: Policy = { decoder, adapter, deployedScale: 0 };
  const project = projectRows(policy);
  const served: ServedPolicy = {
    name: model,
    states: servedStates,
    batch: new OpenBatch(scope, decoder, { rows, context, tokensPerPass: 1024, stream, project }),
    adapters: null,
    text: modelText(folder, false),
    tokenizer: folder.tokenizer,
    vocabulary: folder.config.vocabSize,
    deployedScale: 0,
    defaults: { temperature: 1, ...draw, maxNewTokens: 16 },
  };
  return {
    served,
    policy,
    async alone(state, prompt, seed, temperature, maxNewTokens) {
      const settings = { ...draw, temperature, maxNewTokens, stopTokens: folder.stopTokenIds, maxPromptTokens: null };
      const request = { prompt, row: streamOf(seed, 0, 0), scale: state === 'trained' ? 1 : 0 };
      const [made] = await generate(decoder, [request], settings, state === 'base' ? { stream } : { stream, project });
      return Array.from(made.tokens);
    },
    [Symbol.asyncDispose]: () => resources[Symbol.asyncDispose](),
  };
}
