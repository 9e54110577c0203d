/** log π(token | everything before it) of every completion token of packed groups. */
import { divideRows, embedding, logProb, reshape, type Tape, type Tensor } from '../../engine/index.ts';
import type { Decoder, ForwardOptions, Project } from './decoder.ts';
import { projectLanes } from './lanes.ts';
import { type Group, type PackedGroups, type PackOptions, packGroups } from './pack.ts';

export interface GroupOptions extends Omit<ForwardOptions, 'wanted'> {
  /** The projection for `packed.ends`, beside one for all tokens. */
  readonly endProject?: Project;
}

/** The log-probabilities [N], in the order of `packed.scored`. */
export function scoreGroups(tape: Tape, decoder: Decoder, packed: PackedGroups, options: GroupOptions = {}): Tensor {
  const hidden = forwardGroups(tape, decoder, packed, options);
  return logProb(tape, embedding(tape, hidden, packed.predictors), decoder.head, packed.targets);
}

/** What a policy gives to a pass that several share. */
export interface GroupLane extends Pick<GroupOptions, 'project' | 'endProject'> {
  readonly groups: readonly Group[];
  /** The same groups, packed alone by the same options. */
  readonly packed: PackedGroups;
}

/**
 * Passes of several policies as one: the hidden states that predict each lane's scored tokens, or with `scores` their
 * log-probabilities. A pass of a single lane is that lane's own.
 */
export function forwardLanes(
  tape: Tape,
  decoder: Decoder,
  lanes: readonly GroupLane[],
  packing: PackOptions,
  scores: boolean,
): Tensor[] {
  const [first] = lanes;
  const gaps = gapsOf(tape, lanes);
  const joint = lanes.length === 1 ? first.packed : packTogether(tape, decoder, lanes, packing, gaps);
  const { project, endProject } = lanes.length === 1 ? first : joinProjects(tape, lanes, gaps);
  const hidden = forwardGroups(tape, decoder, joint, {
    ...(project === undefined ? {} : { project }),
    ...(endProject === undefined ? {} : { endProject }),
  });
  if (!scores) return lanes.map(() => hidden);
  const logp = logProb(tape, embedding(tape, hidden, joint.predictors), decoder.head, joint.targets);
  if (lanes.length === 1) return [logp];
  return divideRows(
    tape,
    logp,
    lanes.map(({ packed }) => packed.targets.size),
  );
}

/** Rows of nobody after each lane, so that the next begins where the device wants it to. */
function gapsOf({ device }: Tape, lanes: readonly GroupLane[]): number[] {
  const { lanes: step = 1 } = device;
  return lanes.map(({ packed }, i) => (i === lanes.length - 1 ? 0 : -packed.tokens & (step - 1)));
}

/** Rows of nobody are prompts of their own, which nothing is asked of. */
function packTogether(
  tape: Tape,
  { config }: Decoder,
  lanes: readonly GroupLane[],
  packing: PackOptions,
  gaps: readonly number[],
): PackedGroups {
  const groups = lanes.flatMap((lane, i): Group[] => {
    const count = Math.ceil(gaps[i] / config.maxPositions);
    const filler = Array.from({ length: count }, (_, piece) => ({
      prompt: new Int32Array(Math.min(config.maxPositions, gaps[i] - piece * config.maxPositions)),
      completions: [],
    }));
    return [...lane.groups, ...filler];
  });
  // A projection of several lanes takes the rows of each apart: none are shared.
  return { ...packGroups(tape, config, groups, { ...packing, share: false }), starts: null };
}

/** Where only some lanes leave tokens out of the last layer, the others' wanted tokens are all that they have. */
function joinProjects(
  tape: Tape,
  lanes: readonly GroupLane[],
  gaps: readonly number[],
): Pick<GroupOptions, 'project' | 'endProject'> {
  const project = projectLanes(
    tape,
    lanes.map((lane, i) => ({ rows: lane.packed.tokens, project: lane.project, gap: gaps[i] })),
  );
  if (lanes.every(({ packed }) => packed.ends === null)) return project === undefined ? {} : { project };
  const endProject = projectLanes(
    tape,
    lanes.map((lane) => ({
      rows: (lane.packed.ends ?? lane.packed).tokens,
      project: lane.packed.ends === null ? lane.project : lane.endProject,
    })),
  );
  return { ...(project === undefined ? {} : { project }), ...(endProject === undefined ? {} : { endProject }) };
}

/** Hidden states of the computed tokens, or of `packed.ends`: each sees the keys and values of its own row, whoever computed them. */
export function forwardGroups(
  tape: Tape,
  decoder: Decoder,
  { batch, laid, ends, shared, starts }: PackedGroups,
  { endProject, ...given }: GroupOptions = {},
): Tensor {
  const wanted = ends === null ? undefined : { ...ends, ...(endProject === undefined ? {} : { project: endProject }) };
  const options = { ...given, shared, starts, ...(wanted === undefined ? {} : { wanted }) };
  if (laid === null) return decoder.forward(tape, batch, options);
  const layOut = (computed: Tensor): Tensor => {
    const [tokens, heads, size] = computed.shape;
    const rows = embedding(tape, reshape(tape, computed, [tokens, heads * size]), laid);
    return reshape(tape, rows, [laid.size, heads, size]);
  };
  return decoder.forward(tape, batch, { layOut, ...options });
}
