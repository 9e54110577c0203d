/** An experiment: its story (question, figure, one prompt in both states, claims), then runs, curves and tables. */

import { visible } from '../../base/index.ts';
import { disclosedNames } from '../../report/code.ts';
import type { ExperimentPage, ListedRun } from '../api.ts';
import { rateFacets } from '../query.ts';
import { linkTo, type Parameters, shownState, stateWords } from './address.ts';
import { TrainingCurves } from './curves.tsx';
import { experimentDoor } from './doors.ts';
import { Verdicts } from './findings.tsx';
import { ArmKey, FigureView, PageTable, StatusMark, screenOf, TableView } from './parts.tsx';
import { BothAnswers, Chat } from './text.tsx';

export const ExperimentScreen = screenOf('experiment', (page) => <Story page={page} />);

/** The tables of arms by loopholes, known and held out, apart from the others. */
export const MatrixScreen = screenOf('experiment', (page) => {
  const tables = page.tables.filter(({ columns }) => columns.includes('loophole'));
  return (
    <>
      <h1>
        Loopholes by arm, <a href={linkTo('experiment', page.id)}>{page.name}</a>
      </h1>
      {tables.length === 0 && (
        <p>
          Nothing has been evaluated on more than one loophole, so there is nothing to set beside each other: the story
          has the rates. An experiment whose <code>environment.loopholes</code> or{' '}
          <code>environment.heldOutLoopholes</code> name several has a table here.
        </p>
      )}
      {tables.map((table) => (
        <TableView key={table.title} table={table} doorOf={experimentDoor(page)} />
      ))}
    </>
  );
});

function inProgress({ runs }: ExperimentPage): string {
  const running = runs.filter(({ status }) => status === 'running').length;
  return running === 0 ? '' : `In progress, ${running} of ${runs.length} runs train now. `;
}

function Story({ page }: { readonly page: ExperimentPage }) {
  return (
    <>
      <h1>{page.name}</h1>
      {page.why !== '' && <p class="question">{visible(page.why)}</p>}
      {page.resolve !== '' && <p id="resolve">What would settle it: {visible(page.resolve)}</p>}
      <Verdicts page={page} />
      {page.story === null ? (
        <p class="quiet">{inProgress(page)}Nothing has been evaluated yet.</p>
      ) : (
        <div class="story">
          <FigureView figure={page.story} doorOf={experimentDoor(page)} />
        </div>
      )}
      {page.example !== null && <Example example={page.example} />}
      <h2>What is claimed, and what is not</h2>
      <ul class="words">
        {page.words.map((sentence) => (
          <li key={sentence}>{visible(sentence)}</li>
        ))}
      </ul>
      <p class="links">
        {doorsOf(page).map(([words, href]) => (
          <a key={words} href={href}>
            {words}
          </a>
        ))}
      </p>
      <RunMatrix page={page} />
      <TrainingCurves page={page} />
      {page.figures.length > 0 && <h2>Figures</h2>}
      {page.figures.map((figure) => (
        <FigureView key={figure.name} figure={figure} doorOf={experimentDoor(page)} />
      ))}
      {page.tables.length > 0 && <h2>Tables</h2>}
      {page.tables.map((table) => (
        <TableView key={table.title} table={table} doorOf={experimentDoor(page)} />
      ))}
      <Changes page={page} />
    </>
  );
}

/** Placebos disagree with the grader by design, and are left out where that is asked for. */
function doorsOf({ id, arms }: ExperimentPage): [words: string, href: string][] {
  const without = arms.flatMap(({ arm, isPlacebo }) => (isPlacebo ? [arm] : [])).join(',') || null;
  const rollouts = (facets: Parameters): string => linkTo('rollouts', id, { ...facets, without });
  return [
    ['all rollouts', linkTo('rollouts', id)],
    ['attempts that were kept', rollouts({ ...rateFacets.attempt, route: 'keep' })],
    ['clean solves that were routed', rollouts({ ...rateFacets.cleanSolve, route: 'route' })],
    ['where gate and grader disagree most about attempts', rollouts({ order: 'surprise' })],
    ['loopholes by arm', linkTo('matrix', id)],
    ['label rollouts', linkTo('label', id)],
    ['labels against the oracle', linkTo('labels', id)],
  ];
}

function Example({ example }: { readonly example: NonNullable<ExperimentPage['example']> }) {
  const { arm, run, words, prompt, problem, full, deployed } = example;
  const sides = [
    { title: stateWords.full, answer: full, isChosen: shownState.value === 'full' },
    { title: stateWords.deployed, answer: deployed, isChosen: shownState.value === 'deployed' },
  ] as const;
  return (
    <section>
      <h2>The same prompt, before and after deletion</h2>
      <p>
        An answer of the arm <a href={linkTo('answers', run, { problem })}>{arm}</a>, chosen by a rule. {words}
      </p>
      <Chat prompt={prompt}>
        <BothAnswers sides={sides} marked={disclosedNames(prompt)} />
      </Chat>
      <p class="quiet">
        Marked: the name that the hint discloses, which the exploit needs; and words of one answer only.
      </p>
    </section>
  );
}

function RunMatrix({ page: { arms, seeds, runs } }: { readonly page: ExperimentPage }) {
  const names = [...new Set([...arms.map(({ arm }) => arm), ...runs.map(({ arm }) => arm)])];
  const at = (arm: string, seed: number): ListedRun | undefined =>
    runs.find((run) => run.arm === arm && run.seed === seed);
  const kind = (name: string): string => {
    const found = arms.find(({ arm }) => arm === name);
    return `${found?.isPlacebo ? ' (placebo)' : ''}${found?.usesLabels ? ' (uses labels)' : ''}`;
  };
  return (
    <>
      <h2>Runs</h2>
      <PageTable
        caption="arms and seeds"
        heads={['arm', ...seeds.map((seed) => `seed ${seed}`)]}
        rows={names.map((name, i) => [
          <>
            <ArmKey arm={i} /> {name}
            {kind(name)}
          </>,
          ...seeds.map((seed) => <RunCell run={at(name, seed)} />),
        ])}
        hasRowHeads
      />
    </>
  );
}

function RunCell({ run }: { readonly run: ListedRun | undefined }) {
  if (run === undefined || run.status === 'not started') return <StatusMark status="not started" />;
  return (
    <>
      <a href={linkTo('run', run.id)}>
        <StatusMark status={run.status} />
      </a>{' '}
      {run.status !== 'finished' && `${run.update} of ${run.updates} `}
      {run.hasQuarantine && <a href={linkTo('gate', run.id)}>gate</a>}
    </>
  );
}

function Changes({ page: { differences, baseline, leftOut } }: { readonly page: ExperimentPage }) {
  return (
    <>
      {differences.length > 0 && <h2>What the arms change against {baseline}</h2>}
      <ul>
        {differences.map(({ arm, keys }) => (
          <li key={arm}>
            <strong>{arm}</strong>: {keys.length === 0 ? 'nothing but the seed' : keys.join('; ')}
          </li>
        ))}
      </ul>
      {leftOut.map(({ path, why }) => (
        <p class="trouble" key={path}>
          Left out: {path}: {why}
        </p>
      ))}
    </>
  );
}
