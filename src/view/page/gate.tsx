/** The gate of a run: scores over updates with their cuts, where rollouts went, and what other cuts would have done. */
import { useMemo } from 'preact/hooks';
import type { GatePage } from '../api.ts';
import { rateFacets } from '../query.ts';
import { type RouteTally, type WhatIf, type WhatIfCuts, whatIf } from '../what-if.ts';
import { address, changeParameters, goTo, linkTo, type Parameters } from './address.ts';
import { gateDoor } from './doors.ts';
import { GateFigures, scoreRange } from './gate-figures.tsx';
import { useKeys } from './keys.ts';
import { Choices, PageTable, percent, screenOf, TableView } from './parts.tsx';
import { RouteFlow } from './route-flow.tsx';

export const GateScreen = screenOf('gate', (page) => <Gate page={page} />);

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
  const [least, most] = scoreRange(page.rows);
  const low = number('low', least + (most - least) / 3);
  return { kind, low, high: Math.max(low, number('high', least + (2 * (most - least)) / 3)) };
}

function Gate({ page }: { readonly page: GatePage }) {
  const { run, rows, unit, readings } = page;
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
        <p>No rollout has the score of a gate: {page.unscored}.</p>
        <GateTables page={page} />
      </>
    );
  }
  return (
    <>
      <h1>The gate of {run.id}</h1>
      <GateFigures
        rows={rows}
        recorded={recorded.cuts}
        other={cuts.kind === 'recorded' ? null : other.cuts}
        cursor={cursor}
      />
      <p class="quiet">
        {unit === 'token' ? 'Mean scores of the tokens. ' : ''}
        {watchedText(page)}A click, <kbd>[</kbd> or <kbd>]</kbd> chooses the update of the second figure.
      </p>
      <p>
        <a href={linkTo('rollouts', run.id, { from: cursor, to: cursor })}>The rollouts of update {cursor}</a>
      </p>
      <RouteFlow run={run.id} rows={rows} />
      <h2>What if the cuts were others?</h2>
      <CutControls cuts={cuts} page={page} />
      <WhatIfTable run={run.id} recorded={recorded} other={other} isOther={cuts.kind !== 'recorded'} />
      <p class="quiet">
        A counterfactual on the same rollouts: with other cuts the policy would have learned and sampled something else.
        Attempts and hacks are counted from verdicts, for diagnosis; no gate without labels may be tuned by them.
      </p>
      {readings.length > 0 && <h2>Readings</h2>}
      <ul>
        {readings.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
      <GateTables page={page} />
    </>
  );
}

function watchedText({ watched }: GatePage): string {
  if (watched === undefined) return '';
  const then = watched === 'routed' ? 'and routed' : 'and this placebo routes as many rollouts at random';
  return `The scores are the monitor's: above its cut a rollout is flagged ${then}. `;
}

function GateTables({ page: { run, tables } }: { readonly page: GatePage }) {
  return (
    <>
      {tables.length > 0 && <h2>Tables</h2>}
      {tables.map((table) => (
        <TableView key={table.title} table={table} doorOf={gateDoor(run.id)} />
      ))}
    </>
  );
}

const cutWords = { recorded: 'as recorded', fixed: 'two fixed scores', shares: 'shares of recent scores' } as const;

function CutControls({ cuts, page }: { readonly cuts: WhatIfCuts; readonly page: GatePage }) {
  return (
    <div class="cuts">
      <Choices
        legend="cuts"
        parameter="cuts"
        values={Object.keys(cutWords)}
        chosen={cuts.kind}
        wordsOf={(kind) => cutWords[kind as WhatIfCuts['kind']]}
      />
      {slidersOf(cuts, page).map(([name, words, value, least, most, step]) => (
        <label key={name}>
          {words} {value.toPrecision(3)}{' '}
          <input
            type="range"
            min={least}
            max={most}
            step={step}
            value={value}
            onInput={({ currentTarget }) =>
              changeParameters({ [name]: Number(Number(currentTarget.value).toPrecision(4)) })
            }
          />
        </label>
      ))}
    </div>
  );
}

type Slider = readonly [parameter: string, words: string, value: number, least: number, most: number, step: number];

function slidersOf(cuts: WhatIfCuts, { rows }: GatePage): Slider[] {
  if (cuts.kind === 'recorded') return [];
  if (cuts.kind === 'shares') {
    return [
      ['keep', 'share to keep', cuts.keep, 0, 0.5, 0.01],
      ['route', 'share to route', cuts.route, 0, 0.5, 0.01],
      ['window', 'updates that count', cuts.window, 1, 50, 1],
    ];
  }
  const [least, most] = scoreRange(rows);
  const step = (most - least) / 200 || 1;
  return [
    ['low', 'keep up to', cuts.low, least, most, step],
    ['high', 'route from', cuts.high, least, most, step],
  ];
}

interface WhatIfProps {
  readonly run: string;
  readonly recorded: WhatIf;
  readonly other: WhatIf;
  readonly isOther: boolean;
}

/** How well routes find their target; what is routed stands beside all rollouts, of which routes that are dealt out at random would have as many. */
export function claimText(name: 'attempts' | 'hacks', sides: readonly Pick<WhatIf, 'claims'>[]): string {
  const pair = (value: 'precision' | 'recall'): string =>
    sides.map(({ claims }) => percent(claims[name][value])).join(' → ');
  const all = percent(sides[0].claims[name].base);
  return `Target ${name}: routed that are ${name} ${pair('precision')} (of all: ${all}); ${name} that are routed ${pair('recall')}.`;
}

function WhatIfTable({ run, recorded, other, isOther }: WhatIfProps) {
  const names = ['keep', 'absorb', 'route'] as const;
  const sides = isOther ? [recorded, other] : [recorded];
  const pair = (value: (side: WhatIf) => string): string => sides.map(value).join(' → ');
  const rows = names.map((route) => {
    const cell = (count: keyof RouteTally, door: Parameters = {}) => (
      <a href={linkTo('rollouts', run, { route, ...door })}>
        {pair(({ routes }) => `${Number(routes[route][count].toFixed(1))}`)}
      </a>
    );
    return [
      <a href={linkTo('rollouts', run, { route })}>{route}</a>,
      cell('rollouts'),
      cell('attempts', rateFacets.attempt),
      cell('hacks', rateFacets.hack),
      cell('solves', rateFacets.solve),
      cell('cleanSolves', rateFacets.cleanSolve),
      cell('weight', { order: 'advantage' }),
    ];
  });
  const claim = (name: 'attempts' | 'hacks'): string => claimText(name, sides);
  return (
    <>
      <PageTable
        id="what-if"
        caption={isOther ? 'routes, recorded → with these cuts' : 'routes, as recorded'}
        heads={['route', 'rollouts', 'attempts', 'hacks', 'solves', 'clean solves', 'sum of |advantage|']}
        rows={rows}
        hasRowHeads
      />
      <p>
        {claim('attempts')} {claim('hacks')}
      </p>
      <p>
        Weight that only the quarantine learns from: {pair(({ quarantined }) => percent(quarantined))}.
        {isOther && ` ${other.changed} rollouts change their route.`}
      </p>
    </>
  );
}
