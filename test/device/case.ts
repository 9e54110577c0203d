/**
 * One op of the engine with concrete inputs. The same cases run on every device, in Node, in a browser and on a GPU machine:
 * nothing here imports a test runner.
 */
import { randomStream } from '../../src/base/rng.ts';
import type { Scope, Shape, Tape, Tensor } from '../../src/engine/index.ts';

export interface Input {
  readonly shape: Shape;
  /** 'learn': the input gets a gradient. 'half': only the first half of its rows does, which `run` gets as NAME½. */
  readonly role: 'learn' | 'half' | 'frozen';
  readonly data: Float32Array | Int32Array;
}

export interface OpCase {
  readonly name: string;
  readonly inputs: Readonly<Record<string, Input>>;
  /** Whether to compare with central differences, which mean nothing at the kinks of clamp and minimum and are slow for large shapes. */
  readonly differences: boolean;
  /** Whether the case runs on a tape that discards activations and computes them again. */
  readonly recompute?: boolean;
  run(tape: Tape, inputs: Readonly<Record<string, Tensor>>, scope: Scope): Tensor;
}

export interface Outcome {
  readonly output: Float32Array;
  readonly gradients: Readonly<Record<string, Float32Array>>;
}

export function normal(name: string, shape: Shape, scale = 1): Float32Array {
  const data = new Float32Array(shape.reduce((product, axis) => product * axis, 1));
  randomStream(11, ['device suite', name]).fillNormal(data, scale);
  return data;
}

/** An input whose data is made on first use, so that a list of cases costs nothing until they run. */
function normalInput(role: Input['role'], name: string, shape: Shape, scale: number): Input {
  let made: Float32Array | undefined;
  return {
    shape,
    role,
    get data() {
      made ??= normal(name, shape, scale);
      return made;
    },
  };
}

export function learn(name: string, shape: Shape, scale = 1): Input {
  return normalInput('learn', name, shape, scale);
}

export function half(name: string, shape: Shape, scale = 1): Input {
  return normalInput('half', name, shape, scale);
}

export function frozen(name: string, shape: Shape, scale = 1): Input {
  return normalInput('frozen', name, shape, scale);
}

export function ints(values: readonly number[]): Input {
  return { shape: [values.length], role: 'frozen', data: Int32Array.from(values) };
}

const weightsBySize = new Map<number, Float32Array>();

/** Weights of the output in the sum that is differentiated; they are the same for every device. Drawing them takes longer than most cases. */
export function outputWeights(size: number): Float32Array {
  const weights = weightsBySize.get(size) ?? normal('output weights', [size]);
  weightsBySize.set(size, weights);
  return weights;
}
