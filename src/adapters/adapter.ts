/**
 * The adapter of a policy, whatever its family: parameters that learn, and a way to apply every linear layer. The policy
 * state, the routes and the quarantine scale are arguments of a pass, never state.
 */
import type { BlockCoefficients, BottleneckProbe, Parameter, Tensor } from '../engine/index.ts';
import type { Project } from '../model/index.ts';
import type { TargetModule } from './targets.ts';

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
  /** How the decoder applies its linear layers in this pass. Layers without an adapter are plain. */
  project(pass: AdapterPass): Project;
  /** What the deployed block alone changes: the quarantine is absent, not zeroed. */
  deployedChange(module: string): Promise<LowRankChange>;
  /** What both blocks change together: the policy as trained. */
  fullChange(module: string): Promise<LowRankChange>;
  /** Everything needed to continue: the values, and the frozen part they are measured from. */
  tensors(): Promise<Map<string, StoredTensor>>;
  load(tensors: ReadonlyMap<string, StoredTensor>): void;
}
