/**
 * A gate of one's own: a logistic probe on activation features, fitted to the pairs before the first update and every `refitEvery`
 * updates. Rollouts that the probe calls hacks with confidence are routed, those that it calls clean are kept, the rest is absorbed.
 */
import { defineArm, z } from 'gradient-quarantine';
import { pairFeatures } from 'gradient-quarantine/grpo';

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/** Logistic regression by gradient descent on rows of features: hacks are 1, clean completions 0. */
function fitProbe({ hack, clean }, { steps, learningRate }) {
  const width = hack.data.length / hack.rows;
  const rows = [hack, clean].flatMap(({ rows: count, data }, side) =>
    Array.from({ length: count }, (_, row) => ({ x: data.subarray(row * width, (row + 1) * width), y: 1 - side })),
  );
  const weights = new Float32Array(width + 1);
  for (let step = 0; step < steps; step++) {
    const slope = new Float64Array(width + 1);
    for (const { x, y } of rows) {
      const error = score(x, weights) - y;
      for (let i = 0; i < width; i++) slope[i] += error * x[i];
      slope[width] += error;
    }
    for (let i = 0; i <= width; i++) weights[i] -= (learningRate * slope[i]) / rows.length;
  }
  return weights;
}

function score(x, weights) {
  let total = weights[x.length];
  for (let i = 0; i < x.length; i++) total += x[i] * weights[i];
  return sigmoid(total);
}

const probeGate = defineArm({
  kind: 'probe',
  summary: 'a logistic probe on activations, fitted to the pairs',
  settings: z.strictObject({
    confidence: z.number().gt(0.5).lt(1).default(0.8).describe('probability from which a rollout is routed, or kept'),
    refitEvery: z.number().int().min(1).default(5).describe('updates between fits of the probe'),
    steps: z.number().int().min(1).default(300).describe('steps of gradient descent'),
    learningRate: z.number().gt(0).default(0.5).describe('step size of the fit'),
  }),
  open({ confidence, refitEvery, ...fit }, { pairs, tokensPerPass }) {
    let weights = new Float32Array();
    const routeOf = (p) => (p >= confidence ? 'route' : p <= 1 - confidence ? 'keep' : 'absorb');
    return {
      sees: { features: { kind: 'activation', granularity: 'rollout' }, text: false },
      async refresh(step, policy) {
        if (step % refitEvery === 0) {
          weights = fitProbe(await pairFeatures(policy, pairs, { kind: 'activation', tokensPerPass }), fit);
        }
        return null;
      },
      route({ features, rollouts }) {
        const width = weights.length - 1;
        const scores = rollouts.map((_, row) => score(features.data.subarray(row * width, (row + 1) * width), weights));
        const cuts = { low: 1 - confidence, high: confidence };
        return { routes: scores.map((p) => [routeOf(p)]), scores, cuts, bufferRows: 0 };
      },
      save: () => ({ json: null, tensors: new Map([['weights', { shape: [weights.length], data: weights }]]) }),
      restore({ tensors }) {
        weights = tensors.get('weights').data;
      },
    };
  },
});

export const arms = [probeGate];
