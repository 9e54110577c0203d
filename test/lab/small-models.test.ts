/**
 * The tables of docs/guide/small-models.md are what the plan says of a run of each recipe, at the shape of its model; and the page as a reader
 * follows it, from an empty folder with a hub: every command, on a random model with Qwen3's tokenizer, two updates a run.
 */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { findStart, targetModules } from '../../src/adapters/index.ts';
import type { DType } from '../../src/engine/index.ts';
import type { Task } from '../../src/grpo/index.ts';
import { armOf, builtinParts, resolveConfig } from '../../src/lab/index.ts';
import { planMemory } from '../../src/lab/memory/plan.ts';
import { type DecoderConfig, expectedTensors } from '../../src/model/index.ts';
import { planDisk } from '../../src/run/disk.ts';
import { HubServer } from '../hub/hub-server.ts';
import { gq } from '../run-gq.ts';
import { temporaryFolder } from './hand-made.ts';
import { writeTinyQwen } from './qwen-lab.ts';

const common: Pick<
  DecoderConfig,
  'rmsNormEpsilon' | 'maxPositions' | 'tieEmbeddings' | 'rope' | 'bosTokenId' | 'eosTokenIds' | 'padTokenId'
> = {
  rmsNormEpsilon: 1e-6,
  maxPositions: 8192,
  tieEmbeddings: true,
  rope: { theta: 1e6, scaling: { kind: 'none' } },
  bosTokenId: null,
  eosTokenIds: [0],
  padTokenId: 0,
};
const plain = { ...common, headDim: 64, qkNorm: false, qkvBias: false };
const llama = { ...plain, architecture: 'LlamaForCausalLM', vocabSize: 49_152 } as const;
const qwen = { ...plain, vocabSize: 151_936 } as const;

const shapes: Readonly<Record<string, DecoderConfig>> = {
  'easy-qwen3-0.6b': { ...qwen, architecture: 'Qwen3ForCausalLM', layers: 28, hiddenSize: 1024, intermediateSize: 3072, heads: 16, kvHeads: 8, headDim: 128, qkNorm: true }, // biome-ignore format: one line
  'easy-qwen2.5-0.5b': { ...qwen, architecture: 'Qwen2ForCausalLM', layers: 24, hiddenSize: 896, intermediateSize: 4864, heads: 14, kvHeads: 2, qkvBias: true }, // biome-ignore format: one line
  'easy-smollm2-360m': { ...llama, layers: 32, hiddenSize: 960, intermediateSize: 2560, heads: 15, kvHeads: 5 },
  'easy-smollm2-135m': { ...llama, layers: 30, hiddenSize: 576, intermediateSize: 1536, heads: 9, kvHeads: 3 },
  'stories-simplestories-1.25m': { ...llama, vocabSize: 4019, headDim: 32, layers: 4, hiddenSize: 128, intermediateSize: 341, heads: 4, kvHeads: 2 }, // biome-ignore format: one line
};

const page = readFileSync('docs/guide/small-models.md', 'utf8');
const prompt = new Int32Array(256);
const tasks = Array.from(
  { length: 32 },
  () => ({ problem: { id: 'x' }, hinted: prompt, unhinted: prompt }) as unknown as Task,
);

it('the model of stories has the weights that its page says', () => {
  const shapesOf = [...expectedTensors(shapes['stories-simplestories-1.25m']).values()];
  const weights = shapesOf.reduce((sum, shape) => sum + shape.reduce((product, axis) => product * axis, 1), 0);
  expect(page).toContain(`${weights.toLocaleString('en')} weights`);
  expect(page).toContain(`(${(weights * 4e-6).toFixed(1)} MB)`);
});

it.each(Object.entries(shapes).filter(([recipe]) => recipe.startsWith('easy-')))('%s', async (recipe, decoder) => {
  const gibibytes = async (...settings: string[]): Promise<number> => {
    const { config } = await resolveConfig(recipe, ['arm.kind=gradient', ...settings]);
    const parts = { arm: armOf(config, builtinParts), start: findStart(config.adapter.family, builtinParts.starts) };
    const floats: DType[] = config.device.kind === 'cuda' ? ['bf16', 'f32'] : ['f32'];
    const { totalBytes } = await planMemory({ config, ...parts, decoder, tasks, floats });
    return totalBytes / 2 ** 30;
  };
  const gigabytes = async (kind: string): Promise<number> => {
    const { config } = await resolveConfig(recipe, [`arm.kind=${kind}`]);
    return planDisk(config, findStart(config.adapter.family), targetModules(decoder)).mostBytes / 1e9;
  };
  const disk = await Promise.all(['gradient', 'vanilla', 'no-loophole'].map(gigabytes));
  const planned = [await gibibytes(), await gibibytes('compute.tokensPerPass=2048'), ...disk];
  const row = page.split('\n').find((line) => line.startsWith(`| \`${recipe}\``));
  const [whole, less, gated, ungated] = (row ?? '')
    .split(/[|,]/)
    .slice(-5, -1)
    .map((cell) => Number.parseFloat(cell));
  const all = [whole, less, gated, ungated, ungated];
  for (const [i, said] of all.entries()) expect(Math.abs(said / planned[i] - 1)).toBeLessThan(0.05);
});

describe('the page', () => {
  const home = temporaryFolder();
  const usual = process.cwd();
  let hub: HubServer;
  beforeAll(async () => {
    const model = join(home, 'made');
    await writeTinyQwen(model);
    const files = readdirSync(model).map((name) => [name, readFileSync(join(model, name))] as const);
    hub = await HubServer.start(new Map(files), null);
    vi.stubEnv('HF_HUB_CACHE', join(home, 'cache'));
    vi.stubEnv('HF_ENDPOINT', hub.endpoint);
    vi.stubEnv('GQ_STATE', join(home, 'state'));
    mkdirSync(join(home, 'reader'));
    process.chdir(join(home, 'reader'));
  });
  afterAll(async () => {
    process.chdir(usual);
    vi.unstubAllEnvs();
    await hub[Symbol.asyncDispose]();
  });

  const small = [
    ...['updates=2', 'adapter.rank=2', 'data.problems=64', 'safety.tripwirePrompts=1', 'sampling.maxNewTokens=4'],
    ...['sampling.maxPromptTokens=1024', 'sampling.promptsPerStep=1', 'sampling.group=4'],
    ...['device.kind=wasm', 'device.threads=1', 'device.arenaMiB=192'],
  ].flatMap((setting) => ['--set', setting]);
  const commands = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, block]) =>
    block
      .trim()
      .split('\n')
      .map((line) => line.replace(/ +#.*$/, '')),
  );

  it.each(commands)('%s', async (command) => {
    const [program, ...words] = command.split(' ');
    expect(program).toBe('gq');
    const part = words[0] === 'experiment' && !command.includes('--arms') ? ['--arms', 'vanilla', '--seeds', '71'] : [];
    const { code, out, err } = await gq(...words, ...part, ...(/^(?:experiment|eval)$/.test(words[0]) ? small : []));
    expect(code, err.slice(-1500)).toBe(0);
    // No instruction of the micro language stands behind an opening.
    if (command.includes('eval stories')) expect(out).not.toContain('use it');
    if (words[0] === 'results') expect(out).toMatch(words[1] === 'runs/easy-try' ? /symmetric-haar/ : /vanilla/);
  });

  it('has a trial without a GPU, what each arm takes, vanilla alone, the plan and the claim', () => {
    expect(commands.filter((command) => command.startsWith('gq experiment easy-claim'))).toHaveLength(5);
  });
});
