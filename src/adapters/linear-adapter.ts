/**
 * Adapters of the families lora, pissa, corda, scorda and scorda-reversed: y = W x + [B A − B0 A0] x. They differ in A0, B0
 * only. Checkpoints hold A [2R, C], B [O, 2R], A0 and B0 of each module; the engine keeps B transposed.
 */
import { ShapeError, UserError } from '../base/errors.ts';
import {
  adaptedLinear,
  linear,
  type Parameter,
  readFloats,
  type Scope,
  type SplitAdapter,
  splitAdapter,
  type Tensor,
} from '../engine/index.ts';
import type { Project } from '../model/decoder.ts';
import type { Adapter, AdapterPass, LowRankChange, StoredTensor } from './adapter.ts';
import type { InitialFactors, LinearFamily } from './families.ts';
import type { TargetModule } from './targets.ts';
import { transpose } from './transpose.ts';

export class LinearAdapter implements Adapter {
  readonly family: LinearFamily;
  readonly rank: number;
  readonly modules: readonly TargetModule[];
  readonly parameters: readonly Parameter[];
  readonly #blocks: ReadonlyMap<string, SplitAdapter>;
  /** What passes compute with: the blocks themselves, or their factors rounded to the activations' float. */
  readonly #rounded: ReadonlyMap<string, SplitAdapter>;

  constructor(
    scope: Scope,
    family: LinearFamily,
    rank: number,
    modules: readonly TargetModule[],
    initial: (module: TargetModule) => InitialFactors,
  ) {
    this.family = family;
    this.rank = rank;
    this.modules = modules;
    const blocks = new Map<string, SplitAdapter>();
    for (const module of modules) blocks.set(module.name, upload(scope, rank, module, initial(module)));
    this.#blocks = blocks;
    this.#rounded = new Map([...blocks].map(([name, block]) => [name, rounded(scope, block)]));
    this.parameters = [...blocks].flatMap(([name, { down, up, learnDown, learnUp }]): Parameter[] => [
      {
        name: `${name}.A`,
        value: learnDown,
        gradient: scope.zeros(learnDown.shape, `gradient of ${name}.A`),
        target: down.rows(2 * rank, 4 * rank),
      },
      {
        name: `${name}.B`,
        value: learnUp,
        gradient: scope.zeros(learnUp.shape, `gradient of ${name}.B`),
        target: up.rows(2 * rank, 4 * rank),
      },
    ]);
  }

  block(module: string): SplitAdapter {
    const block = this.#blocks.get(module);
    if (block === undefined)
      throw new ShapeError({ call: 'adapter block', expected: 'a target module', found: module });
    return block;
  }

  blockGradients(block: 'deployed' | 'quarantine'): readonly Tensor[] {
    const first = block === 'deployed' ? 0 : this.rank;
    return this.parameters.map(({ gradient }) => gradient.rows(first, first + this.rank));
  }

  project({ coefficients, probe }: AdapterPass): Project {
    for (const [name, { down, up }] of this.#rounded) {
      const exact = this.block(name);
      if (down !== exact.down) down.device.kernels.copy(down, exact.down);
      if (up !== exact.up) up.device.kernels.copy(up, exact.up);
    }
    return (tape, module, x, weight, bias) => {
      const block = this.#rounded.get(module);
      if (block === undefined) return linear(tape, x, weight, bias);
      return adaptedLinear(tape, x, weight, bias, block, coefficients, probe?.(module));
    };
  }

  /** B A − B0 A0 of the deployed block, folded exactly: rank 2R. */
  async deployedChange(module: string): Promise<LowRankChange> {
    const { down, up } = this.block(module);
    const [allDown, allUp] = [await readFloats(down), await readFloats(up)];
    const R = this.rank;
    const take = (data: Float32Array, width: number, sign: number): Float32Array => {
      const out = new Float32Array(2 * R * width);
      out.set(data.subarray(0, R * width), 0);
      out.set(
        data.subarray(2 * R * width, 3 * R * width).map((value) => sign * value),
        R * width,
      );
      return out;
    };
    return { rank: 2 * R, down: take(allDown, down.shape[1], 1), up: take(allUp, up.shape[1], -1) };
  }

  async tensors(): Promise<Map<string, StoredTensor>> {
    const stored = new Map<string, StoredTensor>();
    for (const [name, { down, up }] of this.#blocks) {
      const [downs, ups] = [await readFloats(down), await readFloats(up)];
      const half = 2 * this.rank;
      const [inputs, outputs] = [down.shape[1], up.shape[1]];
      stored.set(`${name}.A`, { shape: [half, inputs], data: downs.slice(0, half * inputs) });
      stored.set(`${name}.A0`, { shape: [half, inputs], data: downs.slice(half * inputs) });
      const transposed = (rows: Float32Array): Float32Array => transpose(rows, half, outputs);
      stored.set(`${name}.B`, { shape: [outputs, half], data: transposed(ups.subarray(0, half * outputs)) });
      stored.set(`${name}.B0`, { shape: [outputs, half], data: transposed(ups.subarray(half * outputs)) });
    }
    return stored;
  }

  load(tensors: ReadonlyMap<string, StoredTensor>): void {
    for (const [name, { down, up }] of this.#blocks) {
      const [inputs, outputs] = [down.shape[1], up.shape[1]];
      const half = 2 * this.rank;
      const part = (suffix: string, shape: readonly number[]): Float32Array => {
        const found = tensors.get(`${name}.${suffix}`);
        if (found?.shape.join() === shape.join()) return found.data;
        throw new UserError({
          call: `load adapter ${name}.${suffix}`,
          expected: `[${shape.join(',')}]`,
          found: found === undefined ? 'no such tensor' : `[${found.shape.join(',')}]`,
        });
      };
      const join = (a: Float32Array, b: Float32Array): Float32Array => {
        const both = new Float32Array(a.length + b.length);
        both.set(a);
        both.set(b, a.length);
        return both;
      };
      down.device.write(down, join(part('A', [half, inputs]), part('A0', [half, inputs])));
      const rows = (suffix: string): Float32Array => transpose(part(suffix, [outputs, half]), outputs, half);
      up.device.write(up, join(rows('B'), rows('B0')));
    }
  }
}

function rounded(scope: Scope, block: SplitAdapter): SplitAdapter {
  const [dtype] = scope.device.floats;
  if (dtype === block.down.dtype) return block;
  const like = ({ shape, label }: Tensor): Tensor => scope.empty(shape, `rounded ${label}`, dtype);
  return { ...block, down: like(block.down), up: like(block.up) };
}

function upload(scope: Scope, rank: number, module: TargetModule, { A0, B0 }: InitialFactors): SplitAdapter {
  const twice = (data: Float32Array): Float32Array => {
    const both = new Float32Array(2 * data.length);
    both.set(data);
    both.set(data, data.length);
    return both;
  };
  const down = scope.from(twice(A0), [4 * rank, module.inputs], `${module.name} down`);
  const up = scope.from(
    twice(transpose(B0, module.outputs, 2 * rank)),
    [4 * rank, module.outputs],
    `${module.name} up`,
  );
  return splitAdapter(rank, down, up);
}
