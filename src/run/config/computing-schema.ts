/** The tables of a config that say how a run is computed and what it stores, not what it learns. */
import { z } from 'zod';
import { namesPath, readWhen } from '../../base/index.ts';

const count = (most: number) => z.number().int().min(0).max(most);
const positive = (most = 1e7) => z.number().int().min(1).max(most);
const mostRows = 65_536;
const mostTokens = 2 ** 20;

const onWasm = readWhen({ kind: 'wasm' });
const onCuda = readWhen({ kind: 'cuda' });

export const device = z
  .strictObject({
    kind: z
      .enum(['wasm', 'reference', 'cuda', 'webgpu'])
      .default('wasm')
      .describe('where tensors live and kernels run'),
    threads: count(64).default(0).describe('worker threads of the wasm device; 0: as many as cores').meta(onWasm),
    variant: z
      .enum(['auto', 'plain', 'relaxed', 'wide'])
      .default('auto')
      .describe('which wasm kernels are used; plain gives the same bytes on every machine')
      .meta(onWasm),
    arenaMiB: positive(2 ** 24)
      .nullable()
      .default(null)
      .describe(
        'most memory for tensors, in MiB; null: 1024, on wasm 4096 for more than 44 million weights, on cuda as much of the free memory as the run needs',
      ),
    precision: z
      .enum(['bf16', 'f32'])
      .default('bf16')
      .describe('number format of the cuda device: bf16 for speed, f32 for parity with the other devices')
      .meta(onCuda),
    libraries: z
      .string()
      .nullable()
      .default(null)
      .describe('a folder with the CUDA libraries, searched before the usual places')
      .meta({ ...onCuda, ...namesPath() }),
  })
  .prefault({});

export const compute = z
  .strictObject({
    tokensPerPass: positive(2 ** 26)
      .default(16_384)
      .describe('most tokens of one pass; more need more memory and are faster'),
    recompute: z
      .boolean()
      .default(false)
      .describe('discard activations (SwiGLU) and compute them again: less memory, a little slower'),
    readEvery: positive(mostTokens)
      .nullable()
      .default(null)
      .describe('tokens that the device draws between two reads; null: 1, or 16 on cuda and webgpu'),
    rowStep: positive(mostRows)
      .nullable()
      .default(null)
      .describe('as rows finish, a batch shrinks to multiples of this; null: 1, or 32 on cuda and webgpu'),
  })
  .prefault({});

const shardCounts = [0, 1, 2, 4, 8, 16, 32, 64];

export const parallel = z
  .strictObject({
    shards: z
      .number()
      .refine((shards) => shardCounts.includes(shards), `0 or a power of two up to ${shardCounts.at(-1)}`)
      .default(0)
      .describe(
        'parts that the prompts of an update are cut into, which ranks divide among them: the bytes of a run follow from it, and not from the number of ranks. 0: none, the run has one process; with ranks, 0 becomes 8',
      ),
  })
  .prefault({});

export const output = z
  .strictObject({
    checkpointEvery: positive()
      .default(10)
      .describe('updates between checkpoints; update 0 and the last one always have a checkpoint'),
    keepState: z
      .enum(['newest', 'all'])
      .default('newest')
      .describe(
        'checkpoints that keep the state of the trainer (moments, what the arm remembers), which resuming and forking need; every one keeps the adapter',
      ),
    storeFeatures: z
      .boolean()
      .default(true)
      .describe('store the features of rollouts that carried gradient, for `gq measure replay`')
      .meta(readWhen({ uses: 'features' })),
    storeTokens: z.boolean().default(true).describe('store the token ids and log-probabilities of every rollout'),
  })
  .prefault({});
