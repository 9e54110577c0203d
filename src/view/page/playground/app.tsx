/** The playground: two lanes train from one seed before the reader's eyes, and a switch deletes the quarantine. */
import { effect } from '@preact/signals';
import { render } from 'preact';
import { numberAt, type Plan, shownPrompts } from '../../playground-plan.ts';
import {
  awaited,
  choose,
  chooseLink,
  chosenNow,
  compared,
  copied,
  copyLink,
  deleted,
  faults,
  keeps,
  openLanes,
  prompt,
  writeAddress,
} from './choice.ts';
import { Introduction } from './introduction.tsx';
import { keptEvery } from './kept.ts';
import { type LaneView, laneThreads, type SeenLane } from './lane.ts';
import { LaneDetails, LaneHead, NumberInput, SliderInput, withChange } from './lanes.tsx';
import { OwnProgram } from './own.tsx';
import { bringIntoView, isolate, remember, remembered, takePlace, threadWords } from './tab.ts';

const mostFaults = 4;
const isTraining = (): boolean => openLanes.value.some(({ trains }) => trains);
const each = (act: (lane: LaneView) => void): void => openLanes.value.forEach(act);

/** What a reader wants at any time; it stays in sight. */
function Controls() {
  const training = isTraining();
  const pausing = openLanes.value.some(({ state }) => state.value === 'pausing');
  const ready = openLanes.value.some(({ state }) => state.value === 'paused');
  return (
    <div class="controls most">
      <button
        type="button"
        disabled={!training && !pausing && !ready}
        onClick={({ detail }) => {
          // The second click of a double click would undo the first.
          if (detail < 2) each((lane) => (training ? lane.pause() : lane.train()));
        }}
      >
        {training ? 'Pause' : 'Train'}
      </button>
      <button
        type="button"
        disabled={training || pausing || !ready}
        onClick={() => each((lane) => lane.train((made) => made + 1))}
      >
        One update
      </button>
      <label>
        <input
          type="checkbox"
          checked={deleted.value}
          onChange={({ currentTarget }) => {
            deleted.value = currentTarget.checked;
          }}
        />{' '}
        Delete the quarantine
      </label>
      <span class="estimate">{timeWords(training)}</span>
    </div>
  );
}

/** How long the lanes will train, by the updates of this visit. */
function timeWords(isTraining: boolean): string {
  const goalOf = ({ config, target, state }: LaneView): number =>
    state.value === 'training' ? target.value : awaited.value || config.updates;
  const left = openLanes.value.filter((lane) => (!isTraining || lane.trains) && lane.done < goalOf(lane));
  if (left.length === 0) return '';
  const goal = Math.max(...left.map(goalOf));
  if (left.some(({ pace }) => pace.value === null)) {
    return isTraining ? `to update ${goal}; how long it takes is said after the next` : '';
  }
  const seconds = Math.max(...left.map((lane) => (goalOf(lane) - lane.done) * (lane.pace.value ?? 0)));
  const words = seconds < 90 ? `${Math.ceil(seconds / 10) * 10} seconds` : `${Math.round(seconds / 60)} minutes`;
  return `about ${words} to update ${goal}`;
}

/** For the reader of a link: what it was copied for is seen after so many updates. */
function Awaited() {
  const at = awaited.value;
  if (at === 0) return null;
  return (
    <p class="notice">
      This link was copied after {at} updates, and nothing of them travels with it. Trained to there, this page shows
      the same: same seed, same bytes.{' '}
      <button type="button" onClick={() => each((lane) => lane.train(() => at))}>
        Train to update {at}
      </button>
    </p>
  );
}

function Settings({ plan }: { plan: Plan }) {
  const { seed, world } = chosenNow.value;
  const furthest = Math.max(0, ...openLanes.value.map(({ done }) => done));
  const keepsAll = openLanes.value.every(({ facts }) => facts.value?.keeps !== false);
  // What both lanes have kept: a lane that is behind has nothing of the other's later updates.
  const kept = Array.from({ length: Math.floor(compared.value / keptEvery) + 1 }, (_, i) => i * keptEvery).filter(
    (update) => keepsAll && update < furthest,
  );
  const differs = (openLanes.value.find(({ facts }) => facts.value?.hasQuarantine)?.answers.value ?? []).findIndex(
    ({ trained, deployed }) => trained.attempt && deployed.solve && !deployed.attempt,
  );
  return (
    <>
      <div class="controls">
        <label>
          Rewind to{' '}
          <select
            value=""
            disabled={isTraining() || kept.length === 0}
            onChange={({ currentTarget }) => {
              const at = Number(currentTarget.value);
              for (const lane of openLanes.value) if (lane.done > at) lane.reopen(at);
              currentTarget.value = '';
            }}
          >
            <option value="">{kept.length === 0 ? 'no update yet' : 'an update…'}</option>
            {kept.map((update) => (
              <option key={update} value={update}>
                update {update}
              </option>
            ))}
          </select>
        </label>
        <button type="button" onClick={() => void choose(plan, (now) => now, { anew: true })}>
          Start again
        </button>
        <NumberInput
          name="Seed"
          least={0}
          value={seed}
          set={(next) => void choose(plan, (now) => ({ ...now, seed: next }))}
        />
        <NumberInput
          name="Prompt"
          least={1}
          most={shownPrompts}
          value={prompt.value + 1}
          set={(next) => {
            prompt.value = next - 1;
          }}
        />
        <button
          type="button"
          disabled={differs < 0}
          onClick={() => {
            prompt.value = differs;
            bringIntoView(
              '.answers',
              openLanes.value.findIndex(({ facts }) => facts.value?.hasQuarantine),
            );
          }}
        >
          A prompt that deletion mends
        </button>
        {plan.world.map((slider) => {
          const usual = numberAt(plan.arms[0].config, slider.path);
          return (
            <SliderInput
              key={slider.path}
              {...slider}
              value={world[slider.path] ?? usual}
              set={(value) =>
                void choose(plan, (now) => ({ ...now, world: withChange(now.world, slider.path, value, usual) }))
              }
            />
          );
        })}
        <button type="button" onClick={() => void copyLink()}>
          {copied.value ? 'Copied' : 'Copy the link'}
        </button>
      </div>
      <p class="hint">
        {keepsAll
          ? `Rewinding takes both lanes back to an update that both have kept (every ${keptEvery}th is); those after it are forgotten, and come out the same when they are trained again.`
          : 'This browser keeps nothing, so there is no update to rewind to.'}{' '}
        Another seed, and the two sliders here, start both lanes again from their first update. A copied link has all
        settings and the last update that both lanes have made; who opens it gets a button that trains them to there.{' '}
        {threadWords(laneThreads)}
      </p>
    </>
  );
}

function Playground({ plan }: { plan: Plan }) {
  return (
    <>
      <header>
        <h1>A policy learns to hack; its quarantine is deleted</h1>
        <p>
          A small model learns to write programs for a grader that has a loophole. Attempts at it that a monitor sees
          train a quarantine, which is deleted before the model is deployed.
        </p>
      </header>
      <main>
        {faults.value.length > 0 && (
          <p class="notice" role="alert">
            {faults.value.slice(0, mostFaults).join(' ')}
            {faults.value.length > mostFaults && ` And ${faults.value.length - mostFaults} more.`}
          </p>
        )}
        {!keeps.value && (
          <p class="notice" role="alert">
            Another tab has this page open and keeps what is trained there. This one keeps nothing: a reload begins
            anew.
          </p>
        )}
        <Awaited />
        <Controls />
        <div class="lanes heads">
          {openLanes.value.map((lane, side) => (
            <LaneHead key={`${side}`} lane={lane} plan={plan} side={side} />
          ))}
        </div>
        <div class="hint">
          Remedies without a quarantine:
          <ul>
            <li>Penalty: rollouts that a monitor flags are paid less.</li>
            <li>Screen: rollouts that a monitor flags train nothing.</li>
            <li>Prompt: the prompts of training ask for the exploit, those of evaluation do not.</li>
          </ul>
        </div>
        <Introduction />
        <Settings plan={plan} />
        <p class="legend">
          A rollout’s colour is where its gradient went: <b class="cell keep">deployed block</b>{' '}
          <b class="cell absorb">both blocks</b> <b class="cell route">quarantine</b>{' '}
          <b class="cell none">no gradient</b> (all answers to its prompt were paid the same). <b>!</b> attempts the
          loophole, <b>✓</b> is a clean solve, <b>·</b> does neither. Lines: solid as trained, dashed as deployed, faint
          where it is not the one that is looked at; a dotted upright one marks the update of the figures beside it,
          where this lane is ahead of the other.
        </p>
        <div class="lanes">
          {openLanes.value.map((lane, side) => (
            <LaneDetails key={`${side}`} lane={lane} side={side} />
          ))}
        </div>
        <OwnProgram plan={plan} />
      </main>
    </>
  );
}

/** Instead of the page, where it cannot be shown. */
function say(words: string, command = ''): void {
  const place = document.getElementById('app');
  const shown = (
    <main>
      <p>{words}</p>
      {command === '' ? null : (
        <pre>
          <code>{command}</code>
        </pre>
      )}
    </main>
  );
  place?.replaceChildren();
  if (place !== null) render(shown, place);
}

/** What serves the folder that holds this page, which was opened as a file. */
function serving(): string {
  const folder = decodeURIComponent(location.pathname).replace(/\/[^/]*$/, '');
  return `python3 -m http.server -d "${folder}"     # then http://localhost:8000/`;
}

async function begin(): Promise<void> {
  if (location.protocol === 'file:') {
    const why = 'This page was opened as a file, and a browser lets such a page read no other file. Serve its folder:';
    return say(why, serving());
  }
  await isolate().catch(() => undefined);
  const plan = (await (await fetch('plan.json')).json()) as Plan;
  keeps.value = await takePlace();
  const link = location.hash.length > 1 ? location.hash : location.search;
  const opened = chooseLink(plan, link, { seen: remembered<SeenLane[]>('lanes') ?? [] });
  addEventListener('hashchange', () => void chooseLink(plan, location.hash));
  await opened;
  writeAddress();
  effect(() =>
    remember(
      'lanes',
      openLanes.value.map(({ seen }) => seen),
    ),
  );
  const place = document.getElementById('app');
  place?.replaceChildren();
  if (place !== null) render(<Playground plan={plan} />, place);
}

begin().catch((error: unknown) => say(`The page could not be opened: ${String(error)}. Load it again.`));
