/**
 * The linear parametrisation: y = W x + [B A − B0 A0] x. Its families differ in A0 and B0, and in whether B learns. Stored are
 * A [2R, C], B [O, 2R], A0 and B0 of each module; the engine keeps B transposed.
 */
import { ShapeError } from '../base/index.ts';
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
import {
  type Adapter,
  type AdapterPass,
  defaultTargets,
  expectStored,
  type LowRankChange,
  type StoredTensor,
} from './adapter.ts';
import { projectAdapted, tellBlocks } from './project.ts';
import type { AdapterPart } from './shapes.ts';
import type { InitialFactors } from './starts/start.ts';
import type { TargetModule } from './targets.ts';
import { transpose } from './transpose.ts';

export class LinearAdapter implements Adapter {
  readonly family: string;
  readonly rank: number;
  readonly modules: readonly TargetModule[];
  readonly parameters: readonly Parameter[];
  readonly #frozenB: boolean;
  /** Adapters of the same kind have the same shapes. */
  readonly #kind: string;
  readonly #factors: Factors;
  /** What passes compute with: the factors themselves, or rounded to the activations' float. */
  readonly #rounded: Factors;

  constructor(
    scope: Scope,
    family: string,
    rank: number,
    modules: readonly TargetModule[],
    initial: (module: TargetModule) => InitialFactors,
    parametrisation: 'linear' | 'frozen-b' = 'linear',
  ) {
    this.family = family;
    this.rank = rank;
    this.modules = modules;
    this.#frozenB = parametrisation === 'frozen-b';
    this.#kind = `${rank} ${modules.map(({ name }) => name).join()}`;
    const [dtype] = scope.device.floats;
    this.#factors = new Factors(scope, rank, modules, 'f32');
    this.#rounded = dtype === 'f32' ? this.#factors : new Factors(scope, rank, modules, dtype);
    const { blocks } = this.#factors;
    for (const module of modules) write(this.block(module.name), rank, module, initial(module));
    this.parameters = [...blocks].flatMap(([name, { down, up, learnDown, learnUp }]): Parameter[] => {
      const parameter = (suffix: 'A' | 'B', value: Tensor, whole: Tensor): Parameter => ({
        name: `${name}.${suffix}`,
        value,
        gradient: scope.zeros(value.shape, `gradient of ${name}.${suffix}`),
        target: whole.rows(2 * rank, 4 * rank),
      });
      const A = parameter('A', learnDown, down);
      return this.#frozenB ? [A] : [A, parameter('B', learnUp, up)];
    });
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

  blockStarts(block: 'deployed' | 'quarantine'): readonly (Tensor | null)[] {
    const first = block === 'deployed' ? 0 : this.rank;
    return this.parameters.map(({ target }) => target?.rows(first, first + this.rank) ?? null);
  }

  #blockRows(block: 'deployed' | 'quarantine', of: 'value' | 'gradient'): readonly Tensor[] {
    const first = block === 'deployed' ? 0 : this.rank;
    return this.parameters.map((parameter) => parameter[of].rows(first, first + this.rank));
  }

  project(pass: AdapterPass): Project {
    const { coefficients, probe } = pass;
    if (this.#rounded !== this.#factors) this.#rounded.round(this.#factors);
    const adapterOf = (module: string): SplitAdapter | undefined => {
      const exact = this.#factors.blocks.get(module);
      if (this.#rounded === this.#factors) return exact;
      const rounded = this.#rounded.blocks.get(module);
      return rounded === undefined || exact === undefined
        ? undefined
        : { ...exact, down: rounded.down, up: rounded.up };
    };
    const project = projectAdapted(coefficients, probe, (_tape, module) => adapterOf(module));
    return tellBlocks(project, pass, this.#kind, adapterOf);
  }

  hold(): Disposable {
    return this.#rounded.hold();
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

  async tensors(part?: AdapterPart): Promise<Map<string, StoredTensor>> {
    const stored = new Map<string, StoredTensor>();
    for (const { name, tensor, shape } of this.#stored()) {
      if (part !== undefined && (part === 'initial') !== name.endsWith('0')) continue;
      const rows = await readFloats(tensor);
      stored.set(name, { shape, data: isUp(name) ? transpose(rows, shape[1], shape[0]) : rows });
    }
    return stored;
  }

  load(tensors: ReadonlyMap<string, StoredTensor>): void {
    for (const { name, tensor, shape, twin } of this.#stored()) {
      const found = tensors.get(name);
      if (found === undefined && name.endsWith('0')) continue;
      const data = expectStored(name, found, shape);
      const rows = isUp(name) ? transpose(data, shape[0], shape[1]) : data;
      tensor.device.write(tensor, rows);
      if (twin !== undefined) twin.device.write(twin, rows);
    }
  }

  /** What is stored of each module, with the rows that hold it. A B that is frozen is the twin of B0, and not stored itself. */
  #stored(): { name: string; tensor: Tensor; shape: readonly number[]; twin?: Tensor }[] {
    const half = 2 * this.rank;
    return [...this.#factors.blocks].flatMap(([name, { down, up, learnDown, learnUp }]) => {
      const [ofA, ofB] = [
        [half, down.shape[1]],
        [up.shape[1], half],
      ];
      const [initialA, initialB] = [down.rows(half, 2 * half), up.rows(half, 2 * half)];
      return [
        { name: `${name}.A`, tensor: learnDown, shape: ofA },
        { name: `${name}.A0`, tensor: initialA, shape: ofA },
        ...(this.#frozenB ? [] : [{ name: `${name}.B`, tensor: learnUp, shape: ofB }]),
        { name: `${name}.B0`, tensor: initialB, shape: ofB, ...(this.#frozenB ? { twin: learnUp } : {}) },
      ];
    });
  }
}

/** B is stored [O, 2R]; the engine keeps it transposed. */
const isUp = (name: string): boolean => /\.B0?$/.test(name);

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

  hold(): Disposable {
    const holds = this.#whole.map((whole) => whole.device.hold?.(whole));
    return {
      [Symbol.dispose]() {
        for (const held of holds) held?.[Symbol.dispose]();
      },
    };
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

/** Both halves begin alike: the rows that learn, and those that the change is measured from. */
function write({ down, up }: SplitAdapter, rank: number, module: TargetModule, { A0, B0 }: InitialFactors): void {
  const half = 2 * rank;
  const rows = transpose(B0, module.outputs, half);
  for (const first of [0, half]) {
    down.device.write(down.rows(first, first + half), A0);
    up.device.write(up.rows(first, first + half), rows);
  }
}
