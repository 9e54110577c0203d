/**
 * The antipasto parametrisation: a frozen basis U, S, V with bounded gains, y = W x + U diag(S · tanh g) V x. The
 * quarantine's input is also turned by a learned Cayley rotation R(X) of its coordinates. With g = 0 the change is zero, so
 * there is no initial part to subtract. The deployed change consists of the deployed rows alone, without the rotation.
 * Each module learns its gains g [2R] and X [R, R].
 */
import { ShapeError } from '../base/index.ts';
import {
  add,
  invert,
  matmul,
  multiply,
  type Parameter,
  readFloats,
  type Scope,
  type SplitAdapter,
  subtract,
  Tape,
  type Tensor,
  tanh,
} from '../engine/index.ts';
import type { Project } from '../model/index.ts';
import { type Adapter, type AdapterPass, expectStored, type LowRankChange, type StoredTensor } from './adapter.ts';
import { projectAdapted } from './project.ts';
import type { AdapterPart } from './shapes.ts';
import type { InitialFactors } from './starts/start.ts';
import type { TargetModule } from './targets.ts';
import { transpose } from './transpose.ts';

interface Frozen {
  /** V [2R, C] and S · Uᵀ [2R, O], deployed rows first. */
  readonly down: Tensor;
  readonly up: Tensor;
  readonly gain: Tensor;
  readonly rotation: Tensor;
}

export class AntipastoAdapter implements Adapter {
  readonly family: string;
  readonly rank: number;
  readonly modules: readonly TargetModule[];
  readonly parameters: readonly Parameter[];
  readonly #frozen: ReadonlyMap<string, Frozen>;
  readonly #identity: Tensor;
  /** Ones [R, 2R] where a quarantine coordinate meets its row, and the deployed rows' own diagonal [2R, 2R]. */
  readonly #quarantineRows: Tensor;
  readonly #deployedDiagonal: Tensor;
  readonly #wholeIdentity: Tensor;

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
    const R = rank;
    const ones = (rows: number, columns: number, at: (row: number) => number, count: number, label: string): Tensor => {
      const data = new Float32Array(rows * columns);
      for (let row = 0; row < count; row++) data[row * columns + at(row)] = 1;
      return scope.from(data, [rows, columns], label);
    };
    this.#identity = ones(R, R, (row) => row, R, 'identity');
    this.#wholeIdentity = ones(2 * R, 2 * R, (row) => row, 2 * R, 'identity');
    this.#quarantineRows = ones(R, 2 * R, (row) => R + row, R, 'quarantine rows');
    this.#deployedDiagonal = ones(2 * R, 2 * R, (row) => row, R, 'deployed diagonal');
    this.#frozen = new Map(modules.map((module) => [module.name, upload(scope, rank, module, initial(module))]));
    this.parameters = [...this.#frozen].flatMap(([name, { gain, rotation }]) =>
      [
        { name: `${name}.gain`, value: gain },
        { name: `${name}.rotation`, value: rotation },
      ].map(
        (part): Parameter => ({
          ...part,
          gradient: scope.zeros(part.value.shape, `gradient of ${part.name}`),
          target: null,
        }),
      ),
    );
  }

  blockGradients(block: 'deployed' | 'quarantine'): readonly Tensor[] {
    return this.#blockParts(block, 'gradient');
  }

  blockValues(block: 'deployed' | 'quarantine'): readonly Tensor[] {
    return this.#blockParts(block, 'value');
  }

  /** Gains and rotations begin at zero. */
  blockStarts(block: 'deployed' | 'quarantine'): readonly null[] {
    return this.blockValues(block).map(() => null);
  }

  /** The part of the gains that is the block's; the rotations belong to the quarantine. */
  #blockParts(block: 'deployed' | 'quarantine', of: 'value' | 'gradient'): readonly Tensor[] {
    return this.parameters.flatMap((parameter) => {
      const whole = parameter[of];
      if (parameter.name.endsWith('.gain')) return [whole.view([this.rank], block === 'deployed' ? 0 : this.rank)];
      return block === 'deployed' ? [] : [whole];
    });
  }

  project({ coefficients, probe }: AdapterPass): Project {
    return projectAdapted(coefficients, probe, (tape, module) => {
      const frozen = this.#frozen.get(module);
      return frozen === undefined ? undefined : this.#effective(tape, frozen);
    });
  }

  /** Factors are computed anew for every pass: there is nothing to hold. */
  hold(): Disposable {
    return { [Symbol.dispose]: () => {} };
  }

  /** down = (V_d; R V_q) and up = diag(tanh g) · S Uᵀ, on the tape. */
  #effective(tape: Tape, { down, up, gain, rotation }: Frozen): SplitAdapter {
    const skew = subtract(tape, rotation, transposed(tape, rotation, this.#identity));
    const turn = matmul(tape, subtract(tape, this.#identity, skew), invert(tape, add(tape, this.#identity, skew)));
    const spread = matmul(tape, matmul(tape, this.#quarantineRows, turn, { transposeA: true }), this.#quarantineRows);
    const learnDown = matmul(tape, add(tape, spread, this.#deployedDiagonal), down);
    const learnUp = matmul(tape, multiply(tape, this.#wholeIdentity, tanh(tape, gain)), up);
    return { rank: this.rank, down: rounded(tape, learnDown), up: rounded(tape, learnUp), learnDown, learnUp };
  }

  async fullChange(module: string): Promise<LowRankChange> {
    const frozen = this.#frozenOf(module);
    using tape = new Tape(frozen.down.device);
    const { learnDown, learnUp } = this.#effective(tape, frozen);
    return { rank: 2 * this.rank, down: await readFloats(learnDown), up: await readFloats(learnUp) };
  }

  #frozenOf(module: string): Frozen {
    const frozen = this.#frozen.get(module);
    if (frozen !== undefined) return frozen;
    throw new ShapeError({ call: 'adapter block', expected: 'a target module', found: module });
  }

  async deployedChange(module: string): Promise<LowRankChange> {
    const frozen = this.#frozenOf(module);
    const [downs, ups, gains] = [
      await readFloats(frozen.down),
      await readFloats(frozen.up),
      await readFloats(frozen.gain),
    ];
    const outputs = frozen.up.shape[1];
    const up = ups.slice(0, this.rank * outputs).map((value, i) => value * Math.tanh(gains[Math.floor(i / outputs)]));
    return { rank: this.rank, down: downs.slice(0, this.rank * frozen.down.shape[1]), up };
  }

  async tensors(part?: AdapterPart): Promise<Map<string, StoredTensor>> {
    const stored = new Map<string, StoredTensor>();
    for (const [name, parts] of this.#frozen) {
      for (const [suffix, tensor] of Object.entries<Tensor>({ ...parts })) {
        if (part !== undefined && part !== partOf(suffix)) continue;
        stored.set(`${name}.${suffix}`, { shape: tensor.shape, data: await readFloats(tensor) });
      }
    }
    return stored;
  }

  load(tensors: ReadonlyMap<string, StoredTensor>): void {
    for (const [name, parts] of this.#frozen) {
      for (const [suffix, tensor] of Object.entries<Tensor>({ ...parts })) {
        const found = tensors.get(`${name}.${suffix}`);
        if (found === undefined && partOf(suffix) === 'initial') continue;
        tensor.device.write(tensor, expectStored(`${name}.${suffix}`, found, tensor.shape));
      }
    }
  }
}

function partOf(suffix: string): AdapterPart {
  return suffix === 'down' || suffix === 'up' ? 'initial' : 'learned';
}

/** The tensor in the activations' float. */
function rounded(tape: Tape, exact: Tensor): Tensor {
  const [dtype] = tape.device.floats;
  if (dtype === exact.dtype) return exact;
  const out = tape.empty(exact.shape, `rounded ${exact.label}`, dtype);
  tape.device.kernels.copy(out, exact);
  return out;
}

/** Xᵀ as a product with the identity. */
function transposed(tape: Tape, x: Tensor, identity: Tensor): Tensor {
  return matmul(tape, x, identity, { transposeA: true });
}

function upload(scope: Scope, rank: number, module: TargetModule, { A0, B0 }: InitialFactors): Frozen {
  const { name, inputs, outputs } = module;
  return {
    down: scope.from(A0, [2 * rank, inputs], `${name} input basis`),
    up: scope.from(transpose(B0, outputs, 2 * rank), [2 * rank, outputs], `${name} output basis`),
    gain: scope.zeros([2 * rank], `${name} gain`),
    rotation: scope.zeros([rank, rank], `${name} rotation`),
  };
}
