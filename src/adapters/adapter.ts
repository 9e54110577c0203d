/**
 * The adapter of a policy, whatever its family: parameters that learn, and a way to apply every linear layer. The policy
 * state, the routes and the quarantine scale are arguments of a pass, never state.
 */
import { UserError } from '../base/index.ts';
import type { BlockCoefficients, BottleneckProbe, Parameter, Tensor } from '../engine/index.ts';
import type { Project } from '../model/index.ts';
import type { AdapterPart } from './shapes.ts';
import type { TargetModule } from './targets.ts';

/** The linear layers that carry an adapter. */
export const defaultTargets = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'] as const;

export interface AdapterPass {
  /** Coefficients of both blocks for each token of the batch. */
  readonly coefficients: BlockCoefficients;
  /** The probe of each module's bottleneck, if any. */
  readonly probe?: (module: string) => BottleneckProbe;
}

/** A change of one weight as a product: ΔW = upᵀ · down, with down [k, C] and up [k, O], row major. */
export interface LowRankChange {
  readonly rank: number;
  readonly down: Float32Array;
  readonly up: Float32Array;
}

export interface StoredTensor {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

export interface Adapter {
  /** The name of the adapter's start. */
  readonly family: string;
  readonly rank: number;
  /** The adapted modules, sorted by name. */
  readonly modules: readonly TargetModule[];
  readonly parameters: readonly Parameter[];
  /** Views of the parameters' gradients that belong to one block. */
  blockGradients(block: 'deployed' | 'quarantine'): readonly Tensor[];
  /** Views of the parameters' values that belong to one block. */
  blockValues(block: 'deployed' | 'quarantine'): readonly Tensor[];
  /** Views of what a block's values are measured from, in the same order; null: zeros. */
  blockStarts(block: 'deployed' | 'quarantine'): readonly (Tensor | null)[];
  /** How the decoder applies its linear layers in this pass. Layers without an adapter are plain. */
  project(pass: AdapterPass): Project;
  /** A promise that no value changes until the answer is disposed of: a device may keep faster layouts of them meanwhile. */
  hold(): Disposable;
  /** What the deployed block alone changes: the quarantine is absent, not zeroed. */
  deployedChange(module: string): Promise<LowRankChange>;
  /** What both blocks change together: the policy as trained. */
  fullChange(module: string): Promise<LowRankChange>;
  /** The values that learning changes, or the frozen initial values that they are measured from; without a part, both. */
  tensors(part?: AdapterPart): Promise<Map<string, StoredTensor>>;
  /** Takes over every learned value, and those initial values that are given; the others stay. */
  load(tensors: ReadonlyMap<string, StoredTensor>): void;
}

/** The values of a stored tensor; one that is missing or of another shape is refused by its name. */
export function expectStored(name: string, found: StoredTensor | undefined, shape: readonly number[]): Float32Array {
  if (found?.shape.join() === shape.join()) return found.data;
  throw new UserError({
    call: `load adapter ${name}`,
    expected: `[${shape.join(',')}]`,
    found: found === undefined ? 'no such tensor' : `[${found.shape.join(',')}]`,
  });
}
