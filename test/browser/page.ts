/** Runs in the page: the op suite and the kernel suite of every wasm variant that this browser compiles. */
import { type Device, Scope } from '../../src/engine/index.ts';
import { createReferenceDevice } from '../../src/engine/reference/index.ts';
import { createWasmDevice } from '../../src/engine/wasm/index.ts';
import { opCases } from '../device/cases.ts';
import { compareKernels, kernelCases } from '../device/kernel-cases.ts';
import { compareOutcomes, runCase } from '../device/suite.ts';
import { findVariants, suiteArenaBytes } from '../device/variants.ts';
import { withKernels } from '../device/wrap.ts';

const bound = 2e-6;

export interface SuiteReport {
  readonly isolated: boolean;
  readonly missing: readonly string[];
  readonly variants: readonly VariantResult[];
}

export interface VariantResult {
  readonly variant: string;
  readonly threads: number;
  readonly passed: number;
  readonly failures: readonly string[];
  /** FNV-1a over the bytes of every output and gradient, in order. */
  readonly digest: string;
}

class Digest {
  #state = 0x811c9dc5;
  add(values: Float32Array): void {
    for (const byte of new Uint8Array(values.buffer)) this.#state = Math.imul(this.#state ^ byte, 0x01000193);
  }
  toString(): string {
    return (this.#state >>> 0).toString(16).padStart(8, '0');
  }
}

/** Runs every case on the device and tells how many agree with the reference, and which do not. */
async function runCases(device: Device): Promise<Pick<VariantResult, 'passed' | 'failures' | 'digest'>> {
  const reference = createReferenceDevice();
  const failures: string[] = [];
  const digest = new Digest();
  let passed = 0;
  const judge = (name: string, wrong: readonly { quantity: string; maxRel: number }[]): void => {
    if (wrong.length === 0) passed++;
    for (const { quantity, maxRel } of wrong) failures.push(`${name}: ${quantity} off by ${maxRel}`);
  };
  for (const op of opCases()) {
    const found = await runCase(device, op);
    for (const values of [found.output, ...Object.values(found.gradients)]) digest.add(values);
    const checks = compareOutcomes(op.name, found, await runCase(reference, op), bound);
    judge(
      op.name,
      checks.filter(({ pass }) => !pass),
    );
  }
  for (const kernel of kernelCases()) {
    const checks = await compareKernels(device, reference, kernel, bound);
    judge(
      `kernels: ${kernel.name}`,
      checks.filter(({ pass }) => !pass),
    );
  }
  return { passed, failures, digest: digest.toString() };
}

export async function runSuite(threads: number): Promise<SuiteReport> {
  const { available, missing } = await findVariants();
  const variants: VariantResult[] = [];
  for (const variant of available) {
    using device = await createWasmDevice({ variant, threads, arenaBytes: suiteArenaBytes });
    variants.push({ variant, threads: device.threads, ...(await runCases(device)) });
  }
  return { isolated: Reflect.get(globalThis, 'crossOriginIsolated') === true, missing, variants };
}

/** The number of cases that fail on a device whose swiglu is off by a thousandth. */
export async function countPlantedFailures(): Promise<number> {
  using device = await createWasmDevice({ threads: 1, arenaBytes: suiteArenaBytes });
  const wrong = withKernels(device, (kernels) => ({
    swiglu(out, gate, up) {
      kernels.swiglu(out, gate, up);
      kernels.affine(out, out, 1, 1e-3);
    },
  }));
  return (await runCases(wrong)).failures.length;
}

/** The error message that a request for threads gives, or what happened instead. */
export async function askForThreads(threads: number): Promise<string> {
  try {
    using device = await createWasmDevice({ threads, arenaBytes: 2 ** 26 });
    using scope = new Scope(device);
    return `a device with ${scope.device.name} ${device.threads} threads`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
