/**
 * The linear parametrisation: y = W x + [B A − B0 A0] x. Its families differ in A0 and B0 only. Checkpoints hold A [2R, C],
 * B [O, 2R], A0 and B0 of each module; the engine keeps B transposed.
 */
import { ShapeError, UserError } from '../base/index.ts';
import {
  type DType,
  type Parameter,
  readFloats,
  type Scope,
  type SplitAdapter,
  splitAdapter,
  type Tensor,
} from '../engine/index.ts';
import type { Project } from '../model/index.ts';
import type { Adapter, AdapterPass, LowRankChange, StoredTensor } from './adapter.ts';
import { projectAdapted } from './project.ts';
import type { InitialFactors } from './starts/start.ts';
import { defaultTargets, type TargetModule } from './targets.ts';
import { transpose } from './transpose.ts';

export class LinearAdapter implements Adapter {
  readonly family: string;
  readonly rank: number;
  readonly modules: readonly TargetModule[];
  readonly parameters: readonly Parameter[];
  readonly #factors: Factors;
  /** What passes compute with: the factors themselves, or rounded to the activations' float. */
  readonly #rounded: Factors;

  constructor(
    scope: Scope,
    family: string,
    rank: number,
    modules: readonly TargetModule[],
    initial: (module: TargetModule) => InitialFactors,
  ) {
    this.family = family;
    this.rank = rank;
    this.modules = modules;
    const [dtype] = scope.device.floats;
    this.#factors = new Factors(scope, rank, modules, 'f32');
    this.#rounded = dtype === 'f32' ? this.#factors : new Factors(scope, rank, modules, dtype);
    const { blocks } = this.#factors;
    for (const module of modules) write(this.block(module.name), rank, module, initial(module));
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
    return lookup(this.#factors.blocks, module);
  }

  blockGradients(block: 'deployed' | 'quarantine'): readonly Tensor[] {
    return this.#blockRows(block, 'gradient');
  }

  blockValues(block: 'deployed' | 'quarantine'): readonly Tensor[] {
    return this.#blockRows(block, 'value');
  }

  #blockRows(block: 'deployed' | 'quarantine', of: 'value' | 'gradient'): readonly Tensor[] {
    const first = block === 'deployed' ? 0 : this.rank;
    return this.parameters.map((parameter) => parameter[of].rows(first, first + this.rank));
  }

  project({ coefficients, probe }: AdapterPass): Project {
    if (this.#rounded !== this.#factors) this.#rounded.round(this.#factors);
    return projectAdapted(coefficients, probe, (_tape, module) => {
      const rounded = this.#rounded.blocks.get(module);
      const exact = this.#factors.blocks.get(module);
      return rounded === undefined || exact === undefined
        ? undefined
        : { ...exact, down: rounded.down, up: rounded.up };
    });
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

  /** B A − B0 A0 of both blocks, folded exactly: rank 4R. */
  async fullChange(module: string): Promise<LowRankChange> {
    const { down, up } = this.block(module);
    const ups = await readFloats(up);
    const learned = 2 * this.rank * up.shape[1];
    return {
      rank: 4 * this.rank,
      down: Float32Array.from(await readFloats(down)),
      up: ups.map((value, i) => (i < learned ? value : -value)),
    };
  }

  async tensors(): Promise<Map<string, StoredTensor>> {
    const stored = new Map<string, StoredTensor>();
    for (const [name, { down, up }] of this.#factors.blocks) {
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
    for (const [name, { down, up }] of this.#factors.blocks) {
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

/** The factors of all modules in one piece: those of layers that share an input side by side, so that they can be multiplied together. */
class Factors {
  readonly blocks: ReadonlyMap<string, SplitAdapter>;
  readonly #whole: readonly [Tensor, Tensor];

  constructor(scope: Scope, rank: number, modules: readonly TargetModule[], dtype: DType) {
    const ordered = inModelOrder(modules);
    const downs = scope.stack(
      ordered.map(({ inputs }) => [4 * rank, inputs]),
      'adapter down factors',
      dtype,
    );
    const ups = scope.stack(
      ordered.map(({ outputs }) => [4 * rank, outputs]),
      'adapter up factors',
      dtype,
    );
    const blocks = new Map(ordered.map(({ name }, i) => [name, splitAdapter(rank, downs[i], ups[i])]));
    this.blocks = new Map(modules.map(({ name }) => [name, lookup(blocks, name)]));
    this.#whole = [downs[0].owner, ups[0].owner];
  }

  round(exact: Factors): void {
    this.#whole.forEach((whole, i) => {
      whole.device.kernels.copy(whole, exact.#whole[i]);
    });
  }
}

function lookup(blocks: ReadonlyMap<string, SplitAdapter>, module: string): SplitAdapter {
  const block = blocks.get(module);
  if (block === undefined) throw new ShapeError({ call: 'adapter block', expected: 'a target module', found: module });
  return block;
}

/** The modules layer by layer, and within a layer in the order in which the decoder applies them. */
function inModelOrder(modules: readonly TargetModule[]): TargetModule[] {
  const place = ({ name }: TargetModule): number => {
    const kind = defaultTargets.findIndex((target) => name.endsWith(`.${target}`));
    return Number(/\.layers\.(\d+)\./.exec(name)?.[1] ?? 0) * defaultTargets.length + kind;
  };
  return [...modules].sort((a, b) => place(a) - place(b));
}

function write({ down, up }: SplitAdapter, rank: number, module: TargetModule, { A0, B0 }: InitialFactors): void {
  const twice = (data: Float32Array): Float32Array => {
    const both = new Float32Array(2 * data.length);
    both.set(data);
    both.set(data, data.length);
    return both;
  };
  down.device.write(down, twice(A0));
  up.device.write(up, twice(transpose(B0, module.outputs, 2 * rank)));
}
