/**
 * Gradient regularisation by finite differences (Ackermann et al. 2026, arXiv 2602.18037;
 * JohannesAck/gradientregularization_trl): an update goes down the loss and down the norm of its gradient, so that it stays where a
 * small move of the parameters changes little.
 *
 *   g1 = ∇L(θ), scaled down to a norm of 10
 *   g2 = ∇L(θ + ε g1) on the same rollouts, scaled down to a norm of 10
 *   g  = g1 + (γ/ε)(g2 − g1)
 *
 * The parameters are back, bit for bit, before the optimiser takes g. An update costs two backward passes over its rollouts.
 */
import { z } from 'zod';
import { readWhen, UserError } from '../../base/index.ts';
import type { Parameter } from '../../engine/optimiser.ts';
import { Scope } from '../../engine/scope.ts';
import type { Tensor } from '../../engine/tensor.ts';
import { readFloats } from '../../engine/transfer.ts';
import { type Arm, type ArmDefinition, defineArm, seesNothing } from '../arm.ts';

const settings = z.strictObject({
  gamma: z.number().min(0).max(1e6).default(1e-3).describe('γ: the weight of the gradient norm'),
  epsilon: z
    .number()
    .gt(0)
    .max(1e6)
    .default(1e-3)
    .describe(
      "ε: the length of the move that gradients are compared over, as a multiple of the gradient; docs/baselines.md says how it scales with an adapter's rank",
    )
    .meta(readWhen({ gamma: { not: 0 } })),
  clip: z.number().gt(0).max(1e6).default(10).describe('largest norm of each of the two gradients'),
});

export const gradientRegularisation: ArmDefinition = defineArm({
  kind: 'gradient-regularisation',
  summary: 'every update also lowers the norm of its gradient; everything that is trained is deployed',
  quarantine: false,
  settings,
  uses: [],
  label: ({ gamma, epsilon }) =>
    ['gradient-regularisation', `γ ${gamma}`, ...(epsilon === 1e-3 ? [] : [`ε ${epsilon}`])].join(' '),
  open: ({ gamma, epsilon, clip }): Arm => ({
    sees: seesNothing,
    gradient: (parameters, again) => regularise(parameters, again, { gamma, epsilon, clip }),
  }),
});

async function regularise(
  parameters: readonly Parameter[],
  again: () => Promise<void>,
  { gamma, epsilon, clip }: z.infer<typeof settings>,
): Promise<void> {
  const [{ value: some }] = parameters;
  const { kernels } = some.device;
  using scope = new Scope(some.device);
  const gradients = parameters.map(({ gradient }) => gradient);
  const values = parameters.map(({ value }) => value);
  const norm = await scaleDown(gradients, clip);
  const first = gradients.map((gradient) => copyOf(scope, gradient, 'first gradient'));
  const before = values.map((value) => copyOf(scope, value, 'parameters before the move'));
  values.forEach((value, i) => {
    using move = new Scope(some.device);
    const by = move.empty(value.shape, 'move of a parameter');
    kernels.affine(by, first[i], epsilon, 0);
    kernels.add(value, by);
  });
  await again();
  values.forEach((value, i) => {
    kernels.copy(value, before[i]);
  });
  await scaleDown(gradients, clip);
  gradients.forEach((gradient, i) => {
    kernels.binary('subtract', gradient, gradient, first[i]);
  });
  if (norm > 0 && (await normOf(gradients)) === 0) throw unmoved(epsilon);
  gradients.forEach((gradient, i) => {
    kernels.affine(gradient, gradient, gamma / epsilon, 0);
    kernels.add(gradient, first[i]);
  });
}

function copyOf(scope: Scope, tensor: Tensor, label: string): Tensor {
  const copy = scope.empty(tensor.shape, label);
  scope.device.kernels.copy(copy, tensor);
  return copy;
}

/** Scales gradients, in place, so that their norm is at most `clip`, and returns the norm that they had. */
async function scaleDown(gradients: readonly Tensor[], clip: number): Promise<number> {
  const norm = await normOf(gradients);
  const scale = clip / (norm + 1e-6);
  if (scale < 1) for (const gradient of gradients) gradient.device.kernels.affine(gradient, gradient, scale, 0);
  return norm;
}

async function normOf(tensors: readonly Tensor[]): Promise<number> {
  const [{ device }] = tensors;
  using scope = new Scope(device);
  const squared = scope.zeros([1], 'squared norm');
  for (const tensor of tensors) device.kernels.sumSquares(squared, tensor, true);
  return Math.sqrt((await readFloats(squared))[0]);
}

function unmoved(epsilon: number): UserError {
  return new UserError({
    call: 'config, key arm.epsilon',
    expected: 'a move of the parameters that changes their gradient',
    found: `${epsilon}, after which it is the same, bit for bit`,
    fix: 'The move is smaller than what the numbers of a pass can tell apart: raise arm.epsilon, or compute with device.precision = "f32".',
  });
}
