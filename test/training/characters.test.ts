/** A character model from scratch: all weights learn, on a text far longer than a row. */
import { expect, test } from 'vitest';
import { randomStream } from '../../src/base/rng.ts';
import { AdamW, readFloats, Scope, Tape, warmupCosine } from '../../src/engine/index.ts';
import { createWasmDevice } from '../../src/engine/wasm/index.ts';
import { allWeights, loadRandom, nextTokenBatch, nextTokenLoss, qwen3Like } from './model.ts';

/** The training text: Shakespeare's sonnets 18 and 116. */
const text = `Shall I compare thee to a summer's day?
Thou art more lovely and more temperate:
Rough winds do shake the darling buds of May,
And summer's lease hath all too short a date;
Sometime too hot the eye of heaven shines,
And often is his gold complexion dimm'd;
And every fair from fair sometime declines,
By chance or nature's changing course untrimm'd;
But thy eternal summer shall not fade,
Nor lose possession of that fair thou ow'st;
Nor shall death brag thou wander'st in his shade,
When in eternal lines to time thou grow'st:
So long as men can breathe or eyes can see,
So long lives this, and this gives life to thee.

Let me not to the marriage of true minds
Admit impediments. Love is not love
Which alters when it alteration finds,
Or bends with the remover to remove:
O no; it is an ever-fixed mark,
That looks on tempests, and is never shaken;
It is the star to every wandering bark,
Whose worth's unknown, although his height be taken.
Love's not Time's fool, though rosy lips and cheeks
Within his bending sickle's compass come;
Love alters not with his brief hours and weeks,
But bears it out even to the edge of doom.
If this be error and upon me proved,
I never writ, nor no man ever loved.
`;
const alphabet = [...new Set(text)].sort();
const ids = Int32Array.from(text, (character) => alphabet.indexOf(character));

const rowLength = 48;
const rowsPerStep = 12;
const steps = 240;
/** The loss to reach, in nats per character. */
const learnedLoss = 0.3;

const config = qwen3Like({
  vocabSize: alphabet.length,
  hiddenSize: 64,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 16,
  intermediateSize: 160,
  maxPositions: rowLength,
});

const window = (start: number): Int32Array => ids.slice(start, start + rowLength + 1);

/** The entropy of a character given the one before it; a model with a lower loss uses more than its last input. */
function bigramEntropy(): number {
  const pairs = new Map<string, number>();
  const firsts = new Map<number, number>();
  const count = <K>(map: Map<K, number>, key: K): unknown => map.set(key, (map.get(key) ?? 0) + 1);
  for (let i = 0; i + 1 < ids.length; i++) {
    count(pairs, `${ids[i]} ${ids[i + 1]}`);
    count(firsts, ids[i]);
  }
  let nats = 0;
  for (const [pair, n] of pairs)
    nats -= (n / (ids.length - 1)) * Math.log(n / (firsts.get(Number.parseInt(pair, 10)) ?? 1));
  return nats;
}

test(`reaches ${learnedLoss} nats per character in ${steps} steps`, async () => {
  using device = await createWasmDevice({ threads: 2, arenaBytes: 2 ** 28 });
  using scope = new Scope(device);
  const decoder = await loadRandom(scope, config, { trainable: true });
  using optimiser = new AdamW(allWeights(scope, decoder));
  const lossOf = async (rows: readonly Int32Array[], step: number | null): Promise<number> => {
    using inputs = new Scope(device);
    using tape = new Tape(device, step === null ? {} : { learn: optimiser.learn });
    const loss = nextTokenLoss(tape, decoder, nextTokenBatch(inputs, config, rows));
    if (step !== null) {
      optimiser.zeroGradients();
      tape.backward(loss);
      const learningRate = 0.01 * warmupCosine(step, 20, steps, 0.1);
      optimiser.update(step + 1, { learningRate, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, decay: 0, maxNorm: 1 });
    }
    return (await readFloats(loss))[0];
  };
  const everything = Array.from({ length: Math.floor((ids.length - 1) / rowLength) }, (_, i) => window(i * rowLength));
  const before = await lossOf(everything, null);
  for (let step = 0; step < steps; step++) {
    const starts = randomStream(23, 'windows', step);
    const rows = Array.from({ length: rowsPerStep }, (_, r) => window(starts.integerAt(r, ids.length - rowLength - 1)));
    await lossOf(rows, step);
  }
  const after = await lossOf(everything, null);
  expect(before).toBeGreaterThan(3);
  expect(learnedLoss).toBeLessThan(bigramEntropy());
  expect(after).toBeLessThan(learnedLoss);
});
