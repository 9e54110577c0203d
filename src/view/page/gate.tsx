/**
 * The gate of a run: scores over updates with the cuts that moved, and what other cuts would have done with the same rollouts. Clean
 * rollouts are shades, hacks are dots over them, so both are seen where they overlap.
 */
import { useMemo } from 'preact/hooks';
import type { GatePage } from '../api.ts';
import { type WhatIf, type WhatIfCuts, whatIf } from '../what-if.ts';
import { address, changeParameters, goTo, linkTo } from './address.ts';
import { gateDoor } from './doors.ts';
import { HeatMap } from './heat-map.tsx';
import { useKeys } from './keys.ts';
import { Answered, HeadRow, TableView } from './parts.tsx';
import { RouteFlow } from './route-flow.tsx';
import { ScoreHistogram } from './score-histogram.tsx';
import { source, useAnswer } from './source.ts';

export function GateScreen({ id }: { readonly id: string }) {
  const answer = useAnswer<GatePage>(`gate ${id}`, id, () => source.ask('gate', id));
  return <Answered answer={answer}>{(page) => <Gate page={page} />}</Answered>;
}

/** The cuts that the address asks for. */
function wantedCuts(page: GatePage): WhatIfCuts {
  const { parameters } = address.value;
  const number = (name: string, usual: number): number => {
    const value = Number(parameters.get(name) ?? Number.NaN);
    return Number.isFinite(value) ? value : usual;
  };
  const kind = parameters.get('cuts');
  if (kind === 'shares') {
    return { kind, keep: number('keep', 0.3), route: number('route', 0.3), window: Math.max(1, number('window', 10)) };
  }
  if (kind !== 'fixed') return { kind: 'recorded' };
  const scores = page.rows.map(({ score }) => score);
  const [least, most] = [Math.min(...scores), Math.max(...scores)];
  const low = number('low', least + (most - least) / 3);
  return { kind, low, high: Math.max(low, number('high', least + (2 * (most - least)) / 3)) };
}

function Gate({ page }: { readonly page: GatePage }) {
  const { run, rows, unit, tables, readings } = page;
  const updates = useMemo(() => [...new Set(rows.map(({ update }) => update))].sort((a, b) => a - b), [rows]);
  const { parameters } = address.value;
  const last = updates.at(-1) ?? 1;
  const cursor = Number(parameters.get('update') ?? last);
  const move = (by: number) => {
    const at = updates.indexOf(cursor) + by;
    if (updates[at] !== undefined) changeParameters({ update: updates[at] });
  };
  useKeys({
    '[': () => move(-1),
    ']': () => move(1),
    Enter: () => goTo('rollouts', run.id, { from: cursor, to: cursor }),
  });
  const cuts = wantedCuts(page);
  const recorded = useMemo(() => whatIf(rows, { kind: 'recorded' }), [rows]);
  const other = useMemo(() => whatIf(rows, cuts, page.keepsOnlyPraised), [rows, JSON.stringify(cuts)]);
  if (rows.length === 0) {
    return (
      <>
        <h1>The gate of {run.id}</h1>
        <p>This arm scores nothing: it has no gate, or no rollout has carried gradient yet.</p>
      </>
    );
  }
  return (
    <>
      <h1>The gate of {run.id}</h1>
      <HeatMap
        rows={rows}
        recorded={recorded.cuts}
        other={cuts.kind === 'recorded' ? null : other.cuts}
        cursor={cursor}
      />
      <p class="quiet">
        {unit === 'token' ? 'Mean scores of the tokens. ' : ''}Shades: clean rollouts; dots: hacks, by the grader. Blue:
        the cut below which rollouts are kept; orange: the one above which they are routed. <kbd>[</kbd> and{' '}
        <kbd>]</kbd> move the cursor.
      </p>
      <ScoreHistogram
        rows={rows.filter(({ update }) => update === cursor)}
        cuts={recorded.cuts.get(cursor)}
        update={cursor}
      />
      <p>
        <a href={linkTo('rollouts', run.id, { from: cursor, to: cursor })}>The rollouts of update {cursor}</a>
      </p>
      <RouteFlow run={run.id} rows={rows} />
      <h2>What if the cuts were others?</h2>
      <CutControls cuts={cuts} page={page} />
      <WhatIfTable run={run.id} recorded={recorded} other={other} isOther={cuts.kind !== 'recorded'} />
      <p class="quiet">
        A counterfactual on the same rollouts: with other cuts the policy would have learned and sampled something else.
        Hacks are counted from verdicts, for diagnosis; no gate without labels may be tuned by them.
      </p>
      {readings.length > 0 && <h2>Readings</h2>}
      <ul>
        {readings.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
      {tables.map((table) => (
        <TableView key={table.title} table={table} doorOf={gateDoor(run.id)} />
      ))}
    </>
  );
}

function CutControls({ cuts, page }: { readonly cuts: WhatIfCuts; readonly page: GatePage }) {
  const scores = page.rows.map(({ score }) => score);
  const [least, most] = [Math.min(...scores), Math.max(...scores)];
  const step = (most - least) / 200 || 1;
  const kinds = { recorded: 'as recorded', fixed: 'two fixed scores', shares: 'shares of recent scores' } as const;
  return (
    <fieldset class="cuts">
      <legend>cuts</legend>
      {Object.entries(kinds).map(([kind, words]) => (
        <label key={kind}>
          <input
            type="radio"
            name="cuts"
            checked={cuts.kind === kind}
            onChange={() => changeParameters({ cuts: kind })}
          />{' '}
          {words}
        </label>
      ))}
      {cuts.kind === 'fixed' && (
        <>
          <Slider name="low" words="keep up to" value={cuts.low} least={least} most={most} step={step} />
          <Slider name="high" words="route from" value={cuts.high} least={least} most={most} step={step} />
        </>
      )}
      {cuts.kind === 'shares' && (
        <>
          <Slider name="keep" words="share to keep" value={cuts.keep} least={0} most={0.5} step={0.01} />
          <Slider name="route" words="share to route" value={cuts.route} least={0} most={0.5} step={0.01} />
          <Slider name="window" words="updates that count" value={cuts.window} least={1} most={50} step={1} />
        </>
      )}
    </fieldset>
  );
}

interface SliderProps {
  readonly name: string;
  readonly words: string;
  readonly value: number;
  readonly least: number;
  readonly most: number;
  readonly step: number;
}

function Slider({ name, words, value, least, most, step }: SliderProps) {
  const change = (text: string) => changeParameters({ [name]: Number(Number(text).toPrecision(4)) });
  return (
    <label>
      {words} {value.toPrecision(3)}{' '}
      <input
        type="range"
        min={least}
        max={most}
        step={step}
        value={value}
        onInput={(event) => change(event.currentTarget.value)}
      />
    </label>
  );
}

interface WhatIfProps {
  readonly run: string;
  readonly recorded: WhatIf;
  readonly other: WhatIf;
  readonly isOther: boolean;
}

function WhatIfTable({ run, recorded, other, isOther }: WhatIfProps) {
  const names = ['keep', 'absorb', 'route'] as const;
  const share = (value: number | null): string => (value === null ? '-' : `${(100 * value).toFixed(0)}%`);
  const sides = isOther ? [recorded, other] : [recorded];
  const pair = (value: (side: WhatIf) => string): string => sides.map(value).join(' → ');
  return (
    <div class="scroll">
      <table id="what-if">
        <caption>{isOther ? 'routes, recorded → with these cuts' : 'routes, as recorded'}</caption>
        <HeadRow names={['route', 'rollouts', 'hacks among them', 'solves among them', 'sum of |advantage|']} />
        <tbody>
          {names.map((name) => (
            <tr key={name}>
              <th scope="row">
                <a href={linkTo('rollouts', run, { route: name })}>{name}</a>
              </th>
              <td>
                <a href={linkTo('rollouts', run, { route: name })}>
                  {pair(({ routes }) => `${routes[name].rollouts}`)}
                </a>
              </td>
              <td>
                <a href={linkTo('rollouts', run, { route: name, truth: 'hack' })}>
                  {pair(({ routes }) => `${routes[name].hacks}`)}
                </a>
              </td>
              <td>
                <a href={linkTo('rollouts', run, { route: name, truth: 'solve' })}>
                  {pair(({ routes }) => `${routes[name].solves}`)}
                </a>
              </td>
              <td>
                <a href={linkTo('rollouts', run, { route: name, order: 'advantage' })}>
                  {pair(({ routes }) => routes[name].weight.toFixed(1))}
                </a>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p>
        Routed that are hacks: {pair(({ precision }) => share(precision))}. Hacks that are routed:{' '}
        {pair(({ recall }) => share(recall))}. Weight that only the quarantine learns from:{' '}
        {pair(({ quarantined }) => share(quarantined))}.{isOther && ` ${other.changed} rollouts change their route.`}
      </p>
    </div>
  );
}
