/** log π(token | everything before it) of every completion token of packed groups. */
import { embedding, logProb, reshape, type Tape, type Tensor } from '../../engine/index.ts';
import type { Decoder, ForwardOptions, Project } from './decoder.ts';
import type { PackedGroups } from './pack.ts';

export interface GroupOptions extends Omit<ForwardOptions, 'wanted'> {
  /** The projection for `packed.ends`, beside one for all tokens. */
  readonly endProject?: Project;
}

/** The log-probabilities [N], in the order of `packed.scored`. */
export function scoreGroups(tape: Tape, decoder: Decoder, packed: PackedGroups, options: GroupOptions = {}): Tensor {
  const hidden = forwardGroups(tape, decoder, packed, options);
  return logProb(tape, embedding(tape, hidden, packed.predictors), decoder.head, packed.targets);
}

/** Hidden states of the computed tokens, or of `packed.ends`: each sees the keys and values of its own row, whoever computed them. */
export function forwardGroups(
  tape: Tape,
  decoder: Decoder,
  { batch, laid, ends }: PackedGroups,
  { endProject, ...given }: GroupOptions = {},
): Tensor {
  const wanted = ends === null ? undefined : { ...ends, ...(endProject === undefined ? {} : { project: endProject }) };
  const options = { ...given, ...(wanted === undefined ? {} : { wanted }) };
  if (laid === null) return decoder.forward(tape, batch, options);
  const layOut = (computed: Tensor): Tensor => {
    const [tokens, heads, size] = computed.shape;
    const rows = embedding(tape, reshape(tape, computed, [tokens, heads * size]), laid);
    return reshape(tape, rows, [laid.size, heads, size]);
  };
  return decoder.forward(tape, batch, { layOut, ...options });
}
