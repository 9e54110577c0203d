/**
 * Compares a stored GRPO step with the trainer's own code: its scorer in every state, its features, its loss and gradients, its
 * optimiser step. The optimiser step starts from the stored gradients: the first step of Adam is nearly the sign of the gradient, so
 * it would magnify rounding in elements near zero without bound. The gradients have their own checks.
 */
import { scaleOf } from '../adapters/index.ts';
import { AdamW, type Device, readFloats, Scope, Tape } from '../engine/index.ts';
import {
  accumulateGradients,
  klEstimate,
  probeGradients,
  readBlockNorms,
  scoreRollouts,
  seesNothing,
  stepOptions,
  updatePolicy,
} from '../grpo/index.ts';
import { mean } from '../stats/index.ts';
import { type Check, compareAbsolute, compareNorm, compareRelative, failedCheck } from './check.ts';
import { joinRows, missingFiles, StoredCase } from './parity-files.ts';
import { type CaseReport, logitBound } from './parity-model.ts';
import { readStoredStep, type StoredStep, stepFiles, storedAs } from './parity-step.ts';

const lossBound = 1e-5;
const gradientBound = 1e-4;
const stepBound = 1e-6;

/** Which gradients the optimiser step starts from. */
export type StepFrom = 'stored' | 'own';

export async function verifyGrpo(
  device: Device,
  directory: string,
  name: string,
  stepFrom: StepFrom = 'stored',
): Promise<CaseReport> {
  const missing = missingFiles(directory, stepFiles);
  if (missing.length > 0) return { checks: missing.map((file) => failedCheck(name, file, 'no such file')), notes: [] };
  using scope = new Scope(device);
  await using stored = await StoredCase.open(directory, 'grpo.safetensors');
  const step = await readStoredStep(scope, directory, stored);
  const checks = [
    ...(await verifyScores(step, name)),
    ...(await verifyFeatures(step, name)),
    ...(await verifyUpdate(step, name, stepFrom)),
  ];
  stored.ignore('rewards', 'sampled_deployed');
  const unread = [...stored.unread(), ...unknownTensors(step)];
  return { checks, notes: unread.map((tensor) => `not compared: ${tensor}`) };
}

function unknownTensors({ tensors, policy }: StoredStep): string[] {
  const suffixes = ['A', 'B', 'A0', 'B0', 'A.grad', 'B.grad', 'A.stepped', 'B.stepped'];
  const known = new Set(policy.adapter.modules.flatMap(({ name }) => suffixes.map((suffix) => `${name}.${suffix}`)));
  return [...tensors.keys()].filter((name) => !known.has(name)).map((name) => `adapter.safetensors: ${name}`);
}

async function verifyScores({ policy, settings, inputs, stored, lengths }: StoredStep, name: string): Promise<Check[]> {
  const scales: Readonly<Record<string, (row: number) => number | 'base'>> = {
    logp_full: () => scaleOf('full', policy.deployedScale),
    logp_deployed: () => scaleOf('deployed', policy.deployedScale),
    logp_base: () => 'base',
    // Kept rollouts are computed without the quarantine, the others with it.
    logp_masked: (row) => scaleOf(inputs.routes[row][0] === 'keep' ? 'deployed' : 'full', policy.deployedScale),
  };
  const checks: Check[] = [];
  for (const [quantity, scale] of Object.entries(scales)) {
    const { logps } = await scoreRollouts(policy, inputs.rollouts, scale, settings.compute);
    const expected = joinRows(await stored.floatRows(quantity, lengths));
    checks.push(compareAbsolute(name, quantity, joinRows(logps), expected, logitBound));
  }
  return checks;
}

async function verifyFeatures({ policy, settings, inputs, stored }: StoredStep, name: string): Promise<Check[]> {
  const checks: Check[] = [];
  if (stored.has('pooled_act')) {
    const deployed = scaleOf('deployed', policy.deployedScale);
    const options = { ...settings.compute, pool: 'rollout' } as const;
    const { features } = await scoreRollouts(policy, inputs.rollouts, () => deployed, options);
    const expected = await stored.floats('pooled_act');
    checks.push(compareAbsolute(name, 'pooled_act', joinRows(features), expected, logitBound));
  }
  if (stored.has('probe_grad')) {
    const features = await probeGradients(policy, inputs.rollouts, 'rollout', settings.compute.tokensPerPass);
    const expected = await stored.floats('probe_grad');
    checks.push(compareNorm(name, 'probe_grad', joinRows(features), expected, gradientBound));
  }
  return checks;
}

async function verifyUpdate(step: StoredStep, name: string, stepFrom: StepFrom): Promise<Check[]> {
  const { policy, settings, inputs, stored } = step;
  const { parameters } = policy.adapter;
  using optimiser = new AdamW(parameters);
  optimiser.zeroGradients();
  const { loss, rollouts } = await accumulateGradients(policy, optimiser, inputs, settings);
  const checks = [
    await verifyKl(
      step,
      name,
      rollouts.map(({ k3 }) => k3),
    ),
    compareRelative(name, 'loss', [loss], await stored.floats('loss'), lossBound),
  ];
  for (const parameter of parameters) {
    const found = await readFloats(parameter.gradient);
    checks.push(compareNorm(name, `${parameter.name}.grad`, found, storedAs(parameter, 'grad', step), gradientBound));
  }
  const { deployed, quarantine } = await readBlockNorms(policy);
  const [norm, share] = [Math.hypot(deployed, quarantine), quarantine / (deployed + quarantine)];
  checks.push(
    compareRelative(name, 'grad_norm', [norm], await stored.floats('grad_norm'), gradientBound),
    compareRelative(name, 'qmass', [share], await stored.floats('qmass'), gradientBound),
  );
  if (stepFrom === 'own') await updatePolicy({ policy, optimiser, settings, arm: { sees: seesNothing } }, inputs, 0);
  else {
    for (const parameter of parameters) {
      optimiser.device.write(parameter.gradient, storedAs(parameter, 'grad', step));
    }
    optimiser.update(1, stepOptions(settings.optimiser, settings.optimiser.learningRate));
  }
  for (const parameter of parameters) {
    const found = await readFloats(parameter.value);
    const expected = storedAs(parameter, 'stepped', step);
    checks.push(compareAbsolute(name, `${parameter.name}.stepped`, found, expected, stepBound));
  }
  return checks;
}

/** Checks k3 of every token, and its mean over each rollout as the learning pass reports it. */
async function verifyKl({ policy, stored, lengths }: StoredStep, name: string, means: number[]): Promise<Check> {
  using tape = new Tape(policy.decoder.head.device);
  const tensor = async (quantity: string) => {
    const values = joinRows(await stored.floatRows(quantity, lengths));
    return tape.from(values, [values.length], quantity);
  };
  const found = await readFloats(klEstimate(tape, await tensor('logp_masked'), await tensor('logp_base')));
  const rows = await stored.floatRows('kl', lengths);
  return compareAbsolute(name, 'kl', [...found, ...means], [...joinRows(rows), ...rows.map(mean)], logitBound);
}
