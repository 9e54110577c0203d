/**
 * A tape is a scope that can also record: each op adds a node, and `backward` walks them in reverse. What learns is an
 * argument (`learn`: parameter → the tensor its gradient is added to), not a property of tensors, so nothing is
 * computed for what is frozen. A tape without `learn` records nothing.
 *
 * `section` bounds memory: of the tensors made inside, only those returned and those a backward pass will need survive.
 */
import { ShapeError } from '../base/index.ts';
import type { Device } from './device.ts';
import { type Backward, Gradients, type JointBackward } from './gradients.ts';
import { Scope } from './scope.ts';
import type { Segments } from './segments.ts';
import { describeTensor, Tensor } from './tensor.ts';

interface Node {
  readonly op: string;
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  readonly saved: readonly Tensor[];
  readonly backward: JointBackward;
}

/** Computes a result again, into `out`, and from its gradient the gradients of what it was computed from. */
export type MakeWithGradient = (out: Tensor, dy: Tensor, gradients: Gradients) => void;

/** How a tensor is computed again: `make` queues the kernels that do it from the tensors `from`. */
interface Maker {
  readonly from: readonly Tensor[];
  readonly make: () => void;
  readonly withGradient: MakeWithGradient | undefined;
}

/** Rows of which not all are computed: `first` has a place of each that is, i32 [U], and `of` the computed row that each place gets, i32 [T]. */
interface EqualPlaces {
  readonly first: Tensor;
  readonly of: Tensor;
}

/** Which rows of a pass are computed, what they see as queries, and which gradients of rows are equal, or nothing. */
export interface SharedRows extends EqualPlaces {
  readonly segments?: Segments;
  readonly gradients?: EqualPlaces;
}

export interface TapeOptions {
  /** The tensor to which each parameter's gradient is added. Without this map nothing is recorded. */
  readonly learn?: ReadonlyMap<Tensor, Tensor>;
  /** Whether to count NaN and infinities after every op, for `assertFinite` to report. */
  readonly checkFinite?: boolean;
  /** Whether to give up results that are cheap to compute again (activations) until the backward pass needs them. */
  readonly recompute?: boolean;
}

export class Tape extends Scope {
  readonly recording: boolean;
  readonly #learn: ReadonlyMap<Tensor, Tensor>;
  readonly #checkFinite: boolean;
  readonly #recompute: boolean;
  /** How to compute a saved tensor again. */
  readonly #makers = new Map<Tensor, Maker>();
  readonly #nodes: Node[] = [];
  readonly #needsGradient: Set<Tensor>;
  /** How many pending nodes need a tensor's contents. */
  readonly #saved = new Map<Tensor, number>();
  /** Tensors that outlived their section only because they are saved. */
  readonly #retained = new Set<Tensor>();
  readonly #counts: { op: string; output: Tensor; count: Tensor }[] = [];
  #shared: SharedRows | null = null;
  /** The computed rows of tensors, by the tensor and their offset in it. */
  readonly #computed = new WeakMap<Tensor, Map<number, { readonly rows: Tensor; readonly shared: SharedRows }>>();

  constructor(device: Device, { learn = new Map(), checkFinite = false, recompute = false }: TapeOptions = {}) {
    super(device);
    for (const [parameter, gradient] of learn) expectGradient(device, parameter, gradient);
    this.#learn = learn;
    this.recording = learn.size > 0;
    this.#needsGradient = new Set(learn.keys());
    this.#checkFinite = checkFinite;
    this.#recompute = recompute;
  }

  /** Whether nothing is asked of ops but their results: what `record` is told goes nowhere. */
  get isPlain(): boolean {
    return !this.recording && !this.#checkFinite;
  }

  learns(tensor: Tensor): boolean {
    return this.#needsGradient.has(tensor);
  }

  /** Ops call this once, after queueing their kernels. `saved` lists the tensors that `backward` will read. */
  record(op: string, inputs: readonly Tensor[], output: Tensor, saved: readonly Tensor[], backward: Backward): void {
    this.recordJointly(op, inputs, [output], saved, ([dy], gradients) => backward(dy, gradients));
  }

  /** The same for an op with several outputs: `backward` gets the gradients of all of them, zeros where nothing came. */
  recordJointly(
    op: string,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    saved: readonly Tensor[],
    backward: JointBackward,
  ): void {
    if (this.#checkFinite) {
      for (const output of outputs) if (output.dtype === 'f32') this.#count(op, output);
    }
    if (!inputs.some((input) => this.learns(input))) return;
    for (const output of outputs) this.#needsGradient.add(output);
    this.#nodes.push({ op, inputs, outputs, saved, backward });
    for (const { owner } of saved) this.#saved.set(owner, (this.#saved.get(owner) ?? 0) + 1);
  }

  /** Ops whose result is cheap call this too: `make` queues the kernels that compute it from tensors the op has saved. */
  remember(output: Tensor, make: () => void, withGradient?: MakeWithGradient): void {
    const node = this.#nodes.at(-1);
    if (!this.#recompute || node?.outputs[0] !== output) return;
    this.#makers.set(output, { from: node.saved, make, withGradient });
  }

  /**
   * The function that computes a result again together with its gradient. An op that can wait for it need not save the result:
   * it passes the gradient to this function, and none to the result itself.
   */
  makerWithGradient(output: Tensor): MakeWithGradient | undefined {
    return this.#makers.get(output)?.withGradient;
  }

  /** The rows that ops of this moment share. */
  get shared(): SharedRows | null {
    return this.#shared;
  }

  /** What `body` queues through `rowwise` is computed for some rows only. */
  share<Result>(rows: SharedRows | null, body: () => Result): Result {
    const before = this.#shared;
    this.#shared = rows;
    try {
      return body();
    } finally {
      this.#shared = before;
    }
  }

  /** Queues a kernel whose rows are independent: for all of them, or, where rows are shared, for one of each, and every place gets its own. */
  rowwise(
    outs: readonly Tensor[],
    ins: readonly Tensor[],
    kernel: (outs: readonly Tensor[], ins: readonly Tensor[]) => void,
  ): void {
    const shared = this.#shared;
    if (shared === null) {
      kernel(outs, ins);
      return;
    }
    const [few, all] = [shared.first.size, shared.of.size];
    const computed = outs.map((out) => this.empty(rowsOf(out, all, few), out.label, out.dtype));
    kernel(
      computed,
      ins.map((input) => this.#computedRows(input, shared)),
    );
    outs.forEach((out, i) => {
      this.device.kernels.gatherRows(flatRows(out, all), flatRows(computed[i], few), shared.of);
      const known = this.#computed.get(out.owner) ?? new Map();
      this.#computed.set(out.owner, known.set(out.offset - out.owner.offset, { rows: computed[i], shared }));
    });
  }

  #computedRows(input: Tensor, shared: SharedRows): Tensor {
    const [few, all] = [shared.first.size, shared.of.size];
    const shape = rowsOf(input, all, few);
    const known = this.#computed.get(input.owner)?.get(input.offset - input.owner.offset);
    if (known?.shared === shared && known.rows.alive) return known.rows.view(shape);
    const rows = this.empty(shape, input.label, input.dtype);
    this.device.kernels.gatherRows(flatRows(rows, few), flatRows(input, all), shared.first);
    return rows;
  }

  /** Frees what `body` made, but for what it returns and what the backward pass needs. */
  section<T extends Tensor | readonly Tensor[]>(body: () => T): T {
    const outer = this.owned;
    const inner = new Set<Tensor>();
    this.owned = inner;
    let result: T;
    try {
      result = body();
    } catch (error) {
      for (const tensor of inner) outer.add(tensor);
      throw error;
    } finally {
      this.owned = outer;
    }
    const kept: readonly Tensor[] = result instanceof Tensor ? [result] : result;
    const returned = new Set(kept.map(({ owner }) => owner));
    for (const tensor of inner) {
      if (returned.has(tensor)) outer.add(tensor);
      else this.#retire(tensor);
    }
    return result;
  }

  /** Nobody will read a tensor of this tape again: it is freed now, or when the backward pass is done with it. */
  drop(tensor: Tensor): void {
    tensor.assertAlive('drop');
    if (!this.owned.delete(tensor)) {
      throw new ShapeError({
        call: 'drop',
        expected: 'a tensor this tape owns',
        found: `${tensor.label} ${describeTensor(tensor)}`,
      });
    }
    this.#retire(tensor);
  }

  /** Adds d loss / d parameter to every gradient of `learn`. A tape runs backward once. */
  backward(loss: Tensor): void {
    loss.assertAlive('backward');
    if (loss.size !== 1 || !this.learns(loss)) {
      throw new ShapeError({
        call: 'backward',
        expected: 'one number that depends on a learning parameter, from a tape that has not run backward',
        found: `${loss.label} ${describeTensor(loss)}`,
      });
    }
    using gradients = new Gradients(this.device, this.#learn, this.#needsGradient);
    try {
      gradients.seed(loss);
      for (let node = this.#nodes.pop(); node !== undefined; node = this.#nodes.pop()) this.#undo(node, gradients);
    } finally {
      this.#needsGradient.clear();
    }
  }

  /** Waits, and names the first op whose result (or gradient) was not finite. Needs `checkFinite`. */
  async assertFinite(): Promise<void> {
    for (const { op, output, count } of this.#counts) {
      const [bad] = await this.device.read(count);
      if (bad === 0) continue;
      throw new ShapeError({
        call: op,
        expected: 'finite results',
        found: `${bad} of ${output.size} NaN or infinite in ${describeTensor(output)}`,
      });
    }
  }

  override [Symbol.dispose](): void {
    for (const tensor of this.#retained) tensor.free();
    this.#retained.clear();
    super[Symbol.dispose]();
  }

  #undo({ op, inputs, outputs, saved, backward }: Node, gradients: Gradients): void {
    if (outputs.some((output) => gradients.of(output) !== undefined)) {
      using scope = new Scope(this.device);
      for (const { owner } of saved) this.#wake(owner);
      const upstream = outputs.map((output) => gradients.of(output) ?? zerosLike(scope, output));
      backward(upstream, gradients);
      if (this.#checkFinite) for (const input of inputs) this.#countGradient(op, input, gradients);
      for (const output of outputs) gradients.drop(output);
    }
    for (const tensor of saved) this.#unsave(tensor.owner);
  }

  #count(op: string, output: Tensor): void {
    const count = Tensor.empty(this.device, [1], 'i32', 'non-finite count');
    this.#retained.add(count);
    this.device.kernels.countNonFinite(count, output);
    this.#counts.push({ op, output, count });
  }

  #countGradient(op: string, input: Tensor, gradients: Gradients): void {
    const gradient = gradients.of(input);
    if (gradient !== undefined) this.#count(`${op} backward`, gradient);
  }

  #retire(tensor: Tensor): void {
    if (!this.#saved.has(tensor)) {
      tensor.free();
      return;
    }
    this.#retained.add(tensor);
    if (this.#makers.has(tensor)) tensor.sleep();
  }

  #wake(tensor: Tensor): void {
    const maker = this.#makers.get(tensor);
    if (!tensor.asleep || maker === undefined) return;
    tensor.wake();
    for (const { owner } of maker.from) this.#wake(owner);
    maker.make();
  }

  #unsave(tensor: Tensor): void {
    const left = (this.#saved.get(tensor) ?? 0) - 1;
    if (left > 0) {
      this.#saved.set(tensor, left);
      return;
    }
    this.#saved.delete(tensor);
    if (this.#retained.delete(tensor)) tensor.free();
  }
}

/** The shape of `few` rows of a tensor that has something for each of `all`. */
function rowsOf({ shape: [first, ...rest] }: Tensor, all: number, few: number): number[] {
  return [(first / all) * few, ...rest];
}

const flatRows = (tensor: Tensor, rows: number): Tensor => tensor.view([rows, tensor.size / rows]);

function zerosLike(scope: Scope, { shape, label, dtype }: Tensor): Tensor {
  const zeros = scope.empty(shape, `no gradient of ${label}`, dtype);
  scope.device.kernels.fill(zeros, 0);
  return zeros;
}

function expectGradient(device: Device, parameter: Tensor, gradient: Tensor): void {
  parameter.assertAlive('tape');
  gradient.assertAlive('tape');
  const fits = describeTensor(gradient) === `f32[${parameter.shape.join(',')}]`;
  if (fits && parameter.device === device && gradient.device === device) return;
  throw new ShapeError({
    call: 'tape',
    expected: `a gradient f32[${parameter.shape.join(',')}] for ${parameter.label}, both on this ${device.name} device`,
    found: `${gradient.label} ${describeTensor(gradient)}${fits ? ' on another device' : ''}`,
  });
}
