/** The playground: two lanes train from one seed before the reader's eyes, and a switch deletes the quarantine. */
import { effect, signal } from '@preact/signals';
import { render } from 'preact';
import {
  configOf,
  laneArm,
  linkOf,
  numberAt,
  type PageChoice,
  type Plan,
  readLink,
  type Slider,
} from '../../playground-plan.ts';
import { Curve, RewardCurve, River, Rollouts, rate } from './figures.tsx';
import { Introduction } from './introduction.tsx';
import { keepOnly, keptEvery } from './kept.ts';
import { LaneView } from './lane.ts';
import type { ShownAnswer } from './messages.ts';
import { isolate, remember, remembers, takePlace, whyAlone } from './tab.ts';

/** Which policy is looked at: with its quarantine, or as it would be deployed. */
const deleted = signal(false);
const lanes = signal<readonly LaneView[]>([]);
const choice = signal<PageChoice>({ seed: 1, world: {}, lanes: [] });
/** The held-out prompt whose answers are shown. */
const prompt = signal(0);
const copied = signal(false);
/** What of the link was not taken. */
const faults = signal<readonly string[]>([]);
/** Whether this tab keeps what is trained; another one may. */
const keeps = signal(true);
const mostFaults = 4;

interface Opening {
  readonly anew?: boolean;
  readonly goesOn?: boolean;
  readonly left?: readonly string[];
}

let changes: Promise<void> = Promise.resolve();

/** One change after the other: lanes that are being opened are known to the next. */
function choose(plan: Plan, chosen: (now: PageChoice) => PageChoice, opening: Opening = {}): void {
  changes = changes.catch(() => undefined).then(() => change(plan, chosen(choice.value), opening));
}

const chooseLink = (plan: Plan, link: string, opening: Opening = {}): void => {
  const read = readLink(link, plan);
  choose(plan, () => read.choice, { ...opening, left: read.faults });
};

/** Opens the lanes whose config has changed; what the others have trained stays. */
async function change(plan: Plan, chosen: PageChoice, { anew = false, goesOn = false, left = [] }: Opening) {
  const configs = chosen.lanes.map((_, side) => configOf(plan, chosen, side));
  const keys = configs.map((config) => JSON.stringify(config));
  const isSame = (lane: LaneView | undefined, side: number): boolean =>
    !anew && lane !== undefined && lane.state.value !== 'failed' && JSON.stringify(lane.config) === keys[side];
  const before = lanes.value;
  for (const [side, lane] of before.entries()) if (!isSame(lane, side)) lane.close();
  if (keeps.value) await keepOnly(anew ? [] : keys).catch(() => undefined);
  faults.value = left;
  choice.value = chosen;
  copied.value = false;
  lanes.value = configs.map((config, side) => {
    return isSame(before[side], side) ? before[side] : new LaneView(config, { goesOn, keeps: keeps.value });
  });
  history.replaceState(null, '', `${location.pathname}${linkOf(chosen)}`);
}

/** What happened, in one sentence. */
function sentence({ points, facts, state, trouble }: LaneView): string {
  if (state.value === 'failed') return trouble.value;
  const now = points.at(-1);
  if (now === undefined) return 'It is being opened.';
  const { trained, deployed, update } = now;
  const start = `After ${update} ${update === 1 ? 'update' : 'updates'} it attempts the loophole on ${rate(trained.attempts, trained.prompts)} held-out prompts`;
  const solves = (count: number): string => `solves ${rate(count, trained.prompts)} without an attempt`;
  if (facts.value?.hasQuarantine !== true) {
    return `${start} and ${solves(trained.cleanSolves)}. Nothing is deleted: that is what is deployed.`;
  }
  return `${start}; with its quarantine deleted on ${rate(deployed.attempts, deployed.prompts)}, and ${solves(deployed.cleanSolves)}.`;
}

interface SliderProps extends Slider {
  readonly value: number;
  readonly set: (value: number) => void;
}

function SliderInput({ name, least, most, step, value, set }: SliderProps) {
  const moving = signal(value);
  return (
    <label class="slider">
      <span>
        {name}: {moving}
      </span>
      <input
        type="range"
        {...{ min: least, max: most, step, value }}
        onInput={({ currentTarget }) => {
          moving.value = currentTarget.valueAsNumber;
        }}
        onChange={({ currentTarget }) => set(currentTarget.valueAsNumber)}
      />
    </label>
  );
}

/** The values with one changed. One that is the config's own again is left out of the link. */
function changed(values: Readonly<Record<string, number>>, path: string, value: number, usual: number) {
  const { [path]: _before, ...others } = values;
  return value === usual ? others : { ...others, [path]: value };
}

function Answer({ title, answer }: { title: string; answer: ShownAnswer }) {
  const did = answer.attempt ? 'attempts the loophole' : answer.solve ? 'solves the problem' : 'does neither';
  return (
    <div>
      <h3>
        {title}: {did}
      </h3>
      <pre>{answer.text}</pre>
    </div>
  );
}

function LaneSection({ lane, plan, side }: { lane: LaneView; plan: Plan; side: number }) {
  const own = choice.value.lanes[side];
  const arm = laneArm(plan, own.arm);
  const { facts, latest, answers, state, points } = lane;
  const hasQuarantine = facts.value?.hasQuarantine === true;
  const last = lane.config.updates;
  const now = points.at(-1)?.[deleted.value ? 'deployed' : 'trained'];
  const asked = answers.value[prompt.value];
  const change = (next: PageChoice['lanes'][number]): void =>
    choose(plan, (now) => ({ ...now, lanes: now.lanes.map((other, i) => (i === side ? next : other)) }));
  const groups = [...new Set(plan.arms.map(({ group }) => group))];
  return (
    <section aria-label={`lane ${side + 1}: ${own.arm}`}>
      <h2>
        <label>
          {side === 0 ? 'Left' : 'Right'}{' '}
          <select value={own.arm} onChange={({ currentTarget }) => change({ arm: currentTarget.value, values: {} })}>
            {groups.map((group) => (
              <optgroup key={group} label={group}>
                {plan.arms
                  .filter((each) => each.group === group)
                  .map(({ name, by }) => (
                    <option key={name} value={name}>
                      {group}, {by}
                    </option>
                  ))}
              </optgroup>
            ))}
          </select>
        </label>
      </h2>
      <p class="means">{arm.means}</p>
      {arm.sliders.map((slider) => (
        <SliderInput
          key={`${arm.name} ${slider.path}`}
          {...slider}
          value={numberAt(lane.config, slider.path)}
          set={(value) =>
            change({ ...own, values: changed(own.values, slider.path, value, numberAt(arm.config, slider.path)) })
          }
        />
      ))}
      <p class="big">
        {now === undefined
          ? '…'
          : `attempts ${rate(now.attempts, now.prompts)}, solves ${rate(now.cleanSolves, now.prompts)}`}
        <small>
          {!hasQuarantine ? ' nothing to delete' : deleted.value ? ' quarantine deleted' : ' with its quarantine'}
        </small>
      </p>
      <p role="status">{`${state.value}. ${sentence(lane)}`}</p>
      {state.value === 'failed' && (
        <button type="button" onClick={() => lane.reopen()}>
          Open this lane again
        </button>
      )}
      <Curve {...{ points, last, what: 'attempts', deleted: deleted.value, hasQuarantine }} />
      <Curve {...{ points, last, what: 'cleanSolves', deleted: deleted.value, hasQuarantine }} />
      <RewardCurve updates={lane.updates.value} last={last} />
      <River updates={lane.updates.value} last={last} />
      {latest !== null && <Rollouts rollouts={latest.rollouts} />}
      {asked !== undefined && (
        <>
          <h3>Held-out prompt {prompt.value + 1}</h3>
          <pre>{asked.question.replace(/<\|[a-z_]+\|>(user|assistant)?/g, '').trim()}</pre>
          <Answer title={hasQuarantine ? 'With its quarantine' : 'As trained and deployed'} answer={asked.trained} />
          {hasQuarantine && <Answer title="Quarantine deleted" answer={asked.deployed} />}
        </>
      )}
      <p class="facts">
        {facts.value !== null && `${facts.value.threads} ${facts.value.threads === 1 ? 'thread' : 'threads'}`}
        {facts.value?.keeps === false && ', nothing is kept: a reload begins anew'}
        {lane.keepTrouble.value !== '' && `, ${lane.keepTrouble}`}
        {latest !== null && `, ${latest.seconds.toFixed(1)} s an update, adapter ${latest.hash.slice(0, 12)}`}
        {lane.outside.value > 0 && `, ${lane.outside.value} programs outside of the grammar counted as not compiling`}
      </p>
      {lane.done > 0 && (
        <p>
          <button type="button" onClick={() => lane.download()}>
            Download as a run
          </button>{' '}
          for <code>gq results</code>, <code>gq view</code>, and <code>gq train --resume</code>
        </p>
      )}
    </section>
  );
}

function Controls({ plan }: { plan: Plan }) {
  const training = lanes.value.some(({ state }) => state.value === 'training');
  const ready = lanes.value.some(({ state }) => state.value === 'paused');
  const each = (act: (lane: LaneView) => void) => () => lanes.value.forEach(act);
  const { seed, world } = choice.value;
  const furthest = Math.max(0, ...lanes.value.map(({ done }) => done));
  const keepsAll = lanes.value.every(({ facts }) => facts.value?.keeps !== false);
  const kept = Array.from({ length: keepsAll ? Math.ceil(furthest / keptEvery) : 0 }, (_, i) => i * keptEvery);
  const differs = (lanes.value.find(({ facts }) => facts.value?.hasQuarantine)?.answers.value ?? []).findIndex(
    ({ trained, deployed }) => trained.attempt && deployed.solve && !deployed.attempt,
  );
  return (
    <>
      <div class="controls most">
        <button
          type="button"
          disabled={!training && !ready}
          onClick={each((lane) => (training ? lane.pause() : lane.train()))}
        >
          {training ? 'Pause' : 'Train'}
        </button>
        <button type="button" disabled={training || !ready} onClick={each((lane) => lane.train(1))}>
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
      </div>
      <div class="controls">
        <label>
          Rewind to{' '}
          <select
            value=""
            disabled={training || kept.length === 0}
            onChange={({ currentTarget }) => {
              const at = Number(currentTarget.value);
              for (const lane of lanes.value) if (lane.done > at) lane.reopen(at);
              currentTarget.value = '';
            }}
          >
            <option value="">…</option>
            {kept.map((update) => (
              <option key={update} value={update}>
                update {update}
              </option>
            ))}
          </select>
        </label>
        <button type="button" onClick={() => choose(plan, (now) => now, { anew: true })}>
          Start again
        </button>
        <label>
          Seed{' '}
          <input
            type="number"
            min="0"
            value={seed}
            onChange={({ currentTarget }) => {
              const next = Math.floor(currentTarget.valueAsNumber);
              if (next >= 0 && Number.isSafeInteger(next)) choose(plan, (now) => ({ ...now, seed: next }));
              else currentTarget.value = String(choice.value.seed);
            }}
          />
        </label>
        <label>
          Prompt{' '}
          <input
            type="number"
            min="1"
            max="32"
            value={prompt.value + 1}
            onChange={({ currentTarget }) => {
              prompt.value = Math.min(31, Math.max(0, Math.floor(currentTarget.valueAsNumber || 1) - 1));
            }}
          />
        </label>
        <button
          type="button"
          disabled={differs < 0}
          onClick={() => {
            prompt.value = differs;
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
              set={(value) => choose(plan, (now) => ({ ...now, world: changed(now.world, slider.path, value, usual) }))}
            />
          );
        })}
        <button
          type="button"
          onClick={() => {
            void navigator.clipboard?.writeText(location.href).then(() => {
              copied.value = true;
            });
          }}
        >
          {copied.value ? 'Copied' : 'Copy the link'}
        </button>
      </div>
    </>
  );
}

function Playground({ plan }: { plan: Plan }) {
  return (
    <>
      <header>
        <h1>A policy learns to hack; its quarantine is deleted</h1>
      </header>
      <main>
        <Introduction />
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
        <Controls plan={plan} />
        <p class="legend">
          A rollout’s colour is where its gradient went: <b class="cell keep">deployed block</b>{' '}
          <b class="cell absorb">both blocks</b> <b class="cell route">quarantine</b>{' '}
          <b class="cell none">no gradient</b> (all answers to its prompt were paid the same). <b>!</b> attempts the
          loophole, <b>✓</b> solves. Lines: solid as trained, dashed as deployed. {whyAlone()}
        </p>
        <div class="lanes">
          {lanes.value.map((lane, side) => (
            <LaneSection key={`${side}`} lane={lane} plan={plan} side={side} />
          ))}
        </div>
      </main>
    </>
  );
}

/** Instead of the page, where it cannot be shown. */
function say(words: string): void {
  const line = document.createElement('p');
  line.textContent = words;
  document.getElementById('app')?.replaceChildren(line);
}

/** Where a page may read no other file: opened from a folder. */
const howToServe =
  'This page was opened as a file, and a browser lets such a page read no other file. Serve its folder: python3 -m http.server -d FOLDER';

async function begin(): Promise<void> {
  if (location.protocol === 'file:') return say(howToServe);
  await isolate().catch(() => undefined);
  const plan = (await (await fetch('plan.json')).json()) as Plan;
  keeps.value = await takePlace();
  chooseLink(plan, location.hash.length > 1 ? location.hash : location.search, { goesOn: remembers('training') });
  addEventListener('hashchange', () => chooseLink(plan, location.hash));
  await changes;
  effect(() => {
    if (lanes.value.some(({ state }) => state.value === 'training')) remember('training', true);
    else if (lanes.value.every(({ state }) => state.value !== 'opening')) remember('training', false);
  });
  const place = document.getElementById('app');
  place?.replaceChildren();
  if (place !== null) render(<Playground plan={plan} />, place);
}

begin().catch((error: unknown) => say(`The page could not be opened: ${String(error)}. Load it again.`));
