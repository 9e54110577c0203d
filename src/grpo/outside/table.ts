/** The keys of a config about a server that samples in the place of this process (outside/sampler.ts). */
import { z } from 'zod';
import { addressFault, namesPath, readWhen } from '../../base/index.ts';

const count = (least: number, most: number) => z.number().int().min(least).max(most);

const address = z.string().superRefine((text, context) => {
  const expected = addressFault(text, { plain: true });
  if (expected !== null) context.addIssue({ code: 'custom', message: expected });
});

const asked = readWhen({ url: { not: null } });

export const samplerTable = z.strictObject({
  kind: z
    .enum(['vllm', 'sglang'])
    .default('vllm')
    .describe('what the server speaks: the completions of vLLM, which `gq serve` has too, or `/generate` of SGLang')
    .meta(asked),
  url: address
    .nullable()
    .default(null)
    .describe(
      'the address of a server of the same model that may load adapters, such as http://127.0.0.1:8000/v1 (vllm) or http://127.0.0.1:30000 (sglang); null: this process samples',
    ),
  keyVariable: z
    .string()
    .default('')
    .describe('environment variable with the key of the server; empty: no key. A key needs https, or this machine')
    .meta(asked),
  folder: z
    .string()
    .nullable()
    .default(null)
    .describe("a folder that the server reads too, for the run's adapters; null: `sampler` in the run's directory")
    .meta({ ...asked, ...namesPath() }),
  serverFolder: z
    .string()
    .nullable()
    .default(null)
    .describe('the path that this folder has for the server; null: the same')
    .meta(asked),
  maxStaleness: count(0, 100)
    .default(0)
    .describe(
      'most updates between the weights that sample and those that learn; 0: the server is given new weights before every update; log π_old is that of the weights that sampled',
    )
    .meta(asked),
  tolerance: z
    .number()
    .gt(0)
    .max(1)
    .default(0.05)
    .describe(
      "allowed mean, over the tokens of an update, of the absolute log ratio of the server's probability to ours; at no token may it be above 60 times this",
    )
    .meta(asked),
  onMismatch: z
    .enum(['stop', 'local'])
    .default('stop')
    .describe(
      'what follows where the server samples from another policy, or does not answer; local: this process samples from then on',
    )
    .meta(asked),
  parallel: count(1, 512).default(64).describe('requests to the server at a time').meta(asked),
  timeoutSeconds: z.number().gt(0).max(300).default(300).describe('most seconds of a request').meta(asked),
  retries: count(0, 20)
    .default(3)
    .describe('attempts after the first one that failed on the way or for load')
    .meta(asked),
});

export type SamplerTable = z.infer<typeof samplerTable>;
