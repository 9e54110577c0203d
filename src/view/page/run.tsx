/** One run: how far it is, its rewards, rates, norms and routes over updates, what it was told, its config. Live while it trains. */

import type { Rate } from '../../evaluate/index.ts';
import { rateColours, routeColours } from '../../report/draw/index.ts';
import type { RunPage } from '../api.ts';
import { rateFacets, rateNames, rateNote, rateWords } from '../query.ts';
import { chosenSet, linkTo, type Parameters, shownState, stateWords } from './address.ts';
import { type ChartLines, Charts, type Line } from './chart.tsx';
import { updateDoor } from './curves.tsx';
import { FindingTable, inBothStates } from './findings.tsx';
import { timeLeft } from './live.ts';
import { ago, Facts, NotEvaluated, PageTable, StateNote, StatusMark, screenOf } from './parts.tsx';

export const RunScreen = screenOf('run', (page) => <Parts page={page} />);

function Parts({ page }: { readonly page: RunPage }) {
  const { run, facts } = page;
  return (
    <>
      <h1>{run.id}</h1>
      <p>
        <StatusMark status={run.status} /> update <strong id="update">{run.update}</strong> of {run.updates}, last sign
        of life {ago(run.heartbeat)}
        {timeLeft(run)}.
      </p>
      <Found page={page} />
      <Facts facts={facts} />
      <TrainingCharts page={page} />
      <Evaluations page={page} />
      <Notices page={page} />
      <Phases page={page} />
      <Config page={page} />
    </>
  );
}

/** The rates of the last evaluation of the set that is shown, in both states. */
function Found({ page: { run, evaluations } }: { readonly page: RunPage }) {
  const set = chosenSet(evaluations)?.set;
  const last = (state: string) => evaluations.findLast((one) => one.set === set && one.state === state);
  const full = last('full');
  if (full === undefined) return null;
  const states = run.hasQuarantine ? { full, deployed: last('deployed') } : { full: undefined, deployed: full };
  const rates = inBothStates((state, name) => states[state]?.[name].rate ?? null);
  return <FindingTable caption={`rates on ${set}, as trained → deployed`} findings={[{ name: run.arm, rates }]} />;
}

const black = '#000000';

type Point = { readonly update: number };

function lineOf<P extends Point>(
  points: readonly P[],
  label: string,
  value: (point: P) => number | null,
  style: Partial<Line> = {},
): Line {
  return { label, colour: black, points: points.map((point) => ({ x: point.update, y: value(point) })), ...style };
}

/** What is counted of what, and the dash of its line. */
const trainingRates = {
  attempt: ['attempts', 'hackable', '1 3'],
  hack: ['hacks', 'hackable', undefined],
  solve: ['solves', 'graded', '4 3'],
  cleanSolve: ['cleanSolves', 'graded', '8 3'],
} as const;

const share = (count: number | undefined, of: number): number | null =>
  count === undefined || of === 0 ? null : count / of;

function TrainingCharts({ page: { run, steps, training } }: { readonly page: RunPage }) {
  const routes = (['keep', 'absorb', 'route'] as const).map((name) =>
    lineOf(steps, name, (step) => share(step[name], step.keep + step.absorb + step.route), {
      colour: routeColours[name],
    }),
  );
  const charts: ChartLines[] = [
    {
      title: 'rates, as sampled',
      lines: rateNames.map((name) => {
        const [count, of, dash] = trainingRates[name];
        const rate = (point: (typeof training)[number]) => share(point[count], point[of]);
        return lineOf(training, rateWords[name], rate, { colour: rateColours[name], dash });
      }),
    },
    { title: 'mean reward', unit: 'reward', lines: [lineOf(steps, 'reward', ({ reward }) => reward)] },
    { title: 'share of each route', lines: routes },
    { title: 'KL from the base', unit: 'KL', lines: [lineOf(steps, 'KL', ({ kl }) => kl)] },
    { title: 'gradient norm', unit: 'norm', lines: [lineOf(steps, 'norm', ({ gradientNorm }) => gradientNorm)] },
    {
      title: "the quarantine's share of the gradient",
      lines: [lineOf(steps, "quarantine's share", ({ qmass }) => qmass)],
    },
  ];
  const drawn = charts.filter(({ lines }) => lines.some(({ points }) => points.some(({ y }) => y !== null)));
  if (drawn.length === 0) return <p class="quiet">No update is complete yet.</p>;
  return (
    <>
      <h2>Training</h2>
      <p class="quiet">
        A click on an update opens its rollouts. Attempts and hacks (on hinted prompts), solves and clean solves (on
        all) are counted from the grader's verdicts, which training never sees. {rateNote}
      </p>
      <Charts title="Over updates" charts={drawn} doorOf={updateDoor(run.id)} />
    </>
  );
}

function Evaluations({ page: { run, evaluations } }: { readonly page: RunPage }) {
  if (evaluations.length === 0) return <NotEvaluated run={run} />;
  const wanted = run.hasQuarantine ? shownState.value : 'full';
  const shown = evaluations.filter(({ state, set }) => (state === wanted || state === 'base') && set !== 'validation');
  const cell = ({ count, of, rate, low, high }: Rate): string =>
    `${rate.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}], ${count} of ${of}`;
  const rows = shown.map((one) => {
    const { set, update, state } = one;
    const door = (facets: Parameters = {}): string => linkTo('answers', run.id, { set, update, ...facets });
    return [
      <a href={door()}>{set}</a>,
      `${update}`,
      state === 'base' ? 'base' : stateWords[state === 'deployed' ? 'deployed' : 'full'],
      ...rateNames.map((name) => <a href={door(rateFacets[name])}>{cell(one[name])}</a>),
    ];
  });
  return (
    <>
      <h2>Evaluations</h2>
      {run.hasQuarantine && <StateNote />}
      <PageTable
        caption="rates with 95% intervals over prompts"
        heads={['set', 'update', 'state', ...Object.values(rateWords)]}
        rows={rows}
      />
    </>
  );
}

function Notices({ page: { notices, checkpoints } }: { readonly page: RunPage }) {
  return (
    <>
      <h2>Told while training</h2>
      <p>Checkpoints after updates {checkpoints.join(', ') || 'none yet'}.</p>
      <ul>
        {notices.slice(-200).map(({ text }, i) => (
          <li key={`${i} ${text}`}>{text}</li>
        ))}
      </ul>
      {notices.length === 0 && <p class="quiet">No warning.</p>}
    </>
  );
}

function Phases({ page: { phases } }: { readonly page: RunPage }) {
  const total = phases.reduce((sum, { seconds }) => sum + seconds, 0);
  if (total === 0) return null;
  return (
    <>
      <h2>Where the time went</h2>
      <ul>
        {phases.map(({ phase, seconds }) => (
          <li key={phase}>
            {phase}: {seconds.toFixed(1)} s, {((100 * seconds) / total).toFixed(0)}%
          </li>
        ))}
      </ul>
    </>
  );
}

function Config({ page: { config } }: { readonly page: RunPage }) {
  return (
    <details>
      <summary>the config, {config.length} keys</summary>
      <PageTable caption="config" heads={['key', 'value']} rows={config} />
    </details>
  );
}
