/**
 * What a policy asks of a device, as values: completions to generate, and passes over packed completions, which may learn. Each can be
 * computed alone or beside those of other policies on the same decoder (docs/adr/0012-packed-runs.md), and gets the same bytes either
 * way on a device whose rows are independent.
 */
import { add, Scope, Tape, type Tensor } from '../engine/index.ts';
import {
  type Decoder,
  forwardLanes,
  type GenerateLane,
  type Generation,
  type Group,
  generateLanes,
  type Pace,
  type PackedGroups,
  type PackOptions,
  type Project,
  packGroups,
  type SamplingSettings,
} from '../model/index.ts';

export interface GenerateWork extends GenerateLane {
  readonly decoder: Decoder;
  readonly settings: SamplingSettings;
  readonly pace: Pace;
}

export interface PassWork<Result> {
  readonly decoder: Decoder;
  readonly groups: readonly Group[];
  readonly packing: PackOptions;
  /** Whether log-probabilities are wanted; without them, probes see all that is of interest. */
  readonly scores: boolean;
  /** Whether a pass that learns discards activations that are cheap to compute again. */
  readonly recompute: boolean;
  /** Makes what the pass needs, in `scope`. */
  begin(scope: Scope, packed: PackedGroups): BegunPass<Result>;
}

export interface BegunPass<Result> {
  readonly project?: Project;
  /** The projection for `packed.ends`. */
  readonly endProject?: Project;
  /** What learns from the loss of this pass: parameter → gradient. */
  readonly learn?: ReadonlyMap<Tensor, Tensor>;
  /** Queues what follows from the log-probabilities of the pass's own tokens. */
  queue(tape: Tape, logp: Tensor): QueuedWork<Result>;
}

export interface QueuedWork<Result> {
  /** What is learned from: one number; absent: nothing learns. */
  readonly loss?: Tensor;
  /** Asks for the results. The memory of the pass is given back as soon as it returns its promise. */
  read(): Promise<Result>;
}

/** Who computes for a policy. */
export interface PolicyWork {
  generate(work: GenerateWork): Promise<readonly Generation[]>;
  pass<Result>(work: PassWork<Result>): Promise<Result>;
}

/** Does everything at once, for one policy. */
export const workAlone: PolicyWork = {
  generate: async (work) => (await generateTogether([work]))[0],
  pass: async <Result>(work: PassWork<Result>) => passTogether([work])[0] as Promise<Result>,
};

/** All works must have the decoder, the settings and the pace of the first. */
export function generateTogether(works: readonly GenerateWork[]): Promise<Generation[][]> {
  const [{ decoder, settings, pace }] = works;
  return generateLanes(decoder, works, settings, pace);
}

/** A joint backward pass ended in the middle: gradients may have been added to, so it cannot be done again. */
export class HalfLearned extends Error {
  override readonly name = 'HalfLearned';
}

function backward(tape: Tape, losses: readonly Tensor[]): void {
  try {
    tape.backward(losses.reduce((sum, loss) => add(tape, sum, loss)));
  } catch (cause) {
    if (losses.length === 1) throw cause;
    throw new HalfLearned('several policies learned together', { cause });
  }
}

/** Queues the passes as one and gives their memory back; all must have the decoder, the packing, and the kind of the first. */
export function passTogether(works: readonly PassWork<unknown>[]): Promise<unknown>[] {
  const [{ decoder, packing, scores, recompute }] = works;
  const { device } = decoder.head;
  using scope = new Scope(device);
  const lanes = works.map(({ groups, begin }) => {
    const packed = packGroups(scope, decoder.config, groups, packing);
    return { ...begin(scope, packed), groups, packed };
  });
  const learn = new Map(lanes.flatMap((lane) => [...(lane.learn ?? [])]));
  using tape = new Tape(device, { learn, recompute });
  const outs = forwardLanes(tape, decoder, lanes, packing, scores);
  const queued = lanes.map((lane, i) => lane.queue(tape, outs[i]));
  const losses = queued.flatMap(({ loss }) => loss ?? []);
  if (losses.length > 0) backward(tape, losses);
  return queued.map((each) => each.read());
}
