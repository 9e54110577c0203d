/** Rollouts of a run or an experiment: search by text or regular expression, facets, order; the whole search is the address. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ListedRollout, RolloutList } from '../api.ts';
import { facetNames, rolloutOrders, verdictWordOf } from '../query.ts';
import { address, changeParameters, goTo, linkTo, type Parameters } from './address.ts';
import { useKeys } from './keys.ts';
import { Answered, Button, ChoiceButtons, Choices, LeftOut } from './parts.tsx';
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
      <SearchForm />
      <Answered answer={answer}>
        {(list) => (
          <>
            <Facets list={list} />
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

/** Placebos disagree with the grader by design, and would fill a list of disagreements. */
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

function SearchForm() {
  const { parameters } = address.value;
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
        <select value={parameters.get('order') ?? 'update'} onChange={change('order')}>
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
        const choice = { parameter: name, chosen, countOf: (value: string) => counts[value] };
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

function Rows({ id, first, ask }: RowsProps) {
  const [pages, setPages] = useState<ReadonlyMap<number, RolloutList>>(new Map([[0, first]]));
  const chosen = useSignal(-1);
  const asked = useRef(new Set([0]));
  useEffect(() => {
    asked.current = new Set([0]);
    setPages(new Map([[0, first]]));
  }, [first]);
  const load = (from: number, to: number) => {
    for (let page = Math.floor(from / pageRows); page * pageRows < Math.min(to, first.found); page++) {
      if (asked.current.has(page)) continue;
      asked.current.add(page);
      void ask(page * pageRows).then((list) => setPages((known) => new Map([...known, [page, list]])));
    }
  };
  const rowAt = (index: number): ListedRollout | undefined =>
    pages.get(Math.floor(index / pageRows))?.rows[index % pageRows];
  useKeys({
    j: () => {
      chosen.value = Math.min(first.found - 1, chosen.value + 1);
    },
    k: () => {
      chosen.value = Math.max(0, chosen.value - 1);
    },
    Enter: () => {
      const row = rowAt(chosen.value);
      if (row !== undefined) goTo('rollout', row.run, { rollout: row.id });
    },
  });
  if (first.found === 0) return <p>{first.unread > 0 ? 'None yet.' : 'No rollout is like that.'}</p>;
  return (
    <VirtualList
      count={first.found}
      rowHeight={44}
      label={`rollouts of ${id}`}
      chosen={chosen.value}
      onRange={load}
      itemAt={rowAt}
      show={(row) => <Row row={row} />}
    />
  );
}

function Row({ row }: { readonly row: ListedRollout | undefined }) {
  if (row === undefined) return <span class="quiet">reading…</span>;
  const number = (value: number | null): string => (value === null ? '-' : value.toPrecision(3));
  return (
    <a class="rollout" href={linkTo('rollout', row.run, { rollout: row.id })}>
      <span class="name">
        {row.run.slice(row.run.lastIndexOf('/') + 1)} {row.id}
      </span>
      <span class={`outcome ${row.hack ? 'hack' : ''}`}>{verdictWordOf(row)}</span>
      <span class={`route-${row.route ?? 'none'}`}>{row.route ?? 'no route'}</span>
      <span class="quiet">
        reward {number(row.reward)}, advantage {number(row.advantage)}, score {number(row.score)}
      </span>
      <code>{row.excerpt}</code>
    </a>
  );
}

interface VirtualListProps<Item> {
  readonly count: number;
  readonly rowHeight: number;
  readonly label: string;
  readonly chosen: number;
  readonly onRange: (first: number, last: number) => void;
  readonly itemAt: (index: number) => Item | undefined;
  readonly show: (item: Item | undefined) => ComponentChildren;
}

const beyond = 6;
const viewHeight = 560;

function VirtualList<Item>(props: VirtualListProps<Item>) {
  const { count, rowHeight, label, chosen, onRange, itemAt, show } = props;
  const place = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const first = Math.max(0, top - beyond);
  const last = Math.min(count, top + Math.ceil(viewHeight / rowHeight) + 1 + beyond);
  useEffect(() => onRange(first, last));
  useEffect(() => {
    const element = place.current;
    if (element === null || chosen < 0) return;
    const at = chosen * rowHeight;
    if (at < element.scrollTop) element.scrollTop = at;
    if (at + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = at + rowHeight - element.clientHeight;
  }, [chosen, rowHeight]);
  const indices = Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i);
  return (
    <div
      class="virtual"
      ref={place}
      tabIndex={0}
      role="region"
      aria-label={label}
      onScroll={() => setTop(Math.floor((place.current?.scrollTop ?? 0) / rowHeight))}
    >
      <ol style={{ height: `${count * rowHeight}px` }}>
        {indices.map((index) => (
          <li
            key={index}
            class={index === chosen ? 'at' : ''}
            style={{ top: `${index * rowHeight}px`, height: `${rowHeight}px` }}
            aria-setsize={count}
            aria-posinset={index + 1}
          >
            {show(itemAt(index))}
          </li>
        ))}
      </ol>
    </div>
  );
}
