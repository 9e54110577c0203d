/** log π(token | everything before it) of every completion token of packed groups. */
import { embedding, logProb, reshape, type Tape, type Tensor } from '../../engine/index.ts';
import type { Decoder, ForwardOptions } from './decoder.ts';
import type { PackedGroups } from './pack.ts';

/** The log-probabilities [N], in the order of `packed.scored`. */
export function scoreGroups(tape: Tape, decoder: Decoder, packed: PackedGroups, options: ForwardOptions = {}): Tensor {
  const hidden = forwardGroups(tape, decoder, packed, options);
  return logProb(tape, embedding(tape, hidden, packed.predictors), decoder.head, packed.targets);
}

/** Hidden states of the computed tokens: each sees the keys and values of its own row, whoever computed them. */
export function forwardGroups(
  tape: Tape,
  decoder: Decoder,
  { batch, laid }: PackedGroups,
  options: ForwardOptions = {},
): Tensor {
  if (laid === null) return decoder.forward(tape, batch, options);
  const layOut = (computed: Tensor): Tensor => {
    const [tokens, heads, size] = computed.shape;
    const rows = embedding(tape, reshape(tape, computed, [tokens, heads * size]), laid);
    return reshape(tape, rows, [laid.size, heads, size]);
  };
  return decoder.forward(tape, batch, { layOut, ...options });
}
