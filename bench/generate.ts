/**
 * Tokens generated per second by batch size: prompts of 64 tokens, 80 new tokens each, sampled at temperature 0.7, plain
 * and with an adapter. The prefill is part of the time; its tokens are not counted, its arithmetic is.
 *   node bench/generate.ts [--device wasm|reference] [--threads N] [--seconds S] [--cpu] [--json]
 */
import { scaleRows } from '../src/adapters/index.ts';
import { randomStream } from '../src/base/rng.ts';
import { Scope } from '../src/engine/index.ts';
import { generate } from '../src/model/index.ts';
import {
  fastest,
  flopsPerToken,
  type Measurement,
  measurePeak,
  microPolicy,
  printMeasurements,
  randomTokens,
  readOptions,
} from './micro-policy.ts';

const [promptTokens, newTokens] = [64, 80];
const settings = {
  temperature: 0.7,
  topK: 0,
  topP: 1,
  minP: 0,
  maxNewTokens: newTokens,
  stopTokens: [],
  maxPromptTokens: null,
};

const options = await readOptions();
const { device } = options;
const rows: Measurement[] = [];
const peak = await measurePeak(device);
{
  using scope = new Scope(device);
  const policy = await microPolicy(scope);
  for (const adapted of [false, true]) {
    for (const batch of [1, 4, 16, 64, 128]) {
      const requests = Array.from({ length: batch }, (_, row) => ({
        prompt: randomTokens('prompt', row, promptTokens),
        row,
        scale: 1,
      }));
      const stream = randomStream(1, 'bench');
      const project = (inner: Scope, scales: Float32Array) =>
        policy.adapter.project({ coefficients: scaleRows(inner, [...scales]) });
      const seconds = await fastest(device, options.secondsPerCase, async () => {
        await generate(policy.decoder, requests, settings, adapted ? { stream, project } : { stream });
      });
      const flops =
        promptTokens * flopsPerToken(policy, promptTokens / 2, adapted) +
        newTokens * flopsPerToken(policy, promptTokens + newTokens / 2, adapted);
      rows.push({
        what: adapted ? 'generate with an adapter' : 'generate',
        batch,
        tokensPerSecond: (batch * newTokens) / seconds,
        shareOfPeak: (batch * flops) / seconds / peak,
      });
    }
  }
}
printMeasurements(options, peak, rows);
device[Symbol.dispose]();
