/** Home: what happened last. Running runs with their last sign of life, what stopped and why, then experiments, the latest first and with what it found, and runs. */
import { useEffect } from 'preact/hooks';
import { visible } from '../../base/index.ts';
import { rateColours } from '../../report/draw/index.ts';
import type { Catalogue, ListedRun } from '../api.ts';
import { rateNames, rateWords } from '../query.ts';
import { goTo, linkTo } from './address.ts';
import { Verdicts } from './findings.tsx';
import { useKeys } from './keys.ts';
import { timeLeft } from './live.ts';
import { Notes } from './notes.tsx';
import { Answered, ago, PageTable, percent, RunLinks, StatusMark } from './parts.tsx';
import { catalogue, useAsked } from './source.ts';

export function Home() {
  const { value } = catalogue.value;
  // Without an address, a folder that holds one experiment and nothing else opens at its story.
  const only = value !== null && location.hash === '' ? onlyExperiment(value) : null;
  useEffect(() => {
    if (only !== null) location.replace(linkTo('experiment', only));
  }, [only]);
  return <Answered answer={catalogue.value}>{(found) => <Lists found={found} />}</Answered>;
}

function onlyExperiment({ experiments, runs }: Catalogue): string | null {
  const [first, ...others] = experiments;
  if (first === undefined || others.length > 0) return null;
  return runs.every(({ experiment }) => experiment === first.id) ? first.id : null;
}

const isTrouble = ({ status }: ListedRun): boolean => ['tripwire', 'stopped', 'damaged'].includes(status);

const lastSign = (runs: readonly ListedRun[]): number => Math.max(0, ...runs.map(({ heartbeat }) => heartbeat ?? 0));

function Lists({ found: { title, experiments, runs } }: { readonly found: Catalogue }) {
  const running = runs.filter(({ status }) => status === 'running');
  const troubled = runs.filter(isTrouble);
  const alone = runs.filter((run) => run.experiment === null && run.status !== 'running' && !isTrouble(run));
  const cards = experiments
    .map((experiment) => ({ experiment, own: runs.filter((run) => run.experiment === experiment.id) }))
    .sort((a, b) => lastSign(b.own) - lastSign(a.own));
  const first = cards[0]?.experiment;
  useKeys({ Enter: () => first !== undefined && goTo('experiment', first.id) });
  return (
    <>
      <h1>{title}</h1>
      {runs.length === 0 && experiments.length === 0 && (
        <p>
          There are no runs here yet. <code>npx gq demo --quick</code> makes three in minutes.
        </p>
      )}
      <RunSection title="Running" runs={running} />
      <RunSection title="Stopped, diverged or damaged" runs={troubled} />
      {experiments.length > 0 && <h2>Experiments</h2>}
      {cards.map(({ experiment, own }) => (
        <Card key={experiment.id} experiment={experiment} runs={own} isLatest={experiment === first} />
      ))}
      <RunSection title="Runs of their own" runs={alone} />
      <Notes />
    </>
  );
}

/** Of more runs results take too long to be read on the way. */
const mostRead = 24;

interface CardProps {
  readonly experiment: Catalogue['experiments'][number];
  readonly runs: readonly ListedRun[];
  readonly isLatest: boolean;
}

function Card({ experiment, runs, isLatest }: CardProps) {
  const done = runs.filter(({ status }) => status === 'finished').length;
  return (
    <article class="card">
      <h3>
        <a href={linkTo('experiment', experiment.id)}>{experiment.name}</a>
      </h3>
      {experiment.why !== '' && <p>{visible(experiment.why)}</p>}
      <p class="quiet">
        {experiment.arms.length > 0 && `${experiment.arms.join(', ')}; `}
        {done} of {runs.length} runs finished
        {lastSign(runs) > 0 && `, last sign of life ${ago(lastSign(runs))}`}
      </p>
      {isLatest && done > 0 && runs.length <= mostRead && <Latest id={experiment.id} />}
    </article>
  );
}

function Latest({ id }: { readonly id: string }) {
  return <Answered answer={useAsked('experiment', id)}>{(page) => <Verdicts page={page} />}</Answered>;
}

function RunSection({ title, runs }: { readonly title: string; readonly runs: readonly ListedRun[] }) {
  if (runs.length === 0) return null;
  const rates = rateNames.map((rate) => `${rateWords[rate]}, deployed`);
  return (
    <section>
      <PageTable
        caption={<h2>{title}</h2>}
        heads={['run', 'arm', 'status', 'update', ...rates, 'last sign of life', 'open']}
        rows={runs.map(runCells)}
      />
    </section>
  );
}

function runCells(run: ListedRun) {
  const { curve, rates: shown } = run;
  const set = curve.length > 0 ? 'curve' : 'test-original';
  const rates = rateNames.map((rate) => (
    <>
      {shown === null ? '-' : <a href={linkTo('answers', run.id, { set })}>{percent(shown[rate])}</a>}{' '}
      <Spark colour={rateColours[rate]} values={curve.flatMap((point) => point[rate] ?? [])} />
    </>
  ));
  return [
    <a href={linkTo('run', run.id)}>{run.id}</a>,
    run.arm,
    <>
      <StatusMark status={run.status} />
      {run.notice !== '' && <div class="notice">{run.notice}</div>}
    </>,
    `${run.update} of ${run.updates}${timeLeft(run)}`,
    ...rates,
    ago(run.heartbeat),
    <RunLinks run={run} />,
  ];
}

function Spark({ values, colour }: { readonly values: readonly number[]; readonly colour: string }) {
  if (values.length < 2) return null;
  const points = values.map((value, i) => `${(i * 48) / (values.length - 1)},${15 - 14 * value}`).join(' ');
  return (
    <svg class="paper spark" viewBox="0 0 48 16" width="48" height="16" aria-hidden="true">
      <polyline points={points} fill="none" stroke={colour} stroke-width="1.5" />
    </svg>
  );
}
