/**
 * One step of decoding a few rows on a device that can join layers: what Decoder.forward computes, in fewer kernels. Layers that share an
 * input are one product, adapters' changes are added by the kernel that reads them, new keys and values are stored where they are turned.
 */
import {
  attention,
  type JointBlocks,
  jointFits,
  jointLinears,
  jointNorm,
  jointSwiglu,
  jointTurn,
  type Sum,
  type Tape,
  type Tensor,
} from '../../engine/index.ts';
import type { DecoderConfig } from '../files/config.ts';
import type { KeyValues, Project, TokenBatch } from './decoder.ts';

interface Weights {
  readonly config: DecoderConfig;
  weight(name: string): Tensor;
}

const groups = [
  ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'],
  ['self_attn.o_proj'],
  ['mlp.gate_proj', 'mlp.up_proj'],
  ['mlp.down_proj'],
] as const;
type Group = (typeof groups)[number];

export class JointStep {
  readonly #decoder: Weights;
  readonly #table: Tensor;
  readonly #tape: Tape;
  readonly #batch: TokenBatch;
  readonly #project: Project;
  readonly #keyValues: KeyValues;

  constructor(decoder: Weights, table: Tensor, tape: Tape, batch: TokenBatch, project: Project, keyValues: KeyValues) {
    this.#decoder = decoder;
    this.#table = table;
    this.#tape = tape;
    this.#batch = batch;
    this.#project = project;
    this.#keyValues = keyValues;
  }

  /** Whether every layer can be joined on this device, for this model and these rows. */
  get fits(): boolean {
    const { layers, qkNorm, qkvBias, headDim } = this.#decoder.config;
    const rows = this.#batch.ids.size;
    if (!qkNorm || qkvBias || this.#keyValues(0).see !== 'cache' || this.#project.blocksOf === undefined) return false;
    return Array.from({ length: layers }, (_, layer) => layer).every((layer) =>
      groups.every((group) => {
        const blocks = this.#blocks(layer, group);
        return blocks !== undefined && jointFits(this.#tape, rows, headDim, this.#weights(layer, group), blocks);
      }),
    );
  }

  run(embedded: Tensor): Tensor {
    const { layers } = this.#decoder.config;
    let x: Sum = { base: embedded, change: null };
    for (let layer = 0; layer < layers; layer++) {
      const input = x;
      const [base, change] = this.#tape.section(() => {
        const sum = this.#layer(layer, input);
        return sum.change === null ? [sum.base] : [sum.base, sum.change];
      });
      this.#drop(input);
      x = { base, change: change ?? null };
    }
    const hidden = this.#norm(x, 'model.norm');
    this.#drop(x);
    return hidden;
  }

  #layer(layer: number, x: Sum): Sum {
    const tape = this.#tape;
    const at = `model.layers.${layer}`;
    const store = this.#keyValues(layer);
    const normOf = (name: string): Tensor => this.#decoder.weight(`${at}.self_attn.${name}_norm.weight`);
    const norms = { q: normOf('q'), k: normOf('k'), epsilon: this.#decoder.config.rmsNormEpsilon };
    const turns = { positions: this.#batch.positions, table: this.#table, norms };
    const [heads, output, gates, down] = groups.map(
      (group) =>
        (input: Tensor, onto: Tensor | null): Sum =>
          jointLinears(tape, input, this.#weights(layer, group), this.#blocks(layer, group) ?? null, onto),
    );

    const q = jointTurn(tape, heads(this.#norm(x, `${at}.input_layernorm`), null), turns, store);
    const attended = attention(tape, q, store.keys, store.values, this.#batch.segments);
    const after = output(attended.view([q.shape[0], q.shape[1] * q.shape[2]]), x.base);
    const gated = gates(this.#norm(after, `${at}.post_attention_layernorm`), null);
    return down(jointSwiglu(tape, gated), after.base);
  }

  #norm(x: Sum, name: string): Tensor {
    return jointNorm(this.#tape, x, this.#decoder.weight(`${name}.weight`), this.#decoder.config.rmsNormEpsilon);
  }

  #weights(layer: number, group: Group): Tensor[] {
    return group.map((name) => this.#decoder.weight(`model.layers.${layer}.${name}.weight`));
  }

  #blocks(layer: number, group: Group): JointBlocks | null | undefined {
    const modules = group.map((name) => `model.layers.${layer}.${name}`);
    return this.#project.blocksOf?.(modules);
  }

  #drop({ base, change }: Sum): void {
    this.#tape.drop(base);
    if (change !== null) this.#tape.drop(change);
  }
}
