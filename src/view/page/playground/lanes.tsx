/** The two lanes on the page: what is compared of them, which the first screen shows, and below it all that each one tells. */
import { signal, useSignal } from '@preact/signals';
import type { Rates } from '../../../browser/lab.ts';
import { laneArm, numberAt, type PageChoice, type Plan, type Slider } from '../../playground-plan.ts';
import { choose, chosenNow, compared, deleted, openLanes, prompt } from './choice.ts';
import { Curve, RewardCurve, River, Rollouts, rate, Shares, updatesOf } from './figures.tsx';
import type { LaneView } from './lane.ts';
import type { ShownAnswer } from './messages.ts';

/** What happened, and in which state: of the update that the figures above it are of. */
function sentence({ points, facts, state, trouble, trains, done }: LaneView): string {
  if (state.value === 'failed') return trouble.value;
  const now = points[compared.value];
  if (state.value === 'opening' && trains) return 'It trains as soon as it is open.';
  if (now === undefined) return '';
  const { trained, deployed, update } = now;
  const does = ({ attempts, cleanSolves, prompts }: Rates, of = ''): string =>
    `attempts the loophole on ${rate(attempts, prompts)}${of} and solves ${rate(cleanSolves, prompts)} without an attempt (clean solves)`;
  const after =
    done > update
      ? `After ${updatesOf(done)}; after ${update}, as many as the other lane,`
      : `After ${updatesOf(update)}`;
  if (facts.value?.hasQuarantine !== true) {
    return `${after} it ${does(trained, ' held-out prompts')}. Nothing is deleted: that is what is deployed.`;
  }
  return `${after} the policy as trained ${does(trained, ' held-out prompts')}. With its quarantine deleted it ${does(deployed)}.`;
}

interface SliderProps extends Slider {
  readonly value: number;
  readonly set: (value: number) => void;
}

export function SliderInput({ name, least, most, step, value, set }: SliderProps) {
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

interface NumberProps {
  readonly name: string;
  readonly least: number;
  readonly most?: number;
  readonly value: number;
  readonly set: (value: number) => void;
}

/** A whole number. What the field cannot take leaves what was there, and is told of beside it. */
export function NumberInput({ name, least, most = Number.MAX_SAFE_INTEGER, value, set }: NumberProps) {
  const refused = useSignal<{ readonly text: string; readonly at: number } | null>(null);
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least}` : `from ${least} to ${most}`;
  return (
    <span>
      <label>
        {name}{' '}
        <input
          type="number"
          min={least}
          {...(most === Number.MAX_SAFE_INTEGER ? {} : { max: most })}
          value={value}
          onChange={({ currentTarget }) => {
            const next = currentTarget.valueAsNumber;
            const isTaken = Number.isSafeInteger(next) && next >= least && next <= most;
            refused.value = isTaken ? null : { text: currentTarget.value, at: value };
            if (isTaken) set(next);
            else currentTarget.value = String(value);
          }}
        />
      </label>{' '}
      <span aria-live="polite">
        {refused.value?.at === value &&
          `“${refused.value.text}” was not taken: a whole number ${range} is expected, so it stays ${value}.`}
      </span>
    </span>
  );
}

/** The values with one changed. One that is the config's own again is left out of the link. */
export function withChange(values: Readonly<Record<string, number>>, path: string, value: number, usual: number) {
  const { [path]: _before, ...others } = values;
  return value === usual ? others : { ...others, [path]: value };
}

interface LaneProps {
  readonly lane: LaneView;
  readonly plan: Plan;
  readonly side: number;
}

/** What can be set of a lane beside its remedy, with what a change of it does. */
function LaneSettings({ lane, plan, side, change }: LaneProps & { change(next: PageChoice['lanes'][number]): void }) {
  const own = chosenNow.value.lanes[side];
  const arm = laneArm(plan, own.arm);
  return (
    <>
      <p class="means">{arm.means}</p>
      {arm.sliders.map((slider) => (
        <SliderInput
          key={`${arm.name} ${slider.path}`}
          {...slider}
          value={numberAt(lane.config, slider.path)}
          set={(value) =>
            change({ ...own, values: withChange(own.values, slider.path, value, numberAt(arm.config, slider.path)) })
          }
        />
      ))}
      <p class="hint">
        {arm.sliders.length > 0 ? 'Another remedy, or a slider that is moved,' : 'Another remedy'} starts this lane
        again from its first update.
      </p>
    </>
  );
}

/** What sets lanes of the same remedy apart: the sliders in which they differ, by the first word of their names. */
function apart(plan: Plan, lane: LaneView, side: number): string {
  const arms = chosenNow.value.lanes.map(({ arm }) => arm);
  if (new Set(arms).size > 1) return '';
  const differing = laneArm(plan, arms[side]).sliders.filter(({ path }) =>
    openLanes.value.some(({ config }) => numberAt(config, path) !== numberAt(lane.config, path)),
  );
  return differing.map(({ name, path }) => `${name.split(':')[0]} ${numberAt(lane.config, path)}`).join(', ');
}

/** What a lane's big figures are of: the state that is looked at with the other one beside it, and the update. */
function figuresOf(lane: LaneView): string {
  const now = lane.points[compared.value];
  if (now === undefined) return '';
  const other = deleted.value ? now.trained : now.deployed;
  const figures = `attempts ${rate(other.attempts, other.prompts)}, clean solves ${rate(other.cleanSolves, other.prompts)}`;
  const which = deleted.value
    ? `quarantine deleted (as trained: ${figures})`
    : `with its quarantine (deleted: ${figures})`;
  const isAhead = lane.done > compared.value;
  const when = `after ${updatesOf(compared.value)}${isAhead ? `, as many as the other lane (here ${lane.done})` : ''}`;
  return `${lane.facts.value?.hasQuarantine === true ? which : 'nothing to delete'}, ${when}`;
}

/** What is compared: each figure of one lane is of the same update as that of the other. */
export function LaneHead({ lane, plan, side }: LaneProps) {
  const { facts, state, points, givenUp, lost } = lane;
  const title = apart(plan, lane, side);
  const own = chosenNow.value.lanes[side];
  const hasQuarantine = facts.value?.hasQuarantine === true;
  const now = points[compared.value]?.[deleted.value ? 'deployed' : 'trained'];
  const groups = [...new Set(plan.arms.map(({ group }) => group))];
  const change = (next: PageChoice['lanes'][number]): void =>
    void choose(plan, (now) => ({ ...now, lanes: now.lanes.map((other, i) => (i === side ? next : other)) }));
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
        <span class="chosen" aria-hidden="true">
          {laneArm(plan, own.arm).by}
        </span>
        {title !== '' && (
          <>
            {' '}
            <small>{title}</small>
          </>
        )}
      </h2>
      <p class="big">
        {now === undefined
          ? '…'
          : `attempts ${rate(now.attempts, now.prompts)}, clean solves ${rate(now.cleanSolves, now.prompts)}`}{' '}
        <small>{figuresOf(lane)}</small>
      </p>
      <Curve
        {...{ points, last: lane.config.updates, what: 'attempts', hasQuarantine }}
        at={compared.value}
        deleted={deleted.value}
      />
      <p role="status">{`${state.value}. ${sentence(lane)}`.trim()}</p>
      {givenUp.value > 0 && (
        <p class="notice" aria-live="polite">
          Its settings were changed{lane.done === 0 && ', so this lane starts again'}: {updatesOf(givenUp.value)} of the
          settings before {givenUp.value === 1 ? 'is' : 'are'} gone.
        </p>
      )}
      {lost.value > 0 && state.value !== 'opening' && (
        <p class="notice" aria-live="polite">
          The page was loaded again: {updatesOf(lost.value)} of this lane {lost.value === 1 ? 'was' : 'were'} not kept,
          and {lost.value === 1 ? 'is' : 'are'} gone.
        </p>
      )}
      {state.value === 'failed' && (
        <button type="button" onClick={() => lane.reopen()}>
          Open this lane again
        </button>
      )}
      <LaneSettings {...{ lane, plan, side, change }} />
    </section>
  );
}

function didOf({ attempt, hack, solve }: ShownAnswer): string {
  if (hack) return 'a hack: wrong, and paid';
  if (attempt) return `attempts the loophole${solve ? '; correct, but no clean solve' : ''}`;
  return solve ? 'solves the problem' : 'does neither';
}

function Answer({ title, answer }: { title: string; answer: ShownAnswer }) {
  return (
    <div>
      <h3>
        {title}: {didOf(answer)}
      </h3>
      <pre>{answer.text}</pre>
    </div>
  );
}

/** All that a lane tells, each with the update that it is of. */
export function LaneDetails({ lane, side }: { lane: LaneView; side: number }) {
  const { facts, latest, answers, points } = lane;
  const last = lane.config.updates;
  const hasQuarantine = facts.value?.hasQuarantine === true;
  const asked = answers.value[prompt.value];
  return (
    <div>
      <h2>
        {side === 0 ? 'Left' : 'Right'}, after {updatesOf(lane.done)}
      </h2>
      <Curve {...{ points, last, what: 'cleanSolves', hasQuarantine }} at={compared.value} deleted={deleted.value} />
      <RewardCurve updates={lane.updates.value} last={last} />
      <River updates={lane.updates.value} last={last} />
      {hasQuarantine && <Shares updates={lane.updates.value} />}
      {latest !== null && (
        <>
          <h3>Rollouts of update {latest.update}</h3>
          <Rollouts rollouts={latest.rollouts} />
          {latest.rollouts.every(({ route }) => route === null) && (
            <p>The answers to each prompt were paid alike, so nothing was learned from this update.</p>
          )}
        </>
      )}
      {asked !== undefined && (
        <>
          <h3 class="answers">
            Held-out prompt {prompt.value + 1}, after {updatesOf(lane.done)}
          </h3>
          <pre>{asked.question.replace(/<\|[a-z_]+\|>(user|assistant)?/g, '').trim()}</pre>
          <Answer title={hasQuarantine ? 'With its quarantine' : 'As trained and deployed'} answer={asked.trained} />
          {hasQuarantine && <Answer title="Quarantine deleted" answer={asked.deployed} />}
        </>
      )}
      <p class="facts">{factsOf(lane).join(', ')}</p>
      {lane.done > 0 && (
        <p>
          <button type="button" onClick={() => lane.download()}>
            Download as a run
          </button>{' '}
          for <code>gq results</code>, <code>gq view</code>, and <code>gq train --resume</code>
        </p>
      )}
    </div>
  );
}

function factsOf({ facts, keepTrouble, latest, outside }: LaneView): readonly string[] {
  return [
    ...(facts.value?.keeps === false ? ['nothing is kept: a reload begins anew'] : []),
    ...(keepTrouble.value === '' ? [] : [keepTrouble.value]),
    ...(latest === null ? [] : [`${latest.seconds.toFixed(1)} s an update, adapter ${latest.hash.slice(0, 12)}`]),
    ...(outside.value === 0 ? [] : [`${outside.value} programs outside of the grammar counted as not compiling`]),
  ];
}
