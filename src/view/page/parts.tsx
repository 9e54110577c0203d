/** Parts that several screens have: states of an answer, rates, tables that can be copied, figures with their numbers. */
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { type Figure, numbersOf, renderFigure, renderTable, type Table, textOf } from '../../report/draw/index.ts';
import type { ListedRun } from '../api.ts';
import { linkTo, shownState, stateWords } from './address.ts';
import type { Door } from './doors.ts';
import type { Answer } from './source.ts';

/** What to show of an answer that may not be there yet. */
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

export function StatusMark({ status }: { readonly status: ListedRun['status'] }) {
  return <span class={`status ${status.replace(' ', '-')}`}>{status}</span>;
}

export function Percent({ rate }: { readonly rate: number | null }) {
  return <>{rate === null ? '-' : `${(100 * rate).toFixed(0)}%`}</>;
}

/** What is known of a run or a rollout, by name. */
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

/** The head of a table whose columns have fixed names. */
export function HeadRow({ names }: { readonly names: readonly string[] }) {
  return (
    <thead>
      <tr>
        {names.map((name) => (
          <th scope="col" key={name}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
  );
}

/** Says which policy state is shown, and how to see the other. */
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

interface TableViewProps {
  readonly table: Table;
  readonly doorOf?: Door;
}

export function TableView({ table, doorOf = () => null }: TableViewProps) {
  const [copied, setCopied] = useState('');
  const copy = async (format: (typeof copyFormats)[number]) => {
    await navigator.clipboard.writeText(renderTable(table, format));
    setCopied(format);
  };
  return (
    <div class="table">
      <div class="scroll">
        <table>
          <caption>{table.title}</caption>
          <thead>
            <tr>
              {table.columns.map((column, i) =>
                // A head without a name would be read out as one.
                column === '' ? (
                  <td key={`${i}`} />
                ) : (
                  <th scope="col" key={`${i} ${column}`}>
                    {column}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody>
            {table.rows.map((row, i) => (
              <tr key={`${i} ${textOf(row[0])}`}>
                {row.map((cell, column) => (
                  <td key={`${column} ${textOf(cell)}`}>
                    <Cell text={textOf(cell)} door={/\d/.test(textOf(cell)) ? doorOf(row, column) : null} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="copy">
        copy as{' '}
        {copyFormats.map((format) => (
          <button type="button" key={format} onClick={() => void copy(format)}>
            {copied === format ? `${format} copied` : format}
          </button>
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

function Cell({ text, door }: { readonly text: string; readonly door: string | null }) {
  return door === null ? text : <a href={door}>{text}</a>;
}

/** A figure as files have it: drawn by the same code, every text in it escaped there. The table beside it has its numbers. */
export function FigureView({ figure, doorOf }: { readonly figure: Figure; readonly doorOf?: Door }) {
  const drawn = useMemo(() => ({ __html: renderFigure(figure) }), [figure]);
  const { rows } = figure.data;
  return (
    <figure id={`figure-${figure.name}`}>
      <div class="paper" dangerouslySetInnerHTML={drawn} />
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
  return (
    <span class="links">
      <a href={linkTo('run', run.id)}>run</a> <a href={linkTo('gate', run.id)}>gate</a>{' '}
      <a href={linkTo('answers', run.id)}>answers</a> <a href={linkTo('rollouts', run.id)}>rollouts</a>{' '}
      <a href={linkTo('labels', run.id)}>labels</a>
    </span>
  );
}

/** The colour of an arm, as in every figure. */
export function ArmKey({
  style: { colour, dash },
}: {
  readonly style: { readonly colour: string; readonly dash?: string };
}) {
  return (
    <svg class="paper key" width="22" height="8" aria-hidden="true">
      <path d="M1 4L21 4" stroke={colour} stroke-width="3" stroke-dasharray={dash ?? 'none'} />
    </svg>
  );
}

/** How long ago, in one unit. */
export function ago(time: number | null): string {
  if (time === null) return 'never';
  const seconds = Math.max(0, (Date.now() - time) / 1000);
  if (seconds < 90) return `${Math.round(seconds)} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  return seconds < 129_600 ? `${Math.round(seconds / 3600)} h ago` : `${Math.round(seconds / 86_400)} days ago`;
}
