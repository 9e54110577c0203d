/**
 * Changes of the residual stream after a layer. The last linear layer of a block, its down projection, is added onto the stream, so
 * what a decoder gets from it is the layer's output: a change of that tensor is a change of the output itself. What a change needs
 * lies in tensors of the activations' float that the caller makes once, so that a device may record passes and replay them.
 */
import { UserError } from '../base/index.ts';
import { add, linear, Scope, type Tape, type Tensor } from '../engine/index.ts';
import type { DecoderConfig, Project } from '../model/index.ts';
import { type TargetModule, targetModules } from './targets.ts';

/** Turns the output [T, C] of a layer into what the next layer gets. */
export type OutputChange = (tape: Tape, output: Tensor) => Tensor;

/** The module whose output is that of a layer, counted from 0. `key` names the layer in the config. */
export function layerOutput(config: DecoderConfig, layer: number, key: string): TargetModule {
  const name = `model.layers.${layer}.mlp.down_proj`;
  const module = targetModules(config, ['down_proj']).find((each) => each.name === name);
  if (module !== undefined) return module;
  throw new UserError({
    call: `config, key ${key}`,
    expected: `a layer of the model, from 0 to ${config.layers - 1}`,
    found: `${layer}`,
  });
}

/** Applies linear layers as `project` does, and changes the outputs of the modules that are named. */
export function changeOutputs(project: Project, changes: ReadonlyMap<string, OutputChange>): Project {
  return (tape, x, layers, onto) =>
    project(tape, x, layers, onto).map((output, i) => changes.get(layers[i].module)?.(tape, output) ?? output);
}

/** h ← h + v at every token, v [C]. */
export function addVector(vector: Tensor): OutputChange {
  return (tape, output) => add(tape, output, vector);
}

/** Orthonormal directions as both factors of the projector: Qᵀ [k, C], and −Q [C, k]. */
export interface Directions {
  readonly down: Tensor;
  readonly up: Tensor;
}

/** h ← h − Q Qᵀ h at every token. */
export function removeDirections({ down, up }: Directions): OutputChange {
  return (tape, output) => linear(tape, linear(tape, output, down), up, null, output);
}

export function emptyVector(scope: Scope, size: number): Tensor {
  return scope.empty([size], 'steering vector', scope.device.floats[0]);
}

export function emptyDirections(scope: Scope, count: number, size: number): Directions {
  const [dtype] = scope.device.floats;
  return {
    down: scope.empty([count, size], 'ablated directions', dtype),
    up: scope.empty([size, count], 'ablated directions, negative', dtype),
  };
}

/** Writes the rows Qᵀ [k, C] of orthonormal directions. */
export function writeDirections({ down, up }: Directions, rows: Float32Array): void {
  const [count, size] = down.shape;
  writeRounded(down, rows);
  writeRounded(
    up,
    Float32Array.from({ length: rows.length }, (_, at) => -rows[(at % count) * size + Math.floor(at / count)]),
  );
}

/** Writes float32 numbers into a tensor of any float. */
export function writeRounded(target: Tensor, data: Float32Array): void {
  const { device, dtype, shape, label } = target;
  if (dtype === 'f32') {
    device.write(target, data);
    return;
  }
  using staging = new Scope(device);
  device.kernels.copy(target, staging.from(data, shape, label));
}
