/**
 * What the contrastive pairs say about each module's input: per pair, the mean of x over the hack completion's tokens less
 * the mean over the clean completion's, in base state. The two completions of a pair share its prompt.
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

/** Input differences hack − clean of each module name, row major [pairs, inputs]. */
export type PairDifferences = ReadonlyMap<string, Float32Array>;

const tokensPerPass = 4096;

export async function pairInputDifferences(
  decoder: Decoder,
  modules: readonly TargetModule[],
  pairs: readonly TokenPair[],
): Promise<PairDifferences> {
  pairs.forEach(({ hack, clean }, i) => {
    if (hack.length > 0 && clean.length > 0) return;
    const found = `${hack.length} and ${clean.length} tokens`;
    throw new UserError({ call: `pair ${i}`, expected: 'a hack and a clean completion with tokens', found });
  });
  const differences = new Map(modules.map(({ name, inputs }) => [name, new Float32Array(pairs.length * inputs)]));
  for (const { first, batch } of batches(pairs)) {
    const means = await meanInputs(decoder, modules, batch);
    for (const { name, inputs } of modules) {
      const [mean, out] = [means.get(name), differences.get(name)];
      if (mean === undefined || out === undefined) throw missing(name);
      for (let pair = 0; pair < batch.length; pair++) {
        for (let c = 0; c < inputs; c++) {
          out[(first + pair) * inputs + c] = mean[2 * pair * inputs + c] - mean[(2 * pair + 1) * inputs + c];
        }
      }
    }
  }
  return differences;
}

function* batches(pairs: readonly TokenPair[]): Generator<{ first: number; batch: TokenPair[] }> {
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

/** Each module's mean input of every completion, [2 · pairs, inputs], hack before clean. */
async function meanInputs(
  decoder: Decoder,
  modules: readonly TargetModule[],
  pairs: readonly TokenPair[],
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
    for (const { module } of layers.filter((layer) => wanted.has(layer.module))) {
      const sum = scope.empty([spans.length, x.shape[1]], `summed input of ${module}`);
      device.kernels.segmentSum(sum, x, ranges);
      sums.set(module, sum);
    }
    return plainProject(tape, x, layers, onto);
  };
  using tape = new Tape(device);
  decoder.forward(tape, packed.batch, { project });
  const means = new Map<string, Float32Array>();
  for (const { name, inputs } of modules) {
    const sum = sums.get(name);
    if (sum === undefined) throw missing(name);
    const data = await readFloats(sum);
    means.set(
      name,
      data.map((value, i) => {
        const { start, end } = spans[Math.floor(i / inputs)];
        return value / (end - start);
      }),
    );
  }
  return means;
}

function missing(module: string): ShapeError {
  return new ShapeError({ call: 'pair inputs', expected: `module ${module} in the pass`, found: 'none' });
}
