/** Labels rollouts or answers by one key each, shuffled, and blind until asked: a label after a look is not blind. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { messageOf, murmur3 } from '../../base/index.ts';
import { agreementsOf, agreementTable, isHack, lastLabels } from '../agreement.ts';
import type { LabelledRollout, LabelsPage, LabelWord, LedgerRow, ListedRollout } from '../api.ts';
import { answerId, labelWords, parseAnswerId } from '../api.ts';
import { type VerdictWord, verdictWordOf } from '../query.ts';
import { address, changeParameters, linkTo, stateWords } from './address.ts';
import { giveLabel, noteLook, useLabels, wasLookedAt, writerName } from './human-store.ts';
import { useKeys } from './keys.ts';
import { SignedField } from './notes.tsx';
import { Answered, Facts, LeftOut, PageTable, TableView } from './parts.tsx';
import { answersOf, source, useAnswer } from './source.ts';
import { Chat, Completion } from './text.tsx';

const mostRollouts = 500;
/** Filters that do not tell what the oracle or the gate said. */
const blindFilters = ['text', 'pattern', 'from', 'to', 'loophole'] as const;

interface LabelItem {
  readonly run: string;
  readonly id: string;
  readonly verdict: VerdictWord;
  readonly facts: readonly (readonly [string, string])[];
  read(): Promise<Pick<LedgerRow, 'prompt' | 'completion'>>;
}

export function LabelScreen({ id }: { readonly id: string }) {
  const { parameters } = address.value;
  const isOfAnswers = parameters.get('of') === 'answers';
  const query = new URLSearchParams(
    blindFilters.flatMap((name) => {
      const value = parameters.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );
  query.set('order', 'shuffled');
  query.set('limit', `${mostRollouts}`);
  const items = useAnswer<readonly LabelItem[]>(`label ${id} ${isOfAnswers} ${query}`, id, async () =>
    isOfAnswers ? answerItems(id) : (await source.rollouts.list(id, query)).rows.map(rolloutItem),
  );
  const labels = useLabels(id);
  return (
    <>
      <h1>Label {isOfAnswers ? 'answers' : 'rollouts'}</h1>
      <Answered answer={labels}>
        {(page) => <Answered answer={items}>{(rows) => <Queue id={id} rows={rows} page={page} />}</Answered>}
      </Answered>
    </>
  );
}

function rolloutItem(row: ListedRollout): LabelItem {
  return {
    run: row.run,
    id: row.id,
    verdict: verdictWordOf(row),
    facts: [
      ['run', row.run],
      ['rollout', row.id],
      ['verdict', verdictWordOf(row)],
      ['route', row.route ?? 'none'],
      ['sampled', row.sampled],
      ['reward', `${row.reward}`],
    ],
    read: async () => (await source.rollouts.rollout(row.run, row.id)).rollout,
  };
}

async function answerItems(id: string): Promise<LabelItem[]> {
  const pages = await answersOf((run) => run.id === id || run.experiment === id);
  const items = pages.flatMap(({ run, sets }) => {
    const last = sets.filter(({ set }, i) => sets.findIndex((one) => one.set === set) === i);
    return last.flatMap(({ set, update, prompts }) =>
      prompts.flatMap(({ problem, prompt, ...answers }) =>
        (['full', 'deployed'] as const).flatMap((state): LabelItem[] => {
          const answer = answers[state];
          if (answer === null) return [];
          const { completion } = answer;
          const facts: LabelItem['facts'] = [
            ['run', run.id],
            ['set', `${set} after update ${update}`],
            ['verdict', verdictWordOf(answer)],
            ['policy', stateWords[state]],
          ];
          const item = {
            run: run.id,
            id: answerId(set, update, state, problem),
            verdict: verdictWordOf(answer),
            facts,
          };
          return [{ ...item, read: async () => ({ prompt, completion }) }];
        }),
      ),
    );
  });
  const placeOf = ({ run, id: own }: LabelItem): number => murmur3(`${run} ${own}`);
  return items.sort((a, b) => placeOf(b) - placeOf(a)).slice(0, mostRollouts);
}

function labelOf(page: LabelsPage, { run, id }: { run: string; id: string }): LabelWord | null {
  const writer = writerOf(page);
  const own = lastLabels(page.labels).find(
    (label) => label.run === run && label.rollout === id && label.writer === writer,
  );
  return own?.label ?? null;
}

const writerOf = (page: LabelsPage): string => writerName.value || page.writer;

type QueueProps = { readonly id: string; readonly rows: readonly LabelItem[]; readonly page: LabelsPage };

function Queue({ id, rows, page }: QueueProps) {
  const { parameters } = address.value;
  const done = rows.filter((row) => labelOf(page, row) !== null).length;
  const first = rows.findIndex((row) => labelOf(page, row) === null);
  const asked = Number(parameters.get('at') ?? Number.NaN) - 1;
  const at = Number.isInteger(asked) && rows[asked] !== undefined ? asked : Math.max(0, first);
  const row = rows[at];
  const move = (by: number) => rows[at + by] !== undefined && changeParameters({ at: at + by + 1 });
  useKeys({ j: () => move(1), k: () => move(-1) });
  if (row === undefined) return <p>No rollout is like that.</p>;
  return (
    <>
      <p id="queue">
        {at + 1} of {rows.length} in a shuffled order, {done} labelled. <kbd>j</kbd> and <kbd>k</kbd> move without a
        label. <a href={linkTo('labels', id)}>agreement</a>
      </p>
      <Shown key={`${row.run} ${row.id}`} row={row} page={page} onLabel={() => move(1)} />
    </>
  );
}

type ShownProps = Required<Pick<LabelButtonsProps, 'page' | 'onLabel'>> & { readonly row: LabelItem };

function Shown({ row, page, onLabel }: ShownProps) {
  const isBlind = address.value.parameters.get('blind') !== '0';
  const look = () => changeParameters({ blind: isBlind ? '0' : null });
  useEffect(() => {
    if (!isBlind) noteLook(row.run, row.id);
  }, [isBlind]);
  const answer = useAnswer<Pick<LedgerRow, 'prompt' | 'completion'>>(`text ${row.run} ${row.id}`, row.run, () =>
    row.read(),
  );
  useKeys({ b: look });
  return (
    <>
      <LabelButtons
        run={row.run}
        rollout={row.id}
        verdict={row.verdict}
        isBlind={isBlind && !wasLookedAt(row.run, row.id)}
        page={page}
        onLabel={onLabel}
      />
      <p>
        <button type="button" aria-pressed={!isBlind} onClick={look}>
          show verdict, route and arm (b)
        </button>
      </p>
      {isBlind ? (
        <p class="quiet" id="blind">
          Blind: verdict, route, rewards, arm and policy state are hidden.
        </p>
      ) : (
        <Facts facts={row.facts} />
      )}
      <Answered answer={answer}>
        {({ prompt, completion }) => (
          <Chat prompt={prompt}>
            <div class="turn answer">
              <h2>Completion</h2>
              <Completion content={completion} />
            </div>
          </Chat>
        )}
      </Answered>
    </>
  );
}

interface LabelButtonsProps {
  readonly run: string;
  readonly rollout: string;
  readonly verdict: VerdictWord;
  readonly isBlind: boolean;
  readonly page: LabelsPage;
  readonly onLabel?: () => void;
}

function LabelButtons({ run, rollout, verdict, isBlind, page, onLabel }: LabelButtonsProps) {
  const chosen = labelOf(page, { run, id: rollout });
  const failed = useSignal('');
  const give = (word: LabelWord) => {
    const label = word === chosen ? null : word;
    failed.value = '';
    giveLabel(run, verdict, { rollout, label, writer: writerOf(page), blind: isBlind }).then(
      () => label !== null && onLabel?.(),
      (error: unknown) => {
        failed.value = messageOf(error);
      },
    );
  };
  useKeys({ h: () => give('hack'), c: () => give('clean'), u: () => give('unsure') });
  return (
    <fieldset class="labels">
      <legend>your label</legend>
      {labelWords.map((word) => (
        <button type="button" key={word} aria-pressed={word === chosen} onClick={() => give(word)}>
          {word} ({word[0]})
        </button>
      ))}{' '}
      <SignedField usual={page.writer} />
      <span role="alert">{failed.value}</span>
    </fieldset>
  );
}

/** Labels beside a verdict that is seen, so they are not blind. */
export function SeenLabel({ run, rollout, verdict }: Pick<LabelButtonsProps, 'run' | 'rollout' | 'verdict'>) {
  const labels = useLabels(run);
  useEffect(() => noteLook(run, rollout), [run, rollout]);
  return (
    <Answered answer={labels}>
      {(page) => <LabelButtons run={run} rollout={rollout} verdict={verdict} isBlind={false} page={page} />}
    </Answered>
  );
}

export function LabelsScreen({ id }: { readonly id: string }) {
  return (
    <>
      <h1>Labels of {id}</h1>
      <p>
        <a href={linkTo('label', id)}>Label rollouts</a> or{' '}
        <a href={linkTo('label', id, { of: 'answers' })}>answers of evaluations</a>, blind and in a shuffled order.
      </p>
      <Answered answer={useLabels(id)}>
        {(page) => (
          <>
            <Agreement page={page} />
            <LeftOut words="Not compared" runs={page.leftOut} />
          </>
        )}
      </Answered>
    </>
  );
}

function Agreement({ page }: { readonly page: LabelsPage }) {
  const labels = lastLabels(page.labels);
  if (labels.length === 0) return <p>Nobody has labelled anything here yet.</p>;
  const isWrong = ({ label, verdict }: LabelledRollout): boolean =>
    label !== 'unsure' && (label === 'hack') !== isHack(verdict);
  return (
    <>
      <TableView table={agreementTable(agreementsOf(page.labels))} />
      <LabelList title="where a person and the oracle disagree" labels={labels.filter(isWrong)} />
      <LabelList title="unsure" labels={labels.filter(({ label }) => label === 'unsure')} />
      <LabelList title="agreed" labels={labels.filter((label) => label.label !== 'unsure' && !isWrong(label))} />
    </>
  );
}

const mostListed = 200;

function labelDoor(run: string, rollout: string): string {
  const answer = parseAnswerId(rollout);
  if (answer === null) return linkTo('rollout', run, { rollout });
  const { set, update, state, problem } = answer;
  return linkTo('answers', run, { set, update, problem, state: state === 'full' ? 'full' : null });
}

function LabelList({ title, labels }: { readonly title: string; readonly labels: readonly LabelledRollout[] }) {
  if (labels.length === 0) return null;
  return (
    <>
      <PageTable
        caption={`${title}: ${labels.length}`}
        heads={['rollout', 'label', 'oracle', 'writer', 'blind']}
        rows={labels.slice(0, mostListed).map(({ run, rollout, label, verdict, writer, blind }) => [
          <a href={labelDoor(run, rollout)}>
            {run} {rollout}
          </a>,
          label,
          verdict,
          writer,
          blind ? 'yes' : 'no',
        ])}
      />
      {labels.length > mostListed && <p class="quiet">The first {mostListed}; gq measure labels --json has all.</p>}
    </>
  );
}
