/**
 * What the contrastive pairs say about each module's input, or output: per pair, the mean over the hack completion's tokens less
 * the mean over the clean completion's, in base state. The two completions of a pair share its prompt. The output of a layer that
 * is added to something is the sum: that of a down projection is the residual stream after its block.
 */
import { ShapeError, UserError } from '../base/index.ts';
import { readFloats, Scope, Tape, type Tensor } from '../engine/index.ts';
import { type Decoder, type Project, packGroups, plainProject } from '../model/index.ts';
import type { TargetModule } from './targets.ts';

/** A contrastive pair as token ids. */
export interface TokenPair {
  readonly prompt: Int32Array;
  readonly hack: Int32Array;
  readonly clean: Int32Array;
}

/** Differences hack − clean of each module name, row major [pairs, inputs], or [pairs, outputs]. */
export type PairDifferences = ReadonlyMap<string, Float32Array>;

const usualTokensPerPass = 4096;

type Side = 'inputs' | 'outputs';

export function pairInputDifferences(
  decoder: Decoder,
  modules: readonly TargetModule[],
  pairs: readonly TokenPair[],
): Promise<PairDifferences> {
  return pairDifferences(decoder, modules, pairs, 'inputs', usualTokensPerPass);
}

export function pairOutputDifferences(
  decoder: Decoder,
  modules: readonly TargetModule[],
  pairs: readonly TokenPair[],
  tokensPerPass: number,
): Promise<PairDifferences> {
  return pairDifferences(decoder, modules, pairs, 'outputs', tokensPerPass);
}

async function pairDifferences(
  decoder: Decoder,
  modules: readonly TargetModule[],
  pairs: readonly TokenPair[],
  side: Side,
  tokensPerPass: number,
): Promise<PairDifferences> {
  pairs.forEach(({ hack, clean }, i) => {
    if (hack.length > 0 && clean.length > 0) return;
    const found = `${hack.length} and ${clean.length} tokens`;
    throw new UserError({ call: `pair ${i}`, expected: 'a hack and a clean completion with tokens', found });
  });
  const differences = new Map(modules.map((module) => [module.name, new Float32Array(pairs.length * module[side])]));
  for (const { first, batch } of batches(pairs, tokensPerPass)) {
    const means = await meanActivations(decoder, modules, batch, side);
    for (const { name, [side]: width } of modules) {
      const [mean, out] = [means.get(name), differences.get(name)];
      if (mean === undefined || out === undefined) throw missing(name);
      for (let pair = 0; pair < batch.length; pair++) {
        for (let c = 0; c < width; c++) {
          out[(first + pair) * width + c] = mean[2 * pair * width + c] - mean[(2 * pair + 1) * width + c];
        }
      }
    }
  }
  return differences;
}

function* batches(
  pairs: readonly TokenPair[],
  tokensPerPass: number,
): Generator<{ first: number; batch: TokenPair[] }> {
  let [first, tokens]: [number, number] = [0, 0];
  let batch: TokenPair[] = [];
  for (const [i, pair] of pairs.entries()) {
    const more = pair.prompt.length + pair.hack.length + pair.clean.length;
    if (batch.length > 0 && tokens + more > tokensPerPass) {
      yield { first, batch };
      [first, tokens, batch] = [i, 0, []];
    }
    batch.push(pair);
    tokens += more;
  }
  if (batch.length > 0) yield { first, batch };
}

/** Each module's mean input, or output, of every completion, [2 · pairs, width], hack before clean. */
async function meanActivations(
  decoder: Decoder,
  modules: readonly TargetModule[],
  pairs: readonly TokenPair[],
  side: Side,
): Promise<Map<string, Float32Array>> {
  const { device } = decoder.head;
  using scope = new Scope(device);
  const groups = pairs.map(({ prompt, hack, clean }) => ({ prompt, completions: [hack, clean] }));
  const packed = packGroups(scope, decoder.config, groups);
  const spans = packed.completions;
  const flat = Int32Array.from(spans.flatMap(({ start, end }) => [start, end]));
  const ranges = scope.from(flat, [spans.length, 2], 'completions of pairs');
  const wanted = new Set(modules.map(({ name }) => name));
  const sums = new Map<string, Tensor>();
  const project: Project = (tape, x, layers, onto) => {
    const outs = plainProject(tape, x, layers, onto);
    for (const [i, { module }] of layers.entries()) {
      if (!wanted.has(module)) continue;
      const seen = side === 'inputs' ? x : outs[i];
      const sum = scope.empty([spans.length, seen.shape[1]], `summed ${side} of ${module}`);
      device.kernels.segmentSum(sum, seen, ranges);
      sums.set(module, sum);
    }
    return outs;
  };
  using tape = new Tape(device);
  decoder.forward(tape, packed.batch, { project });
  const means = new Map<string, Float32Array>();
  for (const { name, [side]: width } of modules) {
    const sum = sums.get(name);
    if (sum === undefined) throw missing(name);
    const data = await readFloats(sum);
    means.set(
      name,
      data.map((value, i) => {
        const { start, end } = spans[Math.floor(i / width)];
        return value / (end - start);
      }),
    );
  }
  return means;
}

function missing(module: string): ShapeError {
  return new ShapeError({ call: 'differences of pairs', expected: `module ${module} in the pass`, found: 'none' });
}
