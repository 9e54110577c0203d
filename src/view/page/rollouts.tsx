/** Rollouts of a run or an experiment: search by text or regular expression, facets, order; the whole search is the address. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ListedRollout, RolloutList } from '../api.ts';
import { facetNames, facetWord, rolloutOrders, scoreText, verdictWordOf } from '../query.ts';
import { address, changeParameters, goTo, linkTo, type Parameters } from './address.ts';
import { ordered } from './doors.ts';
import { useKeys } from './keys.ts';
import { Answered, Button, ChoiceButtons, Choices, Fold, LeftOut, VerdictMark } from './parts.tsx';
import { placeOf, runWords } from './places.tsx';
import { source, useAnswer } from './source.ts';

const pageRows = 100;

const searchNames = ['text', 'pattern', 'from', 'to', 'order', 'without', ...facetNames];

const searchOf = (parameters: URLSearchParams): URLSearchParams =>
  new URLSearchParams([...parameters].filter(([name, value]) => searchNames.includes(name) && value !== ''));

export function RolloutsScreen({ id }: { readonly id: string }) {
  const search = searchOf(address.value.parameters);
  const ask = (offset: number, isEnough: (list: RolloutList) => boolean) => {
    const query = new URLSearchParams(search);
    query.set('offset', `${offset}`);
    query.set('limit', `${pageRows}`);
    return source.rollouts.list(id, query, isEnough);
  };
  const answer = useAnswer<RolloutList>(`rollouts ${id} ${search}`, id, (show) => ask(0, (list) => !show(list)));
  return (
    <>
      <h1>Rollouts of {id}</h1>
      <SearchForm id={id} />
      <Answered answer={answer}>
        {(list) => (
          <>
            <Fold words="filters">
              <Facets list={list} />
            </Fold>
            <p id="found">
              {list.found} of {list.total} rollouts
              {list.unread > 0 && ` so far, ${list.unread} runs are still to be searched`}
            </p>
            <LeftOutArms />
            <LeftOut words="Not searched" runs={list.leftOut} />
            <Rows key={`${id} ${search}`} id={id} first={list} ask={(offset) => ask(offset, () => true)} />
          </>
        )}
      </Answered>
    </>
  );
}

function LeftOutArms() {
  const arms = address.value.parameters.get('without') ?? '';
  if (arms === '') return null;
  return (
    <p>
      Without {arms.replaceAll(',', ', ')}: placebos disagree by design.{' '}
      <Button words="show them too" press={() => changeParameters({ without: null })} />
    </p>
  );
}

function SearchForm({ id }: { readonly id: string }) {
  const { parameters } = address.value;
  const { experiment, run } = placeOf(id);
  const placebos = run === undefined ? (experiment?.placebos ?? []) : [];
  const field = useRef<HTMLInputElement>(null);
  const cleared: Parameters = Object.fromEntries(searchNames.map((name) => [name, null]));
  const step = (by: number) => {
    const at = Math.max(1, Number(parameters.get('from') ?? 1) + by);
    changeParameters({ from: at, to: at });
  };
  useKeys({
    '/': () => field.current?.focus(),
    Escape: () => changeParameters(cleared),
    '[': () => step(-1),
    ']': () => step(1),
  });
  const change = (name: string) => (event: { readonly currentTarget: { readonly value: string } }) =>
    changeParameters({ [name]: event.currentTarget.value });
  const number = (name: 'from' | 'to', words: string) => (
    <label>
      {words} <input type="number" min="1" value={parameters.get(name) ?? ''} onChange={change(name)} />
    </label>
  );
  return (
    <form class="search" role="search" onSubmit={(event) => event.preventDefault()}>
      <label>
        text{' '}
        <input ref={field} type="search" size={30} value={parameters.get('text') ?? ''} onChange={change('text')} />
      </label>
      <label>
        <input
          type="checkbox"
          checked={parameters.get('pattern') === '1'}
          onChange={(event) => changeParameters({ pattern: event.currentTarget.checked ? '1' : null })}
        />{' '}
        regular expression
      </label>
      {number('from', 'updates from')}
      {number('to', 'to')}
      <label>
        order{' '}
        <select
          value={parameters.get('order') ?? 'update'}
          onChange={({ currentTarget }) => changeParameters(ordered(currentTarget.value, parameters, placebos))}
        >
          {rolloutOrders.map((order) => (
            <option key={order} value={order}>
              {order}
            </option>
          ))}
        </select>
      </label>
      <Button words="clear" press={() => changeParameters(cleared)} />
    </form>
  );
}

const mostValues = 16;

function Facets({ list }: { readonly list: RolloutList }) {
  const { parameters } = address.value;
  return (
    <div class="facets">
      {facetNames.map((name) => {
        const counts = list.facets[name] ?? {};
        const chosen = parameters.get(name);
        const values = Object.keys(counts);
        const first = values.filter((value, i) => i < mostValues || value === chosen);
        const rest = values.filter((value) => !first.includes(value));
        const choice = {
          ...{ parameter: name, chosen, countOf: (value: string) => counts[value] },
          wordsOf: (value: string) => facetWord(name, value),
        };
        return (
          <Choices key={name} legend={name} values={first} isOptional {...choice}>
            {rest.length > 0 && (
              <details>
                <summary>{rest.length} more</summary>
                <ChoiceButtons values={rest} isOptional {...choice} />
              </details>
            )}
          </Choices>
        );
      })}
    </div>
  );
}

interface RowsProps {
  readonly id: string;
  readonly first: RolloutList;
  readonly ask: (offset: number) => Promise<RolloutList>;
}

const [rowHeight, viewHeight, beyond] = [44, 560, 6];

/** Of any number of rows only those in sight, and a few beyond them, are on the page; their pages are asked for as they come into sight. */
function Rows({ id, first: { found: count, unread, ...first }, ask }: RowsProps) {
  const [pages, setPages] = useState<ReadonlyMap<number, RolloutList['rows']>>(new Map([[0, first.rows]]));
  const [top, setTop] = useState(0);
  const [chosen, setChosen] = useState(-1);
  const asked = useRef(new Set([0]));
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    asked.current = new Set([0]);
    setPages(new Map([[0, first.rows]]));
  }, [first.rows]);
  const from = Math.max(0, top - beyond);
  const to = Math.min(count, top + Math.ceil(viewHeight / rowHeight) + 1 + beyond);
  useEffect(() => {
    for (let page = Math.floor(from / pageRows); page * pageRows < to; page++) {
      if (asked.current.has(page)) continue;
      asked.current.add(page);
      void ask(page * pageRows).then(({ rows }) => setPages((known) => new Map([...known, [page, rows]])));
    }
  });
  useEffect(() => {
    const [element, at] = [place.current, chosen * rowHeight];
    if (element === null || chosen < 0) return;
    const lowest = at + rowHeight - element.clientHeight;
    element.scrollTop = Math.max(lowest, Math.min(at, element.scrollTop));
  }, [chosen]);
  const rowAt = (index: number): ListedRollout | undefined =>
    pages.get(Math.floor(index / pageRows))?.[index % pageRows];
  useKeys({
    j: () => setChosen(Math.min(count - 1, chosen + 1)),
    k: () => setChosen(Math.max(0, chosen - 1)),
    Enter: () => {
      const row = rowAt(chosen);
      if (row !== undefined) goTo('rollout', row.run, { rollout: row.id });
    },
  });
  if (count === 0) return <p>{unread > 0 ? 'None yet.' : 'No rollout is like that.'}</p>;
  const scroll = () => setTop(Math.floor((place.current?.scrollTop ?? 0) / rowHeight));
  return (
    <div class="virtual" ref={place} tabIndex={0} role="region" aria-label={`rollouts of ${id}`} onScroll={scroll}>
      <ol style={{ height: `${count * rowHeight}px` }}>
        {Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i).map((index) => (
          <li
            key={index}
            class={index === chosen ? 'at' : ''}
            style={{ top: `${index * rowHeight}px`, height: `${rowHeight}px` }}
            aria-setsize={count}
            aria-posinset={index + 1}
          >
            <Row row={rowAt(index)} />
          </li>
        ))}
      </ol>
    </div>
  );
}

function Row({ row }: { readonly row: ListedRollout | undefined }) {
  if (row === undefined) return <span class="quiet">reading…</span>;
  const { run } = placeOf(row.run);
  return (
    <a class="rollout" href={linkTo('rollout', row.run, { rollout: row.id })}>
      <span class="name">
        {run === undefined ? row.run : runWords(run)}, {row.id}
      </span>
      <VerdictMark word={verdictWordOf(row)} />
      <span class={`route-${row.route ?? 'none'}`}>{row.route ?? 'no route'}</span>
      <span class="quiet">
        reward {row.reward.toPrecision(3)}, advantage {row.advantage.toPrecision(3)}, score {scoreText(row)}
      </span>
      <code>{row.excerpt}</code>
    </a>
  );
}
