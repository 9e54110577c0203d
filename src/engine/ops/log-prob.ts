/**
 * log p(target) under softmax(hidden · headᵀ), in chunks of tokens: the [tokens × vocabulary] matrix never exists whole,
 * neither forward nor backward (where a chunk's logits are computed again).
 */

import { Scope } from '../scope.ts';
import type { Tape } from '../tape.ts';
import type { Tensor } from '../tensor.ts';
import { expectFloats, expectShape, expectTensor } from './checks.ts';

/** Most elements of a chunk of logits: a share of the device's memory, or `leastChunk` where that is more. */
const chunkShare = 1 / 1024;
const leastChunk = 2 ** 22;

/** hidden [N, C], head [V, C], targets i32 [N] → log-probabilities [N]. */
export function logProb(tape: Tape, hidden: Tensor, head: Tensor, targets: Tensor): Tensor {
  expectFloats(tape, 'logProb', hidden, head);
  expectTensor(tape, 'logProb', 'i32', targets);
  expectShape('logProb hidden', hidden, [-1, -1]);
  const [tokens, channels] = hidden.shape;
  expectShape('logProb head', head, [-1, channels]);
  expectShape('logProb targets', targets, [tokens]);
  if (tape.device.kernels.logSoftmaxSlope !== undefined && tape.learns(hidden) && !tape.learns(head)) {
    return logProbWithSlope(tape, hidden, head, targets);
  }
  const { kernels } = tape.device;
  const out = tape.empty([tokens], 'log-probabilities');
  const logSumExp = tape.empty([tokens], 'log-sum-exp');
  eachChunk(tape, hidden, head, (start, end, logits) => {
    kernels.logSoftmaxGather(out.rows(start, end), logSumExp.rows(start, end), logits, targets.rows(start, end));
  });
  tape.record('logProb', [hidden, head], out, [hidden, head, targets, logSumExp], (dy, gradients) =>
    eachChunk(tape, hidden, head, (start, end, logits) => {
      const slice = (tensor: Tensor): Tensor => tensor.rows(start, end);
      kernels.logSoftmaxGatherBackward(logits, slice(logSumExp), slice(targets), slice(dy));
      using scope = new Scope(tape.device);
      const dLogits = hidden.dtype === 'f32' ? logits : scope.empty(logits.shape, 'logits gradient', hidden.dtype);
      if (dLogits !== logits) kernels.copy(dLogits, logits);
      gradients.into(hidden, (dHidden, accumulate) => {
        if (!accumulate) kernels.fill(dHidden, 0);
        kernels.matmul(slice(dHidden), dLogits, head, { transposeA: false, transposeB: false, accumulate: true });
      });
      gradients.into(head, (dHead, accumulate) =>
        kernels.matmul(dHead, dLogits, slice(hidden), { transposeA: true, transposeB: false, accumulate }),
      );
    }),
  );
  return out;
}

/**
 * The case of a frozen head: d log p / d hidden = head[target] − Σ softmax · head does not depend on what comes back, so it is computed
 * at once from the logits at hand, and the backward pass only scales its rows.
 */
function logProbWithSlope(tape: Tape, hidden: Tensor, head: Tensor, targets: Tensor): Tensor {
  const { kernels } = tape.device;
  const out = tape.empty([hidden.shape[0]], 'log-probabilities');
  const slope = tape.empty(hidden.shape, 'slope of log-probabilities', hidden.dtype);
  eachChunk(tape, hidden, head, (start, end, logits) => {
    using scope = new Scope(tape.device);
    const dLogits = scope.empty(logits.shape, 'logits gradient', hidden.dtype);
    kernels.logSoftmaxSlope?.(dLogits, out.rows(start, end), logits, targets.rows(start, end));
    const options = { transposeA: false, transposeB: false, accumulate: false };
    kernels.matmul(slope.rows(start, end), dLogits, head, options);
  });
  tape.record('logProb', [hidden], out, [slope], (dy, gradients) =>
    gradients.overwrite([hidden], ([dHidden]) => kernels.scaleRows?.(dHidden, slope, dy)),
  );
  return out;
}

function eachChunk(
  tape: Tape,
  hidden: Tensor,
  head: Tensor,
  body: (start: number, end: number, logits: Tensor) => void,
): void {
  const [tokens] = hidden.shape;
  const [vocabulary] = head.shape;
  const chunkElements = Math.max(leastChunk, tape.device.arena.capacity * chunkShare);
  const step = Math.max(1, Math.floor(chunkElements / vocabulary));
  for (let start = 0; start < tokens; start += step) {
    const end = Math.min(tokens, start + step);
    using scope = new Scope(tape.device);
    const logits = scope.empty([end - start, vocabulary], 'chunk of logits');
    tape.device.kernels.matmul(logits, hidden.rows(start, end), head, {
      transposeA: false,
      transposeB: true,
      accumulate: false,
    });
    body(start, end, logits);
  }
}

/** logits f32 [N, V] of a few tokens, whole, for drawing the next token. Not differentiable. */
export function nextLogits(tape: Tape, hidden: Tensor, head: Tensor): Tensor {
  expectFloats(tape, 'nextLogits', hidden, head);
  expectShape('nextLogits hidden', hidden, [-1, -1]);
  expectShape('nextLogits head', head, [-1, hidden.shape[1]]);
  const out = tape.empty([hidden.shape[0], head.shape[0]], 'logits');
  tape.device.kernels.matmul(out, hidden, head, { transposeA: false, transposeB: true, accumulate: false });
  return out;
}
