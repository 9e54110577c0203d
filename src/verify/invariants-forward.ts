/** Invariants of scoring and generation with an adapter. */
import { addChange, scaleRows } from '../adapters/index.ts';
import { randomStream } from '../base/index.ts';
import { AdamW, readFloats, Scope, Tape } from '../engine/index.ts';
import {
  Decoder,
  type GenerateRequest,
  type Generation,
  type Group,
  generate,
  type LoadedWeight,
  type SamplingSettings,
  scoreGroups,
} from '../model/index.ts';
import type { Checks } from './check.ts';
import { routeAll, type TinyLab } from './tiny-model.ts';

/** Bound on the difference of log-probabilities that one device computes in two ways. */
const roundingBound = 5e-5;

export async function verifyStart(lab: TinyLab, check: Checks): Promise<void> {
  const base = await lab.score(null);
  check.exact('start: full is base', await lab.score(1), base);
  check.exact('start: ablating is a no-op', await lab.score(0), base);
}

/** Trains the quarantine alone for a few steps, as routed rollouts do; the deployed policy must not move. */
export async function verifyRoutedTraining(lab: TinyLab, check: Checks): Promise<void> {
  const base = await lab.score(null);
  using optimiser = new AdamW(lab.adapter.parameters);
  for (let step = 1; step <= 3; step++) {
    await lab.gradients(lab.rows, routeAll(lab.everyRow('route'), 'branch'));
    const adam = { learningRate: 0.05, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, decay: 0.1, maxNorm: 1 };
    optimiser.update(step, adam);
  }
  const full = await lab.score(1);
  const moved = full.map((value, t) => value - base[t]);
  check.large('routed training moves the full policy', moved, 1e-3);
  check.exact('routed training leaves the deployed policy', await lab.score(0), base);
}

export async function verifyAblation(lab: TinyLab, check: Checks): Promise<void> {
  const [deployed, full] = [await lab.score(0), await lab.score(1)];
  const [keep, absorb] = [routeAll(lab.everyRow('keep'), 'branch'), routeAll(lab.everyRow('absorb'), 'parameter')];
  check.exact('scale 0 is the forward of keep', deployed, await lab.scoreWith(keep));
  check.exact('scale 1 is the forward of absorb', full, await lab.scoreWith(absorb));
  check.absolute('deployed is the merged model', deployed, await mergedScore(lab), roundingBound);
  await lab.disturb('another quarantine', 'quarantine');
  check.exact('deployed does not depend on the quarantine', await lab.score(0), deployed);
}

async function mergedScore(lab: TinyLab): Promise<Float32Array> {
  const { config, weights } = lab.decoder;
  using scope = new Scope(lab.device);
  const merged: LoadedWeight[] = [];
  for (const [name, tensor] of weights) {
    const data = await readFloats(tensor);
    const module = name.replace(/\.weight$/, '');
    const isTarget = lab.adapter.modules.some((target) => target.name === module);
    if (isTarget) addChange(data, tensor.shape[1], await lab.adapter.deployedChange(module));
    merged.push({ name, shape: tensor.shape, dtype: 'f32', data });
  }
  const decoder = await Decoder.load(scope, config, merged);
  using tape = new Tape(lab.device);
  return await readFloats(scoreGroups(tape, decoder, lab.pack(tape)));
}

export async function verifyPacking(lab: TinyLab, check: Checks): Promise<void> {
  const packed = await lab.score(1);
  const lengths = lab.rollouts.map(({ completions: [row] }) => row.length);
  const longest = Math.max(...lengths);
  const padded = lab.rollouts.map(({ prompt, completions: [row] }) => {
    const longer = new Int32Array(longest);
    longer.set(row);
    return { prompt, completions: [longer] };
  });
  const whole = await lab.score(1, padded);
  const real = lengths.flatMap((length, row) => [...whole.subarray(row * longest, row * longest + length)]);
  const alone: number[] = [];
  for (const rollout of lab.rollouts) alone.push(...(await lab.score(1, [rollout])));
  const groups = [0, 1].map((which): Group => {
    const members = lab.rollouts.filter((_, row) => row % 2 === which);
    return { prompt: members[0].prompt, completions: members.flatMap(({ completions }) => [...completions]) };
  });
  const apart = groups.flatMap(({ prompt, completions }) => completions.map((row) => ({ prompt, completions: [row] })));
  const [shared, repeated] = [await lab.score(1, groups), await lab.score(1, apart)];
  check.exact('packed is padded', packed, real);
  check.exact('packed is one row at a time', packed, alone);
  check.absolute('a shared prompt is a repeated one', shared, repeated, roundingBound);
}

const sampling: SamplingSettings = {
  temperature: 0.9,
  topK: 12,
  topP: 0.95,
  minP: 0.01,
  maxNewTokens: 7,
  stopTokens: [3, 5],
  maxPromptTokens: null,
};

function sample(lab: TinyLab, requests: readonly GenerateRequest[], readEvery = 1): Promise<Generation[]> {
  return generate(lab.decoder, requests, sampling, {
    stream: randomStream(lab.shape.seed, 'lab sampling'),
    project: (scope, scales) => lab.adapter.project({ coefficients: scaleRows(scope, [...scales]) }),
    readEvery,
  });
}

function flatten(generations: readonly Generation[]): number[] {
  return generations.flatMap(({ tokens, logps, fullLogps, finish }) => [
    finish === 'stop' ? 1 : 0,
    ...tokens,
    ...logps,
    ...fullLogps,
  ]);
}

function labRequests(lab: TinyLab): GenerateRequest[] {
  return lab.rollouts.map(({ prompt }, row) => ({ prompt, row: 10 + row, scale: row % 3 === 2 ? 0 : 1 }));
}

export async function generateNumbers(lab: TinyLab): Promise<number[]> {
  return flatten(await sample(lab, labRequests(lab)));
}

export async function verifyGeneration(lab: TinyLab, check: Checks): Promise<void> {
  const requests = labRequests(lab);
  const together = await sample(lab, requests);
  const alone: Generation[] = [];
  for (const request of requests) alone.push(...(await sample(lab, [request])));
  const backwards = (await sample(lab, requests.toReversed())).toReversed();
  const rarely = await sample(lab, requests, 4);
  const scored = await Promise.all(
    requests.map(({ prompt, scale }, i) => lab.score(scale, [{ prompt, completions: [together[i].tokens] }])),
  );
  const sampled = together.flatMap(({ fullLogps }) => [...fullLogps]);
  check.exact('a sample does not depend on its neighbours', flatten(together), flatten(alone));
  check.exact('a sample does not depend on its place', flatten(together), flatten(backwards));
  check.exact('a sample does not depend on when it is read', flatten(together), flatten(rarely));
  check.absolute(
    'sampled log-probability is the scored one',
    sampled,
    scored.flatMap((logps) => [...logps]),
    roundingBound,
  );
}
