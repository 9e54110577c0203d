/** Home: what needs a look comes first. Running runs with their last sign of life, what stopped and why, then experiments and runs. */
import { useEffect } from 'preact/hooks';
import type { Catalogue, ListedRun } from '../api.ts';
import { rateNames, rateWords } from '../query.ts';
import { goTo, linkTo } from './address.ts';
import { useKeys } from './keys.ts';
import { Notes } from './notes.tsx';
import { Answered, ago, PageTable, percent, RunLinks, StatusMark } from './parts.tsx';
import { useAsked } from './source.ts';

export function Home() {
  const answer = useAsked('home', '');
  const { value } = answer;
  // Without an address, a folder that holds one experiment and nothing else opens at its story.
  const only = value !== null && location.hash === '' ? onlyExperiment(value) : null;
  useEffect(() => {
    if (only !== null) location.replace(linkTo('experiment', only));
  }, [only]);
  return <Answered answer={answer}>{(catalogue) => <Lists catalogue={catalogue} />}</Answered>;
}

function onlyExperiment({ experiments, runs }: Catalogue): string | null {
  const [first, ...others] = experiments;
  if (first === undefined || others.length > 0) return null;
  return runs.every(({ experiment }) => experiment === first.id) ? first.id : null;
}

const isTrouble = ({ status }: ListedRun): boolean => ['tripwire', 'stopped', 'damaged'].includes(status);

function Lists({ catalogue: { title, experiments, runs } }: { readonly catalogue: Catalogue }) {
  const running = runs.filter(({ status }) => status === 'running');
  const troubled = runs.filter(isTrouble);
  const alone = runs.filter((run) => run.experiment === null && run.status !== 'running' && !isTrouble(run));
  const first = experiments[0];
  useKeys({ Enter: () => first !== undefined && goTo('experiment', first.id) });
  return (
    <>
      <h1>{title}</h1>
      {runs.length === 0 && (
        <p>
          There are no runs here yet. <code>gq demo --quick</code> makes three in minutes.
        </p>
      )}
      <RunSection title="Running" runs={running} />
      <RunSection title="Stopped, diverged or damaged" runs={troubled} />
      {experiments.length > 0 && <h2>Experiments</h2>}
      {experiments.map((experiment) => (
        <Card
          key={experiment.id}
          experiment={experiment}
          runs={runs.filter((run) => run.experiment === experiment.id)}
        />
      ))}
      <RunSection title="Runs of their own" runs={alone} />
      <Notes />
    </>
  );
}

function Card({
  experiment,
  runs,
}: {
  readonly experiment: Catalogue['experiments'][number];
  readonly runs: readonly ListedRun[];
}) {
  const done = runs.filter(({ status }) => status === 'finished').length;
  return (
    <article class="card">
      <h3>
        <a href={linkTo('experiment', experiment.id)}>{experiment.name}</a>
      </h3>
      {experiment.why !== '' && <p>{experiment.why}</p>}
      <p class="quiet">
        {experiment.arms.join(', ')}; {done} of {runs.length} runs finished
      </p>
    </article>
  );
}

function RunSection({ title, runs }: { readonly title: string; readonly runs: readonly ListedRun[] }) {
  if (runs.length === 0) return null;
  const rates = rateNames.map((rate) => `${rateWords[rate]}, deployed`);
  return (
    <section>
      <h2>{title}</h2>
      <PageTable
        caption={title}
        heads={['run', 'arm', 'status', 'update', ...rates, 'last sign of life', 'open']}
        rows={runs.map(runCells)}
      />
    </section>
  );
}

function runCells(run: ListedRun) {
  const last = run.curve.at(-1);
  const rates = rateNames.map((rate) => (
    <>
      {last === undefined ? '-' : <a href={linkTo('answers', run.id, { set: 'curve' })}>{percent(last[rate])}</a>}{' '}
      <Spark values={run.curve.flatMap((point) => point[rate] ?? [])} />
    </>
  ));
  return [
    <a href={linkTo('run', run.id)}>{run.id}</a>,
    run.arm,
    <>
      <StatusMark status={run.status} />
      {run.notice !== '' && <div class="notice">{run.notice}</div>}
    </>,
    `${run.update} of ${run.updates}`,
    ...rates,
    ago(run.heartbeat),
    <RunLinks run={run} />,
  ];
}

function Spark({ values }: { readonly values: readonly number[] }) {
  if (values.length < 2) return null;
  const points = values.map((value, i) => `${(i * 48) / (values.length - 1)},${15 - 14 * value}`).join(' ');
  return (
    <svg class="spark" viewBox="0 0 48 16" width="48" height="16" aria-hidden="true">
      <polyline points={points} fill="none" stroke="currentColor" />
    </svg>
  );
}
