/** Parts that several screens have: states of an answer, rates, choices, tables that can be copied, figures with their numbers. */
import { signal } from '@preact/signals';
import type { ComponentChildren, HTMLAttributes } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Figure, Table } from '../../report/draw/index.ts';
import { armStyle, numbersOf, renderFigure, renderTable, textOf } from '../../report/draw/index.ts';
import type { Answers, ListedRun, RolloutList } from '../api.ts';
import type { VerdictWord } from '../query.ts';
import { changeParameters, linkTo, shownState, stateWords } from './address.ts';
import type { Door } from './doors.ts';
import { type Answer, useAsked } from './source.ts';

export function screenOf<Kind extends keyof Answers>(kind: Kind, show: (page: Answers[Kind]) => ComponentChildren) {
  return function AskedScreen({ id }: { readonly id: string }) {
    return <Answered answer={useAsked(kind, id)}>{show}</Answered>;
  };
}

export function Answered<Value>(props: {
  readonly answer: Answer<Value>;
  readonly children: (value: Value) => ComponentChildren;
}) {
  const { value, error } = props.answer;
  if (error !== null) {
    return (
      <p class="trouble" role="alert">
        {error}
      </p>
    );
  }
  return value === null ? <p class="quiet">reading…</p> : props.children(value);
}

/** Runs that are not in what is shown, and why. */
export function LeftOut({ words, runs = [] }: { readonly words: string; readonly runs?: RolloutList['leftOut'] }) {
  return runs.map(({ run, why }) => (
    <p class="trouble" key={run}>
      {words}: {run}. {why}
    </p>
  ));
}

export function Button({ words, press }: { readonly words: ComponentChildren; readonly press: () => void }) {
  return <button type="button" onClick={press} children={words} />;
}

export function StatusMark({ status }: { readonly status: ListedRun['status'] }) {
  return <span class={`status ${status.replace(' ', '-')}`}>{status}</span>;
}

/** Why a run has no rates. */
export function NotEvaluated({ run: { id, status, update, updates } }: { readonly run: ListedRun }) {
  const call = (
    <>
      <code>npx gq eval {id}</code>, typed in the folder that has {id.split('/')[0]}
    </>
  );
  return status === 'running' ? (
    <p class="quiet">
      In progress, at update {update} of {updates}: its experiment evaluates it at the end; without one, {call}.
    </p>
  ) : (
    <p class="quiet">Not evaluated yet: {call}.</p>
  );
}

/** What became of a rollout, with its mark. */
export function VerdictMark({ word }: { readonly word: VerdictWord }) {
  return <span class={`verdict ${word.replace(/,? /, '-')}`}>{word}</span>;
}

export const percent = (rate: number | null): string => (rate === null ? '-' : `${(100 * rate).toFixed(0)}%`);

export function Facts({ facts }: { readonly facts: readonly (readonly [string, string])[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface PageTableProps {
  readonly caption: ComponentChildren;
  readonly heads: readonly ComponentChildren[];
  readonly rows: readonly (readonly ComponentChildren[])[];
  readonly id?: string;
  readonly hasRowHeads?: boolean;
  readonly classOf?: (row: number) => string;
}

export function PageTable({ caption, heads, rows, id, hasRowHeads = false, classOf = () => '' }: PageTableProps) {
  return (
    // Who has no mouse scrolls by keys, and needs it to be focused.
    <div class="scroll" tabIndex={0}>
      <table id={id}>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {/* A head without a name would be read out as one. */}
            {heads.map((head, i) => (head === '' ? <td key={i} /> : <th scope="col" key={i} children={head} />))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, i) => (
            <tr key={i} class={classOf(i)}>
              {cells.map((cell, column) => {
                const isHead = hasRowHeads && column === 0;
                return isHead ? <th scope="row" key={column} children={cell} /> : <td key={column}>{cell}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface ChoicesProps {
  readonly legend: string;
  readonly parameter: string;
  readonly values: readonly string[];
  readonly chosen: string | null;
  readonly wordsOf?: (value: string) => string;
  readonly countOf?: (value: string) => number | undefined;
  readonly isOptional?: boolean;
  readonly without?: readonly string[];
  readonly children?: ComponentChildren;
}

export function Choices({ legend, children, ...choice }: ChoicesProps) {
  if (choice.values.length < 2 && choice.chosen === null) return null;
  return (
    <fieldset>
      <legend>{legend}</legend>
      <ChoiceButtons {...choice} />
      {children}
    </fieldset>
  );
}

export function ChoiceButtons(choice: Omit<ChoicesProps, 'legend' | 'children'>) {
  const { parameter, values, chosen, wordsOf = (value) => value, countOf, isOptional = false, without = [] } = choice;
  const dropped = Object.fromEntries(without.map((name) => [name, null]));
  const choose = (value: string) =>
    changeParameters({ ...dropped, [parameter]: isOptional && value === chosen ? null : value });
  return (
    <>
      {values.map((value) => (
        <button
          type="button"
          key={value}
          aria-pressed={value === chosen}
          class={parameter === 'route' ? `route-${value}` : ''}
          onClick={() => choose(value)}
        >
          {wordsOf(value)}
          {countOf !== undefined && ` ${countOf(value)}`}
        </button>
      ))}
    </>
  );
}

export function StateNote() {
  const state = shownState.value;
  const other = state === 'full' ? 'deployed' : 'full';
  return (
    <p class="quiet">
      Shown: <strong>{stateWords[state]}</strong>. Press <kbd>q</kbd> for {stateWords[other]}.
    </p>
  );
}

const copyFormats = ['latex', 'markdown', 'csv'] as const;

type TableViewProps = { readonly table: Table; readonly doorOf?: Door };

export function TableView({ table, doorOf = () => null }: TableViewProps) {
  const [copied, setCopied] = useState('');
  const copy = async (format: (typeof copyFormats)[number]) => {
    await navigator.clipboard.writeText(renderTable(table, format));
    setCopied(format);
  };
  const rows = table.rows.map((row) =>
    row.map((cell, column) => {
      const text = textOf(cell);
      const door = /\d/.test(text) ? doorOf(row, column) : null;
      return door === null ? text : <a href={door}>{text}</a>;
    }),
  );
  return (
    <div class="table">
      <PageTable caption={table.title} heads={table.columns} rows={rows} />
      <p class="copy">
        copy as{' '}
        {copyFormats.map((format) => (
          <Button
            key={format}
            words={copied === format ? `${format} copied` : format}
            press={() => void copy(format)}
          />
        ))}
      </p>
      {(table.notes ?? []).map((note) => (
        <p class="quiet" key={note}>
          {note}
        </p>
      ))}
    </div>
  );
}

const isNarrow = signal(false);

export function followWidth(): void {
  const phone = matchMedia('(max-width: 700px)');
  const look = () => {
    isNarrow.value = phone.matches;
  };
  look();
  phone.addEventListener('change', look);
}

/** On a phone panels stand one above the other. */
export const fitted = (figure: Figure): Figure =>
  isNarrow.value ? { ...figure, columns: 1, panelSize: { width: 340, height: 240 } } : figure;

/** A figure as files have it: drawn by the same code, every text in it escaped there. */
export function Drawing({ figure, ...pointer }: { readonly figure: Figure } & HTMLAttributes<HTMLDivElement>) {
  const drawing = useMemo(() => ({ __html: renderFigure(fitted(figure), true) }), [figure, isNarrow.value]);
  return (
    <>
      <p class="title">{figure.title}</p>
      <div class="paper" dangerouslySetInnerHTML={drawing} {...pointer} />
      {figure.caption !== '' && <p class="quiet">{figure.caption}</p>}
    </>
  );
}

/** Filters: open where there is room for them. */
export function Fold({ words, children }: { readonly words: string; readonly children: ComponentChildren }) {
  return (
    <details class="fold" open={!isNarrow.value}>
      <summary>{words}</summary>
      {children}
    </details>
  );
}

/** A figure with the table of its numbers beside it. */
export function FigureView({ figure, doorOf }: { readonly figure: Figure; readonly doorOf?: Door }) {
  const { rows } = figure.data;
  return (
    <figure id={`figure-${figure.name}`}>
      <Drawing figure={figure} />
      <details>
        <summary>the numbers of “{figure.title}”</summary>
        <TableView table={numbersOf(figure, mostNumbers)} {...(doorOf === undefined ? {} : { doorOf })} />
        {rows.length > mostNumbers && (
          <p class="quiet">
            The first {mostNumbers} of {rows.length} rows; `gq results --figures` writes all.
          </p>
        )}
      </details>
    </figure>
  );
}

const mostNumbers = 200;

export function RunLinks({ run }: { readonly run: ListedRun }) {
  const screens = ['run', ...(run.hasQuarantine ? (['gate'] as const) : []), 'answers', 'rollouts', 'labels'] as const;
  return (
    <span class="links">
      {screens.map((screen) => (
        <a key={screen} href={linkTo(screen, run.id)}>
          {screen}
        </a>
      ))}
    </span>
  );
}

export function ArmKey({ arm }: { readonly arm: number }) {
  const { colour, dash } = armStyle(arm);
  return (
    <svg class="paper key" width="22" height="8" aria-hidden="true">
      <path d="M1 4L21 4" stroke={colour} stroke-width="3" stroke-dasharray={dash ?? 'none'} />
    </svg>
  );
}

export function ago(time: number | null): string {
  if (time === null) return 'never';
  const seconds = Math.max(0, (Date.now() - time) / 1000);
  if (seconds < 90) return `${Math.round(seconds)} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  return seconds < 129_600 ? `${Math.round(seconds / 3600)} h ago` : `${Math.round(seconds / 86_400)} days ago`;
}
