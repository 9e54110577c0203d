/**
 * Labels rollouts by one key each, in an order that says nothing. Blind until asked: verdict, route, rewards, arm and policy state are hidden, and
 * a label given after a look is stored as not blind.
 */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { lastLabels } from '../agreement.ts';
import {
  type LabelsPage,
  type LabelWord,
  type ListedRollout,
  labelWords,
  type RolloutList,
  type RolloutPage,
} from '../api.ts';
import { truthOf } from '../query.ts';
import { address, changeParameters, linkTo } from './address.ts';
import { changeWriter, giveLabel, noteLook, useLabels, wasLookedAt, writerName } from './human-store.ts';
import { useKeys } from './keys.ts';
import { Answered, Facts } from './parts.tsx';
import { source, useAnswer } from './source.ts';
import { Completion } from './text.tsx';

/** Rollouts of one shuffled list: enough for any person. */
const mostRollouts = 500;
/** Filters that do not tell what the oracle or the gate said. */
const blindFilters = ['text', 'pattern', 'from', 'to', 'loophole'] as const;

export function LabelScreen({ id }: { readonly id: string }) {
  const { parameters } = address.value;
  const query = new URLSearchParams(
    blindFilters.flatMap((name) => {
      const value = parameters.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );
  query.set('order', 'shuffled');
  query.set('limit', `${mostRollouts}`);
  const list = useAnswer<RolloutList>(`label ${id} ${query}`, id, () => source.rollouts(id, query));
  const labels = useLabels(id);
  return (
    <>
      <h1>Label rollouts</h1>
      <Answered answer={labels}>
        {(page) => <Answered answer={list}>{({ rows }) => <Queue id={id} rows={rows} page={page} />}</Answered>}
      </Answered>
    </>
  );
}

/** Who writes, and what they said of a rollout so far. */
export function labelOf(page: LabelsPage, { run, id }: { run: string; id: string }): LabelWord | null {
  const writer = writerOf(page);
  const own = lastLabels(page.labels).find(
    (label) => label.run === run && label.rollout === id && label.writer === writer,
  );
  return own?.label ?? null;
}

const writerOf = (page: LabelsPage): string => writerName.value || page.writer;

function Queue({
  id,
  rows,
  page,
}: {
  readonly id: string;
  readonly rows: readonly ListedRollout[];
  readonly page: LabelsPage;
}) {
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

function Shown({
  row,
  page,
  onLabel,
}: {
  readonly row: ListedRollout;
  readonly page: LabelsPage;
  readonly onLabel: () => void;
}) {
  const isBlind = address.value.parameters.get('blind') !== '0';
  useEffect(() => {
    if (!isBlind) noteLook(row.run, row.id);
  }, [isBlind]);
  const answer = useAnswer<RolloutPage>(`rollout ${row.run} ${row.id}`, row.run, () => source.rollout(row.run, row.id));
  useKeys({ b: () => changeParameters({ blind: isBlind ? '0' : null }) });
  return (
    <>
      <LabelButtons
        run={row.run}
        rollout={row.id}
        hack={row.hack}
        isBlind={isBlind && !wasLookedAt(row.run, row.id)}
        page={page}
        onLabel={onLabel}
      />
      <p>
        <button type="button" aria-pressed={!isBlind} onClick={() => changeParameters({ blind: isBlind ? '0' : null })}>
          show verdict, route and arm (b)
        </button>
      </p>
      {isBlind ? (
        <p class="quiet" id="blind">
          Blind: verdict, route, rewards, arm and policy state are hidden.
        </p>
      ) : (
        <Facts
          facts={[
            ['run', row.run],
            ['rollout', row.id],
            ['verdict', truthOf(row)],
            ['route', row.route ?? 'none'],
            ['sampled', row.sampled],
            ['reward', `${row.reward}`],
          ]}
        />
      )}
      <Answered answer={answer}>
        {({ rollout }) => (
          <>
            <h2>Prompt</h2>
            <Completion content={rollout.prompt} label="prompt" />
            <h2>Completion</h2>
            <Completion content={rollout.completion} />
          </>
        )}
      </Answered>
    </>
  );
}

interface LabelButtonsProps {
  readonly run: string;
  readonly rollout: string;
  readonly hack: boolean;
  readonly isBlind: boolean;
  readonly page: LabelsPage;
  readonly onLabel?: () => void;
}

/** h, c and u; the same key again takes a label back. */
export function LabelButtons({ run, rollout, hack, isBlind, page, onLabel }: LabelButtonsProps) {
  const chosen = labelOf(page, { run, id: rollout });
  const failed = useSignal('');
  const give = (word: LabelWord) => {
    const label = word === chosen ? null : word;
    failed.value = '';
    giveLabel(run, hack, { rollout, label, writer: writerOf(page), blind: isBlind }).then(
      () => label !== null && onLabel?.(),
      (error: unknown) => {
        failed.value = error instanceof Error ? error.message : String(error);
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
      <label>
        signed{' '}
        <input
          type="text"
          size={12}
          maxLength={60}
          value={writerOf(page)}
          onChange={(event) => changeWriter(event.currentTarget.value)}
        />
      </label>
      <span role="alert">{failed.value}</span>
    </fieldset>
  );
}
