/** The suite can fail: an error of one part in a thousand, planted in any output of any kernel, turns it red. */
import { expect, test } from 'vitest';
import { type Device, type Kernels, Scope, sizeOf, Tensor } from '../../src/engine/index.ts';
import { createReferenceDevice } from '../../src/engine/reference/index.ts';
import type { OpCase } from './case.ts';
import { opCases } from './cases.ts';
import { jointCases } from './joint-cases.ts';
import { compareKernelOutputs, type KernelCase, kernelCases, runKernels } from './kernel-cases.ts';
import { type Check, compareOutcomes, once, runCase } from './suite.ts';
import { recordCalls, withKernels } from './wrap.ts';

const bound = 2e-6;
const reference = createReferenceDevice();

/** Positions of a kernel's outputs among its tensors, for kernels with other outputs than the first tensor. */
const outputs: Partial<Record<keyof Kernels, readonly number[]>> = {
  rmsNorm: [0, 1],
  rmsNormBackward: [0, 1],
  attention: [0, 1],
  attentionBackward: [0, 1, 2],
  swigluBackward: [0, 1],
  swigluAgain: [0, 1, 2],
  logSoftmaxGather: [0, 1],
  adamw: [0, 2, 3],
  jointNorm: [0, 1],
};

/** Kernels that are tested elsewhere: drawing tokens with the sampler, joined layers where steps of decoding are compared. */
const elsewhere: readonly string[] = ['sample', 'jointFits', 'jointProducts'];

interface Suite {
  readonly name: string;
  readonly compare: (device: Device) => Promise<Check[]>;
}

const smallCases = opCases().filter(({ inputs }) => Object.values(inputs).every(({ shape }) => sizeOf(shape) < 3000));
const expectedOf = once((op: OpCase) => runCase(reference, op));
const expectedOutputs = once((kernel: KernelCase) => runKernels(reference, kernel));
const suites: readonly Suite[] = [
  ...[...kernelCases(), ...jointCases()].map((kernel) => ({
    name: kernel.name,
    compare: async (device: Device) =>
      compareKernelOutputs(kernel, await runKernels(device, kernel), await expectedOutputs(kernel), bound),
  })),
  ...smallCases.map((op) => ({
    name: op.name,
    compare: async (device: Device) => compareOutcomes(op.name, await runCase(device, op), await expectedOf(op), bound),
  })),
];

async function suitesByKernel(): Promise<ReadonlyMap<string, readonly Suite[]>> {
  const found = new Map<string, Suite[]>();
  const calls: string[] = [];
  const watched = recordCalls(createReferenceDevice(), calls);
  for (const suite of suites) {
    calls.length = 0;
    await suite.compare(watched);
    for (const kernel of new Set(calls.map((call) => call.split(' ')[0]))) {
      found.set(kernel, [...(found.get(kernel) ?? []), suite]);
    }
  }
  return found;
}

/** A device on which output number `output` of a kernel is off by a thousandth. */
function plant(device: Device, name: keyof Kernels, output: number): Device {
  return withKernels(device, (kernels) => ({
    [name](...parameters: unknown[]) {
      const kernel = kernels[name] as (...each: unknown[]) => void;
      kernel.apply(kernels, parameters);
      const tensors = parameters.filter((parameter) => parameter instanceof Tensor || parameter === null);
      const wrong = tensors[output];
      if (wrong instanceof Tensor) disturb(device, wrong);
    },
  }));
}

function disturb(device: Device, tensor: Tensor): void {
  if (tensor.dtype === 'f32') device.kernels.affine(tensor, tensor, 1.001, 1e-3);
  else if (tensor.dtype === 'i32') {
    using scope = new Scope(device);
    device.kernels.advance(tensor, scope.from(new Int32Array(1).fill(1), [1], 'one'));
  } else device.kernels.fill(tensor, 0.5);
}

const users = await suitesByKernel();
const kernelNames = (Object.keys(reference.kernels) as (keyof Kernels)[]).filter((name) => !elsewhere.includes(name));

test.each(kernelNames)('%s', async (name) => {
  for (const output of outputs[name] ?? [0]) {
    let red: string | undefined;
    const wrong = plant(createReferenceDevice(), name, output);
    for (const suite of users.get(name) ?? []) {
      const checks = await suite.compare(wrong);
      if (checks.some(({ pass }) => !pass)) red = suite.name;
      if (red !== undefined) break;
    }
    expect(red, `no case fails when output ${output} of ${name} is wrong`).toBeDefined();
  }
});

test('and without a planted error it is green', async () => {
  const device = withKernels(createReferenceDevice(), () => ({}));
  for (const suite of suites) expect((await suite.compare(device)).filter(({ pass }) => !pass)).toEqual([]);
});
