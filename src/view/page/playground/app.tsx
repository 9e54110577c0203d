/** The playground: two lanes train from one seed before the reader's eyes, and a switch deletes the quarantine. */
import { signal } from '@preact/signals';
import { render } from 'preact';
import type { RunConfig } from '../../../run/index.ts';
import { type LanePoint, LaneView } from './lane.ts';
import type { ShownRollout } from './messages.ts';

export interface PlaygroundArm {
  readonly name: string;
  readonly means: string;
  readonly config: RunConfig;
}

/** Which policy is looked at: with its quarantine, or as it would be deployed. */
const deleted = signal(false);
const lanes = signal<readonly LaneView[]>([]);
const wanted = new URLSearchParams(location.hash.slice(1));
const seed = signal(Number(wanted.get('seed') ?? 1));
const names = signal<readonly string[]>([wanted.get('left') ?? 'vanilla', wanted.get('right') ?? 'activation']);

function open(arms: readonly PlaygroundArm[]): void {
  for (const lane of lanes.value) lane.close();
  const configOf = (name: string) => arms.find((arm) => arm.name === name)?.config ?? arms[0].config;
  lanes.value = names.value.map((name) => new LaneView(name, { ...configOf(name), seed: seed.value }));
  const link = new URLSearchParams({ seed: String(seed.value), left: names.value[0], right: names.value[1] });
  history.replaceState(null, '', `#${link}`);
}

const rate = (count: number, of: number): string => `${count}/${of}`;
const [width, height, margin] = [320, 120, 24];

function Curve({
  points,
  last,
  what,
}: {
  points: readonly LanePoint[];
  last: number;
  what: 'attempts' | 'cleanSolves';
}) {
  const path = (state: 'trained' | 'deployed') =>
    points
      .map(({ update, [state]: rates }, i) => {
        const x = margin + (update / last) * (width - margin - 4);
        const y = 4 + (1 - rates[what] / rates.prompts) * (height - margin);
        return `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`;
      })
      .join('');
  const now = points.at(-1);
  const title = what === 'attempts' ? 'attempts at the loophole' : 'clean solves';
  const words =
    now &&
    `${title} now: trained ${rate(now.trained[what], now.trained.prompts)}, deployed ${rate(now.deployed[what], now.deployed.prompts)}`;
  return (
    <figure class={`curve ${what}`}>
      <figcaption>{title}</figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={words ?? title}>
        <line x1={margin} x2={width} y1={height - 20} y2={height - 20} class="axis" />
        <line x1={margin} x2={margin} y1="4" y2={height - 20} class="axis" />
        <text x="2" y="12">
          1
        </text>
        <text x="2" y={height - 20}>
          0
        </text>
        <text x={width - 2} text-anchor="end" y={height - 6}>
          {last} updates
        </text>
        <path d={path('trained')} class={`trained ${deleted.value ? 'faint' : ''}`} />
        <path d={path('deployed')} class={`deployed ${deleted.value ? '' : 'faint'}`} />
      </svg>
      <p class="now">{words ?? 'no update yet'}</p>
    </figure>
  );
}

const routeWords = { keep: 'deployed block', absorb: 'both blocks', route: 'quarantine', none: 'no gradient' };

function Rollouts({ rollouts }: { rollouts: readonly ShownRollout[] }) {
  return (
    <ul class="rollouts" aria-label="rollouts of the last update, by where their gradient went">
      {rollouts.map(({ route, attempt, solve, reward, text }, i) => {
        const did = attempt ? 'attempts the loophole' : solve ? 'solves' : 'neither solves nor attempts';
        const words = `${routeWords[route ?? 'none']}: ${did}, reward ${reward}`;
        return (
          <li key={`${i}`} class={`cell ${route ?? 'none'}`} title={`${words}\n${text}`}>
            <span aria-hidden="true">{attempt ? '!' : solve ? '✓' : '·'}</span>
            <span class="hidden">{words}</span>
          </li>
        );
      })}
    </ul>
  );
}

/** What happened, in one sentence. */
function sentence({ points, facts }: LaneView): string {
  const now = points.value.at(-1);
  if (now === undefined) return 'It is being opened.';
  const { trained, deployed, update } = now;
  const start = `After ${update} ${update === 1 ? 'update' : 'updates'} it attempts the loophole on ${rate(trained.attempts, trained.prompts)} held-out prompts`;
  if (facts.value?.hasQuarantine !== true) return `${start}; nothing is deleted, so that is what is deployed.`;
  const kept = `solves ${rate(deployed.cleanSolves, deployed.prompts)} of them cleanly`;
  return `${start}; without its quarantine on ${rate(deployed.attempts, deployed.prompts)}, and ${kept}.`;
}

function LaneSection({ lane, arms, side }: { lane: LaneView; arms: readonly PlaygroundArm[]; side: number }) {
  const arm = arms.find(({ name }) => name === lane.name) ?? arms[0];
  const { facts, latest, answers, state, trouble } = lane;
  const shown = answers.value?.[deleted.value ? 'deployed' : 'trained'];
  const choose = (name: string): void => {
    names.value = names.value.map((other, i) => (i === side ? name : other));
    open(arms);
  };
  return (
    <section aria-label={`lane ${side + 1}: ${lane.name}`}>
      <label>
        Remedy{' '}
        <select value={lane.name} onChange={({ currentTarget }) => choose(currentTarget.value)}>
          {arms.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <p class="means">{arm.means}</p>
      <p role="status">{state.value === 'failed' ? trouble.value : `${state.value}. ${sentence(lane)}`}</p>
      <Curve points={lane.points.value} last={arm.config.updates} what="attempts" />
      <Curve points={lane.points.value} last={arm.config.updates} what="cleanSolves" />
      {latest.value !== null && <Rollouts rollouts={latest.value.rollouts} />}
      {shown !== undefined && (
        <>
          <h2>One held-out prompt, {deleted.value ? 'quarantine deleted' : 'as trained'}</h2>
          <pre>{`${answers.value?.question ?? ''}\n${shown.text}`}</pre>
          <p>
            {shown.attempt ? 'It attempts the loophole.' : shown.solve ? 'It solves the problem.' : 'It does neither.'}
          </p>
        </>
      )}
      <p class="facts">
        {facts.value !== null && `${facts.value.threads} threads, ${facts.value.variant} kernels`}
        {latest.value !== null &&
          `, ${latest.value.seconds.toFixed(1)} s an update, adapter ${latest.value.hash.slice(0, 12)}`}
        {lane.outside.value > 0 && `, ${lane.outside.value} programs outside of the grammar counted as not compiling`}
      </p>
    </section>
  );
}

function Playground({ arms }: { arms: readonly PlaygroundArm[] }) {
  const training = lanes.value.some(({ state }) => state.value === 'training');
  const each = (act: (lane: LaneView) => void) => () => lanes.value.forEach(act);
  return (
    <>
      <header>
        <h1>A policy learns to hack; its quarantine is deleted</h1>
      </header>
      <main>
        <p>
          A small model writes programs for a grader with a loophole, and is trained here, in this page. Each rollout’s
          gradient goes to the block that is deployed, to the quarantine, or to both. Delete the quarantine and see what
          is left, beside a lane that was trained otherwise from the same seed. One seed is one observation: beside each
          remedy stands its placebo, the same rule with a random direction. A quarter of the prompts is sound.
        </p>
        <div class="controls">
          <button type="button" onClick={each((lane) => (training ? lane.pause() : lane.train()))}>
            {training ? 'Pause' : 'Train'}
          </button>
          <button type="button" disabled={training} onClick={each((lane) => lane.train(1))}>
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
          <label>
            Seed{' '}
            <input
              type="number"
              min="0"
              value={seed.value}
              onChange={({ currentTarget }) => {
                seed.value = Math.max(0, Math.floor(currentTarget.valueAsNumber || 0));
                open(arms);
              }}
            />
          </label>
          <button type="button" onClick={() => open(arms)}>
            Start again
          </button>
        </div>
        <p class="legend">
          A rollout’s colour is where its gradient went: <b class="cell keep">deployed block</b>{' '}
          <b class="cell absorb">both blocks</b> <b class="cell route">quarantine</b>{' '}
          <b class="cell none">no gradient</b>. <b>!</b> attempts the loophole, <b>✓</b> solves. Lines: solid as
          trained, dashed as deployed.
        </p>
        <div class="lanes">
          {lanes.value.map((lane, side) => (
            <LaneSection key={`${side}`} lane={lane} arms={arms} side={side} />
          ))}
        </div>
      </main>
    </>
  );
}

/** Threads need an isolated page, which the service worker makes of this one when it is loaded again; without it there is one thread. */
async function isolate(): Promise<void> {
  if (crossOriginIsolated || !('serviceWorker' in navigator) || sessionStorage.getItem('isolated') !== null) return;
  sessionStorage.setItem('isolated', 'tried');
  await navigator.serviceWorker.register('isolate.js');
  await navigator.serviceWorker.ready;
  location.reload();
}

async function begin(): Promise<void> {
  await isolate().catch(() => undefined);
  const arms = (await (await fetch('arms.json')).json()) as readonly PlaygroundArm[];
  open(arms);
  const place = document.getElementById('app');
  if (place !== null) render(<Playground arms={arms} />, place);
}

void begin();
