/** Generation: greedy against scoring, stops and lengths, both log-probabilities, and settings that are refused. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { randomStream } from '../base/rng.ts';
import { type Device, linear, readFloats, Scope, Tape } from '../engine/index.ts';
import { createReferenceDevice } from '../engine/reference/index.ts';
import { Lab, smallLab } from '../evaluate/lab.ts';
import { type Generation, generate, greedy, type SamplingSettings } from './generate.ts';
import { packRows } from './pack.ts';

const device: Device = createReferenceDevice({ arenaBytes: 2 ** 25 });
const scope = new Scope(device);
const stream = randomStream(4, 'test');
let lab: Lab;

beforeAll(async () => {
  lab = await Lab.create(scope, 'lora', smallLab);
});
afterAll(() => scope[Symbol.dispose]());

const settings: SamplingSettings = {
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  maxNewTokens: 6,
  stopTokens: [],
  maxPromptTokens: null,
};
const prompts = [Int32Array.of(1, 2, 3), Int32Array.of(4), Int32Array.of(1, 2, 3), Int32Array.of(5, 6, 7, 8, 9)];
const run = (change: Partial<SamplingSettings> = {}, list = prompts, options = {}): Promise<Generation[]> =>
  generate(
    lab.decoder,
    list.map((prompt, row) => ({ prompt, row, scale: 1 })),
    { ...settings, ...change },
    { stream, ...options },
  );

/** logits of the last token of a row, computed from nothing. */
async function lastLogits(row: Int32Array): Promise<Float32Array> {
  using tape = new Tape(device);
  const hidden = lab.decoder.forward(tape, packRows(tape, lab.decoder.config, [row]));
  const logits = await readFloats(linear(tape, hidden, lab.decoder.head));
  return logits.slice(-smallLab.vocabSize);
}

test('greedy takes the largest logit of a fresh forward pass, every time', async () => {
  const found = await run({ ...greedy, maxNewTokens: 5 });
  for (const [i, { tokens, logps, finish }] of found.entries()) {
    expect(finish).toBe('length');
    expect([...logps]).toEqual([0, 0, 0, 0, 0]);
    let row = prompts[i];
    for (const token of tokens) {
      const logits = await lastLogits(row);
      expect(logits.indexOf(Math.max(...logits))).toBe(token);
      row = Int32Array.of(...row, token);
    }
  }
});

test('a row ends with its first stop token, others go on, and no memory is left behind', async () => {
  const used = device.arena.used;
  const free = await run();
  const stop = free[1].tokens[2];
  const stopped = await run({ stopTokens: [stop] });
  stopped.forEach(({ tokens, logps, fullLogps, finish }, i) => {
    const at = free[i].tokens.indexOf(stop);
    expect(finish).toBe(at < 0 ? 'length' : 'stop');
    expect(tokens).toEqual(at < 0 ? free[i].tokens : free[i].tokens.slice(0, at + 1));
    expect([logps.length, fullLogps.length]).toEqual([tokens.length, tokens.length]);
  });
  expect(stopped[1].finish).toBe('stop');
  expect(device.arena.used).toBe(used);
});

describe('log-probabilities', () => {
  test('without truncation both are the same; top-1 is certain among what stays', async () => {
    for (const { logps, fullLogps } of await run()) {
      logps.forEach((logp, t) => {
        expect(logp).toBeCloseTo(fullLogps[t], 5);
      });
    }
    for (const { logps, fullLogps } of await run({ topK: 1 })) {
      expect(logps.every((logp) => logp === 0)).toBe(true);
      expect(fullLogps.every((logp) => logp < 0)).toBe(true);
    }
  });

  test('of the truncated distribution are larger, by the mass that was cut', async () => {
    const [{ tokens, logps, fullLogps }] = await run({ topP: 0.6 }, [prompts[0]]);
    let row = prompts[0];
    for (const [t, token] of tokens.entries()) {
      const logits = await lastLogits(row);
      const weights = Float64Array.from(logits, (value) => Math.exp(value - Math.max(...logits)));
      const total = weights.reduce((sum, value) => sum + value, 0);
      let kept = 0;
      for (const weight of weights.toSorted().toReversed()) {
        kept += weight;
        if (kept >= 0.6 * total) break;
      }
      expect(fullLogps[t]).toBeCloseTo(Math.log(weights[token] / total), 4);
      expect(logps[t]).toBeCloseTo(Math.log(weights[token] / kept), 4);
      row = Int32Array.of(...row, token);
    }
  });
});

test('another seed, row or step draws other tokens; the same draws the same', async () => {
  const tokens = (list: Generation[]): number[] => list.flatMap((each) => [...each.tokens]);
  const first = tokens(await run());
  expect(tokens(await run())).toEqual(first);
  expect(tokens(await run({}, prompts, { stream: randomStream(5, 'test') }))).not.toEqual(first);
  expect(tokens(await run({}, prompts, { stream: stream.at(1, 0) }))).not.toEqual(first);
  const [a, , c] = await run({ temperature: 3 });
  expect([...a.tokens]).not.toEqual([...c.tokens]);
});

test('no request, no work', async () => {
  expect(await generate(lab.decoder, [], settings, { stream })).toEqual([]);
});

test.each<[Partial<SamplingSettings>, string]>([
  [{ temperature: -1 }, 'temperature -1 (at least 0)'],
  [{ topK: 1.5 }, 'topK 1.5 (a whole number'],
  [{ topP: 0 }, 'topP 0 (above 0'],
  [{ minP: 2 }, 'minP 2 (0 to 1)'],
  [{ maxNewTokens: 0 }, 'maxNewTokens 0 (at least 1)'],
  [{ maxPromptTokens: 4 }, 'prompt of request 3: expected at most 4 tokens, found 5'],
  [{ maxNewTokens: 62 }, "expected at most 64 tokens (the model's context), found 65"],
])('%j is refused with what was expected and found', async (change, message) => {
  await expect(run(change)).rejects.toThrow(message);
});

test('a prompt without tokens is refused', async () => {
  await expect(run({}, [new Int32Array()])).rejects.toThrow(
    'prompt of request 0: expected at least one token, found none',
  );
});
