/**
 * Projection (docs/science.md, section 11): trains as vanilla does, and after the last update takes k directions out of what was learned,
 * Δ = θ − θ_0: the principal components of the adapter's checkpoints, or the leading directions of the gradients of the pairs. The
 * controls take out as many random directions of the same span, or shorten Δ as much and leave its direction.
 */
import { EigenvalueDecomposition, Matrix } from 'ml-matrix';
import { z } from 'zod';
import type { StoredTensor, TokenPair } from '../../adapters/index.ts';
import { randomStream, readWhen, UserError } from '../../base/index.ts';
import type { Parameter } from '../../engine/optimiser.ts';
import { readFloats } from '../../engine/transfer.ts';
import { type Arm, type ArmDefinition, type DoneUpdate, defineArm, seesNothing } from '../arm.ts';
import type { Expectation } from '../events.ts';
import type { Policy } from '../policy.ts';
import { leadingDirections } from './ablate.ts';

const settings = z.strictObject({
  of: z
    .enum(['checkpoints', 'pairs'])
    .default('checkpoints')
    .describe("what the directions are of: the adapter's checkpoints, or the gradients of the pairs, hack less clean"),
  components: z.number().int().min(1).max(1024).default(2).describe('k: how many directions are taken out'),
  every: z
    .number()
    .int()
    .min(1)
    .max(1e7)
    .default(10)
    .describe('updates between the checkpoints that components are of')
    .meta(readWhen({ of: 'checkpoints' })),
  placebo: z
    .enum(['none', 'random', 'shrunk'])
    .default('none')
    .describe('random: as many random directions of the same span; shrunk: what was learned, shortened as much'),
});
type Settings = z.infer<typeof settings>;

export const project: ArmDefinition = defineArm({
  kind: 'project',
  summary: 'trains as vanilla, then takes leading directions out of what was learned; the rest is deployed',
  quarantine: false,
  settings,
  uses: ({ of }) => (of === 'pairs' ? ['pairs'] : []),
  label: ({ of, components, placebo }) =>
    ['project', ...(placebo === 'none' ? [] : [placebo]), components, 'of', of].join(' '),
  open(own, { seed, pairs, tokensPerPass }): Arm {
    // What had been learned at each checkpoint, by its update.
    const learned = new Map<number, Float32Array>();
    if (own.of === 'pairs' && pairs.length > 0) expectRows(own, pairs.length, 'pairs');
    return {
      sees: seesNothing,
      async after(done, policy) {
        const { update, of } = done;
        if (own.of === 'checkpoints') await keepCheckpoint(learned, own, done, policy);
        if (update !== of) return [];
        const rows =
          own.of === 'pairs' ? await pairGradients(policy, pairs, tokensPerPass) : centred([...learned.values()]);
        return [await takeOut(policy, rows, own, seed)];
      },
      save: () => ({
        json: null,
        tensors: new Map([...learned].map(([update, data]) => [`${update}`, asTensor(data)])),
      }),
      restore({ tensors }) {
        for (const [update, { data }] of tensors) learned.set(Number(update), data);
      },
    };
  },
});

const asTensor = (data: Float32Array): StoredTensor => ({ shape: [data.length], data });

/** More is not held in memory: every checkpoint of the run stores it. */
const mostBytes = 2 ** 31;

async function keepCheckpoint(
  learned: Map<number, Float32Array>,
  own: Settings,
  { update, of }: DoneUpdate,
  { adapter: { parameters } }: Policy,
): Promise<void> {
  const count = Math.ceil(of / own.every);
  if (update === 1) {
    expectRows(own, count, 'checkpoints');
    const bytes = 4 * count * parameters.reduce((sum, { value }) => sum + value.size, 0);
    if (bytes > mostBytes) {
      throw new UserError({
        call: 'config, key arm.every',
        expected: `checkpoints of at most ${mostBytes} bytes together`,
        found: `${count} of them, ${bytes} bytes`,
        fix: 'Raise arm.every.',
      });
    }
  }
  if (update % own.every === 0 || update === of) learned.set(update, await readLearned(parameters));
}

function expectRows({ components }: Settings, count: number, what: string): void {
  if (components <= count) return;
  throw new UserError({
    call: 'config, key arm.components',
    expected: `at most as many directions as there are ${what}`,
    found: `${components} of ${count}`,
    fix: what === 'pairs' ? 'Lower it, or use more pairs.' : 'Lower it, or arm.every.',
  });
}

/** θ − θ_0 of all parameters, one after the other. */
async function readLearned(parameters: readonly Parameter[]): Promise<Float32Array> {
  const parts = await Promise.all(
    parameters.map(async ({ value, target }) => {
      const start = target === null ? null : await readFloats(target);
      return (await readFloats(value)).map((now, i) => now - (start?.[i] ?? 0));
    }),
  );
  return join(parts);
}

function join(parts: readonly Float32Array[]): Float32Array {
  const joined = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** The rows, and the start that they are measured from, less the mean of them all. */
export function centred(rows: readonly Float32Array[]): Float32Array[] {
  const mean = new Float64Array(rows[0].length);
  for (const row of rows) for (let i = 0; i < row.length; i++) mean[i] += row[i] / (rows.length + 1);
  return [new Float32Array(mean.length), ...rows].map((row) => row.map((value, i) => value - mean[i]));
}

/** For each pair, the gradient of the mean negative log-likelihood of its hack less that of its clean completion, as trained. */
export async function pairGradients(
  policy: Policy,
  pairs: readonly TokenPair[],
  tokensPerPass: number,
): Promise<Float32Array[]> {
  const { accumulateNll } = await import('../supervised.ts');
  const { parameters } = policy.adapter;
  const learn = new Map(parameters.map(({ value, gradient }) => [value, gradient]));
  const gradientOf = async (prompt: Int32Array, tokens: Int32Array): Promise<Float32Array> => {
    for (const { gradient } of parameters) gradient.device.kernels.fill(gradient, 0);
    await accumulateNll(policy, { learn }, [{ group: 0, prompt, tokens }], {
      ...{ route: 'absorb', tokensPerPass, detach: 'branch' },
    });
    return join(await Promise.all(parameters.map(({ gradient }) => readFloats(gradient))));
  };
  const rows: Float32Array[] = [];
  for (const { prompt, hack, clean } of pairs) {
    const [high, low] = [await gradientOf(prompt, hack), await gradientOf(prompt, clean)];
    rows.push(high.map((value, i) => value - low[i]));
  }
  return rows;
}

async function takeOut(
  { adapter: { parameters } }: Policy,
  rows: readonly Float32Array[],
  own: Settings,
  seed: number,
): Promise<Expectation> {
  const move = await readLearned(parameters);
  const left = withoutDirections(move, rows, own, seed);
  let at = 0;
  for (const { value, target } of parameters) {
    const start = target === null ? new Float32Array(value.size) : await readFloats(target);
    const from = at;
    value.device.write(
      value,
      start.map((initial, i) => initial + left[from + i]),
    );
    at += value.size;
  }
  const length = squaredLength(move);
  const share = length === 0 ? 0 : 1 - squaredLength(left) / length;
  const what = `${own.components} ${own.placebo === 'random' ? 'random directions' : 'leading directions'} of ${rows.length} ${own.of === 'pairs' ? 'gradients' : 'points'}`;
  const how = own.placebo === 'shrunk' ? `as much as ${what} hold` : what;
  const detail = `${how}: ${share.toFixed(4)} of the squared length of what was learned is taken out`;
  return { kind: 'expectation', name: 'directions are taken out of what was learned', holds: true, detail };
}

const dot = (a: Float32Array, b: Float32Array): number => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
};
const squaredLength = (vector: Float32Array): number => dot(vector, vector);

/** Directions whose share of the squared length of the rows is below this are rounding errors. */
const leastVariance = 1e-12;

/**
 * The move without its part along k orthonormal directions of the span of the rows R [n, D]. With the eigenvectors u_i and values λ_i of
 * the small R Rᵀ, the span has the basis e_i = Rᵀ u_i / √λ_i, largest first: the components are its first k, random directions a
 * random rotation of these in the span. What is taken out is Rᵀ w for n numbers w, so no direction is ever written down.
 */
export function withoutDirections(
  move: Float32Array,
  rows: readonly Float32Array[],
  { components, placebo }: Pick<Settings, 'components' | 'placebo'>,
  seed: number,
): Float32Array {
  const products = Matrix.zeros(rows.length, rows.length);
  rows.forEach((a, i) => {
    for (let j = 0; j <= i; j++) {
      const product = dot(a, rows[j]);
      products.set(i, j, product);
      products.set(j, i, product);
    }
  });
  const { realEigenvalues: values, eigenvectorMatrix: vectors } = new EigenvalueDecomposition(products, {
    assumeSymmetric: true,
  });
  const order = [...values.keys()].sort((a, b) => values[b] - values[a]);
  const spanned = order.filter((i) => values[i] > leastVariance * values[order[0]]);
  const along = rows.map((row) => dot(row, move));
  // The move in the basis e of the span.
  const parts = spanned.map((i) => along.reduce((sum, part, row) => sum + vectors.get(row, i) * part, 0) / Math.sqrt(values[i])); // biome-ignore format: one line
  const taken = placebo === 'random' ? randomParts(parts, components, seed) : parts.map((part, i) => (i < components ? part : 0)); // biome-ignore format: one line
  const left = move.slice();
  rows.forEach((row, at) => {
    const weight = taken.reduce((sum, part, i) => sum + (vectors.get(at, spanned[i]) * part) / Math.sqrt(values[spanned[i]]), 0); // biome-ignore format: one line
    for (let i = 0; i < left.length; i++) left[i] -= weight * row[i];
  });
  if (placebo !== 'shrunk') return left;
  const scale = Math.sqrt(squaredLength(left) / squaredLength(move));
  return move.map((value) => scale * value);
}

/** The part of a vector along so many random orthonormal directions. */
function randomParts(parts: readonly number[], count: number, seed: number): number[] {
  const { length: size } = parts;
  if (count >= size) return [...parts];
  const noise = new Float32Array(count * size);
  randomStream(seed, 'random directions').fillNormal(noise, 1);
  const directions = leadingDirections(noise, count, size, count);
  const taken = new Array<number>(size).fill(0);
  for (let row = 0; row < count; row++) {
    const own = directions.subarray(row * size, (row + 1) * size);
    const part = parts.reduce((sum, value, i) => sum + value * own[i], 0);
    own.forEach((value, i) => {
      taken[i] += part * value;
    });
  }
  return taken;
}
