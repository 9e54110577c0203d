/** The held-out matrix: loopholes by arms. A cell opens the answers behind it, a loophole its rollouts of training. */
import type { ExperimentPage, LoopholeMatrix } from '../api.ts';
import { type RateName, rateNote, rateWords } from '../query.ts';
import { address, chosenSet, linkTo, type ShownState, shownState, stateWords } from './address.ts';
import { doorOf, findCell, metricsOf, type ShownKind, shownKinds, tableOf } from './matrix-table.ts';
import { ArmKey, Choices, PageTable, percent, StateNote, screenOf, TableView } from './parts.tsx';

const kindWords: Readonly<Record<ShownKind, string>> = {
  hack: 'attempt and hack',
  solve: 'solve and clean solve',
  difference: 'attempt and hack, difference from the baseline',
};

export const MatrixScreen = screenOf('experiment', (page) => <Matrix page={page} />);

function Matrix({ page }: { readonly page: ExperimentPage }) {
  const { parameters } = address.value;
  const { matrices } = page;
  const matrix = chosenSet(matrices);
  const kind = shownKinds.find((name) => name === parameters.get('show')) ?? 'hack';
  return (
    <>
      <h1>
        Loopholes by arm, <a href={linkTo('experiment', page.id)}>{page.name}</a>
      </h1>
      {matrix === undefined ? (
        <p>Nothing has been evaluated yet.</p>
      ) : (
        <>
          <StateNote />
          <div class="facets">
            <Choices legend="set" parameter="set" values={matrices.map(({ set }) => set)} chosen={matrix.set} />
            <Choices
              legend="shown"
              parameter="show"
              values={shownKinds}
              chosen={kind}
              wordsOf={(name) => kindWords[name as ShownKind]}
            />
          </div>
          <Cells page={page} matrix={matrix} kind={kind} />
          <p class="quiet">
            Mean over seeds with a 95% interval: over prompts for one seed, over seeds for more; then what was counted
            in all seeds. {rateNote} Small: {stateWords[other(shownState.value)]}. A held-out loophole is one that no
            pair of the gate shows. A cell opens its answers, a loophole its rollouts of training.
          </p>
          <TableView table={tableOf(page, matrix, kind)} doorOf={doorOf(page, matrix, kind)} />
        </>
      )}
    </>
  );
}

const other = (state: ShownState): ShownState => (state === 'full' ? 'deployed' : 'full');

type CellsProps = { readonly page: ExperimentPage; readonly matrix: LoopholeMatrix; readonly kind: ShownKind };

function Cells({ page, matrix, kind }: CellsProps) {
  return (
    <PageTable
      id="matrix"
      caption={`${kindWords[kind]}, ${stateWords[shownState.value]}, ${matrix.set}`}
      heads={[
        'loophole',
        ...page.arms.map(({ arm }, i) => (
          <>
            <ArmKey arm={i} /> {arm}
          </>
        )),
      ]}
      rows={matrix.loopholes.map(({ loophole, isHeldOut }) => [
        <>
          <a href={linkTo('rollouts', page.id, { loophole })}>{loophole}</a> {isHeldOut ? 'held out' : 'known'}
        </>,
        ...page.arms.map(({ arm }) => <Cell page={page} matrix={matrix} kind={kind} loophole={loophole} arm={arm} />),
      ])}
      hasRowHeads
      classOf={(row) => (matrix.loopholes[row].isHeldOut ? 'held-out' : '')}
    />
  );
}

function Cell({ page, matrix, kind, loophole, arm }: CellsProps & { readonly loophole: string; readonly arm: string }) {
  const state = shownState.value;
  const cell = findCell(matrix, loophole, arm, state);
  if (cell === undefined) return <>-</>;
  const ghost = findCell(matrix, loophole, arm, other(state));
  const door = linkTo('answers', page.id, { arm, loophole, set: matrix.set });
  const base = findCell(matrix, loophole, page.baseline, state);
  const shown = (metric: RateName): string => {
    if (kind !== 'difference') return percent(cell[metric].rate);
    return base === undefined ? '-' : signed(cell[metric].rate - base[metric].rate);
  };
  return (
    <a class="cell" href={door}>
      {metricsOf(kind).map((metric) => {
        const { count, of, low, high } = cell[metric];
        return (
          <div key={metric}>
            {rateWords[metric]} <strong>{shown(metric)}</strong>{' '}
            {kind !== 'difference' && `[${percent(low)}, ${percent(high)}]`}{' '}
            <span class="quiet">
              {count} of {of}
              {ghost !== undefined && `; ${stateWords[ghost.state]} ${percent(ghost[metric].rate)}`}
            </span>
          </div>
        );
      })}
    </a>
  );
}

const signed = (difference: number): string => `${difference < 0 ? '−' : '+'}${percent(Math.abs(difference))}`;
