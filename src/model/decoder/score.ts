/** log π(token | everything before it) of every completion token of packed groups. */
import { embedding, logProb, type Tape, type Tensor } from '../../engine/index.ts';
import type { Decoder, ForwardOptions } from './decoder.ts';
import type { PackedGroups } from './pack.ts';

/** The log-probabilities [N], in the order of `packed.scored`. */
export function scoreGroups(tape: Tape, decoder: Decoder, packed: PackedGroups, options: ForwardOptions = {}): Tensor {
  const hidden = decoder.forward(tape, packed.batch, options);
  return logProb(tape, embedding(tape, hidden, packed.predictors), decoder.head, packed.targets);
}
