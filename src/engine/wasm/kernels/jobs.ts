// Every kernel by number. A kernel is (arguments, shard): it writes only its own shard's part.
import { attention } from './attention';
import { attentionBackward } from './attention-backward';
import { convert, fillHalves } from './convert';
import { affine, binary, clamp, copyWords, fill, inside, swiglu, swigluBackward, unary } from './elementwise';
import { adaptedProducts, gemm, products } from './gemm';
import { logSoftmaxGather, logSoftmaxGatherBackward, rmsNorm, rmsNormBackward, rmsNormWeight, scaleBlocks } from './layers';
import { adamw, invert } from './optimise';
import { pack } from './pack';
import { countNonFinite, gatherPartials, segmentSum, sumFirst, sumLast, sumSquares } from './reduce';
import { normRotary, normRotaryBackward, rotary } from './rotary';
import { gatherRows, scatterAddRows, scatterRows } from './rows';

/** The host reads these as exported globals `Job.name`. */
export enum Job {
  attention,
  attentionBackward,
  affine,
  binary,
  clamp,
  copyWords,
  fill,
  inside,
  swiglu,
  swigluBackward,
  unary,
  convert,
  fillHalves,
  countNonFinite,
  gatherPartials,
  segmentSum,
  sumFirst,
  sumLast,
  sumSquares,
  gatherRows,
  scatterAddRows,
  scatterRows,
  logSoftmaxGather,
  logSoftmaxGatherBackward,
  rmsNorm,
  rmsNormBackward,
  rmsNormWeight,
  rotary,
  normRotary,
  normRotaryBackward,
  scaleBlocks,
  adamw,
  invert,
  gemm,
  products,
  adaptedProducts,
  pack,
}

export function runShard(job: i32, args: usize, shard: i32): void {
  switch (job) {
    case Job.attention: return attention(args, shard);
    case Job.attentionBackward: return attentionBackward(args, shard);
    case Job.affine: return affine(args, shard);
    case Job.binary: return binary(args, shard);
    case Job.clamp: return clamp(args, shard);
    case Job.copyWords: return copyWords(args, shard);
    case Job.fill: return fill(args, shard);
    case Job.inside: return inside(args, shard);
    case Job.swiglu: return swiglu(args, shard);
    case Job.swigluBackward: return swigluBackward(args, shard);
    case Job.unary: return unary(args, shard);
    case Job.convert: return convert(args, shard);
    case Job.fillHalves: return fillHalves(args, shard);
    case Job.countNonFinite: return countNonFinite(args, shard);
    case Job.gatherPartials: return gatherPartials(args, shard);
    case Job.segmentSum: return segmentSum(args, shard);
    case Job.sumFirst: return sumFirst(args, shard);
    case Job.sumLast: return sumLast(args, shard);
    case Job.sumSquares: return sumSquares(args, shard);
    case Job.gatherRows: return gatherRows(args, shard);
    case Job.scatterAddRows: return scatterAddRows(args, shard);
    case Job.scatterRows: return scatterRows(args, shard);
    case Job.logSoftmaxGather: return logSoftmaxGather(args, shard);
    case Job.logSoftmaxGatherBackward: return logSoftmaxGatherBackward(args, shard);
    case Job.rmsNorm: return rmsNorm(args, shard);
    case Job.rmsNormBackward: return rmsNormBackward(args, shard);
    case Job.rmsNormWeight: return rmsNormWeight(args, shard);
    case Job.rotary: return rotary(args, shard);
    case Job.normRotary: return normRotary(args, shard);
    case Job.normRotaryBackward: return normRotaryBackward(args, shard);
    case Job.scaleBlocks: return scaleBlocks(args, shard);
    case Job.adamw: return adamw(args, shard);
    case Job.invert: return invert(args, shard);
    case Job.gemm: return gemm(args, shard);
    case Job.products: return products(args, shard);
    case Job.adaptedProducts: return adaptedProducts(args, shard);
    case Job.pack: return pack(args, shard);
    default: unreachable();
  }
}
