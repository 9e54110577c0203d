/** The sample kernel against its definition on the host: the same tokens, the same log-probabilities. */
import { randomStream } from '../../src/base/rng.ts';
import { type Device, readFloats, readInts, type SampleOptions, Scope } from '../../src/engine/index.ts';
import { sampleRows } from '../../src/engine/sampling.ts';
import type { Check } from '../device/suite.ts';

const plain = { temperature: 1, topK: 0, topP: 1, minP: 0 };
const settings: readonly Omit<SampleOptions, 'key' | 'step'>[] = [
  plain,
  { ...plain, temperature: 0 },
  { ...plain, temperature: 0.7 },
  { ...plain, topK: 1 },
  { ...plain, topK: 20 },
  { ...plain, topK: 96, topP: 0.8 },
  { ...plain, topK: 97 },
  { ...plain, topP: 0.9 },
  { ...plain, topP: 0.3, temperature: 1.5 },
  { ...plain, minP: 0.05 },
  { temperature: 0.8, topK: 40, topP: 0.95, minP: 0.01 },
];

/** Rows of logits of four kinds: smooth, flat with ties, one likely token, and all equal. */
function makeLogits(rows: number, columns: number): Float32Array {
  const logits = new Float32Array(rows * columns);
  randomStream(3, ['sampling suite', columns]).fillNormal(logits, 3);
  for (let row = 0; row < rows; row++) {
    const own = logits.subarray(row * columns, (row + 1) * columns);
    if (row % 4 === 1) own.set(own.map(Math.round));
    if (row % 4 === 2) own[(row * 7) % columns] += 30;
    if (row % 4 === 3) own.fill(0.5);
  }
  return logits;
}

export async function compareSampling(device: Device, rows: number, columns: number): Promise<Check[]> {
  const logits = makeLogits(rows, columns);
  const length = 5;
  const checks: Check[] = [];
  for (const [i, setting] of settings.entries()) {
    const options = { ...setting, key: randomStream(9, 'draws').key, step: i } as const;
    const ids = new Int32Array(rows);
    const [slots, streams] = [0, 1].map((by) => Int32Array.from(ids, (_, b) => (by === 0 ? rows - 1 - b : b * 13 + 2)));
    const counts = Int32Array.from(ids, (_, b) => b % length);
    const expected = { tokens: new Int32Array(rows * length), logps: new Float32Array(2 * rows * length) };
    sampleRows({ ids, ...expected, logits, slots, rows: streams, counts }, length, options);
    using scope = new Scope(device);
    const tokens = scope.from(new Int32Array(rows * length), [rows, length], 'tokens');
    const logps = scope.zeros([rows, length, 2], 'logps');
    const drawn = scope.from(new Int32Array(rows), [rows], 'ids');
    const whole = (data: Int32Array) => scope.from(data, [rows], 'rows');
    const given = scope.from(logits, [rows, columns], 'logits');
    device.kernels.sample(drawn, tokens, logps, given, whole(slots), whole(streams), whole(counts), options);
    const found = { ids: await readInts(drawn), tokens: await readInts(tokens), logps: await readFloats(logps) };
    const name = `sample ${rows}×${columns} ${JSON.stringify(setting)}`;
    const different =
      found.tokens.filter((token, at) => token !== expected.tokens[at]).length +
      found.ids.filter((token, at) => token !== ids[at]).length;
    checks.push({
      case: name,
      quantity: 'tokens',
      maxAbs: different,
      maxRel: different,
      bound: 0,
      pass: different === 0,
    });
    const worst = found.logps.reduce((most, value, at) => {
      const difference = Math.abs(value - expected.logps[at]);
      return difference <= most ? most : Number.isNaN(difference) ? Number.POSITIVE_INFINITY : difference;
    }, 0);
    checks.push({ case: name, quantity: 'logps', maxAbs: worst, maxRel: worst, bound: 2e-5, pass: worst <= 2e-5 });
  }
  return checks;
}
