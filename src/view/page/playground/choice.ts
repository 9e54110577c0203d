/** What the reader has chosen and looks at, the lanes that train by it, and the address of the page, which says all of it. */
import { batch, computed, effect, signal } from '@preact/signals';
import {
  configOf,
  type Look,
  linkOf,
  type PageChoice,
  type Plan,
  readLink,
  usualPrompt,
} from '../../playground-plan.ts';
import { keepOnly } from './kept.ts';
import { LaneView, type SeenLane } from './lane.ts';

/** Which policy is looked at: with its quarantine, or as it would be deployed. */
export const deleted = signal(false);
/** The held-out prompt whose answers are shown. */
export const prompt = signal(usualPrompt);
export const openLanes = signal<readonly LaneView[]>([]);
export const chosenNow = signal<PageChoice>({ seed: 1, world: {}, lanes: [] });
export const copied = signal(false);
/** How long the button says so. */
const copiedMs = 4000;
/** The updates after which the link that was opened had been copied; 0 without one, and once other settings are chosen. */
const linkedAt = signal(0);
/** What of the link was not taken. */
export const faults = signal<readonly string[]>([]);
/** Whether this tab keeps what is trained; another one may. */
export const keeps = signal(true);
/** The last update that both lanes have made: figures that stand side by side are those after it. */
export const compared = computed(() => Math.min(...openLanes.value.map(({ done }) => done)));
/** The update that has to be made until the lanes show what the link was copied for; 0 where there is none. */
export const awaited = computed(() => (linkedAt.value > compared.value ? linkedAt.value : 0));

interface Opening {
  readonly anew?: boolean;
  /** The lanes of this tab before the page was loaded again. */
  readonly seen?: readonly SeenLane[];
  readonly look?: Look;
  readonly left?: readonly string[];
}

let changes: Promise<void> = Promise.resolve();

/** One change after the other: lanes that are being opened are known to the next. */
export function choose(plan: Plan, chosen: (now: PageChoice) => PageChoice, opening: Opening = {}): Promise<void> {
  changes = changes.catch(() => undefined).then(() => change(plan, chosen(chosenNow.value), opening));
  return changes;
}

export function chooseLink(plan: Plan, link: string, opening: Opening = {}): Promise<void> {
  const { choice: read, look, faults: left } = readLink(link, plan);
  return choose(plan, () => read, { ...opening, look, left });
}

/** Opens the lanes whose config has changed; what the others have trained stays. */
async function change(plan: Plan, chosen: PageChoice, { anew = false, seen = [], look, left = [] }: Opening) {
  const configs = chosen.lanes.map((_, side) => configOf(plan, chosen, side));
  const keys = configs.map((config) => JSON.stringify(config));
  const isSame = (lane: LaneView | undefined, side: number): boolean =>
    !anew && lane !== undefined && lane.state.value !== 'failed' && JSON.stringify(lane.config) === keys[side];
  const before = openLanes.value;
  // Train and Pause are asked of both lanes.
  const wereTraining = before.some((lane) => lane.trains);
  // What a link was copied for is not trained past: its reader has a button that trains to there.
  const waits = look !== undefined && look.at > 0;
  for (const [side, lane] of before.entries()) if (!isSame(lane, side)) lane.close();
  if (keeps.value) await keepOnly(anew ? [] : keys).catch(() => undefined);
  batch(() => {
    faults.value = left;
    chosenNow.value = chosen;
    linkedAt.value = look?.at ?? 0;
    if (look !== undefined) [prompt.value, deleted.value] = [look.prompt, look.deleted];
    openLanes.value = configs.map((config, side) => {
      const old = before[side] as LaneView | undefined;
      if (old !== undefined && isSame(old, side)) {
        if (waits) old.pause();
        return old;
      }
      const own = seen.find(({ key }) => key === keys[side]);
      const trains = !waits && (own?.trains ?? (!anew && wereTraining));
      const { key, made } = seen[side] ?? { key: keys[side], made: 0 };
      // What was kept of a config that the other lane has now is taken up there.
      const isMoved = old?.facts.value?.keeps === true && keys.includes(JSON.stringify(old.config));
      const ofOld = old === undefined || anew || isMoved ? 0 : old.done || old.givenUp.value;
      const givenUp = keys.includes(key) ? ofOld : made;
      return new LaneView(config, { goesOn: trains, keeps: keeps.value, givenUp, made: own?.made ?? 0 });
    });
  });
}

const linkAt = (at: number): string => linkOf(chosenNow.value, { prompt: prompt.value, deleted: deleted.value, at });

/** The link to what is seen now: it says how far both lanes have come, so that its reader knows how to get there. */
export async function copyLink(): Promise<void> {
  await navigator.clipboard?.writeText(new URL(linkAt(awaited.value || compared.value), location.href).href);
  copied.value = true;
  setTimeout(() => {
    copied.value = false;
  }, copiedMs);
}

/** From now on the address is the link to what is chosen and looked at. */
export function writeAddress(): void {
  effect(() => {
    history.replaceState(null, '', `${location.pathname}${linkAt(awaited.value)}`);
    copied.value = false;
  });
}
