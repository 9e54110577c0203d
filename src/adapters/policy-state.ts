/**
 * The states a policy with a split adapter can be in. `base`: no adapter. `full`: both blocks, as trained. `deployed`: without its
 * quarantine, as shipped. `scale-0.25`: the quarantine's change scaled by 0.25. Files and code write them the same way.
 */
export type PolicyState = 'base' | 'full' | 'deployed' | PartialState;

/** The quarantine scaled to something between deleted and whole. */
export type PartialState = `scale-${number}`;

/** A state that has the adapter in it; the base has none, so it has no scale. */
export type AdaptedState = Exclude<PolicyState, 'base'>;

const prefix = 'scale-';

/** The quarantine's scale where a policy is deployed. */
export function deployedScaleOf(hasQuarantine: boolean): number {
  return hasQuarantine ? 0 : 1;
}

/** The quarantine's scale in a state. `deployedScale`: 0 where deploying deletes the quarantine, 1 where everything is deployed. */
export function scaleOf(state: AdaptedState, deployedScale: number): number {
  if (state === 'full') return 1;
  return state === 'deployed' ? deployedScale : Number(state.slice(prefix.length));
}

/** The state with this quarantine scale: deployed at 0, full at 1. */
export function stateOfScale(scale: number): AdaptedState {
  if (scale === 0) return 'deployed';
  return scale === 1 ? 'full' : `${prefix}${scale}`;
}

export function isPartial(state: PolicyState): state is PartialState {
  return state.startsWith(prefix);
}

/** Whether a text names a state: `scale-` needs a number strictly between 0 and 1. */
export function isPolicyState(text: string): text is PolicyState {
  if (text === 'base' || text === 'full' || text === 'deployed') return true;
  const scale = /^scale-(0\.\d+|[1-9](?:\.\d+)?e-\d+)$/.exec(text)?.[1];
  return scale !== undefined && Number(scale) > 0 && Number(scale) < 1;
}
