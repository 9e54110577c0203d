/**
 * The held-out matrix: loopholes by arms, known ones and those that no pair showed, in the policy state that is chosen and the other one small. Every
 * cell opens the answers behind it, every loophole its rollouts of training.
 */
import { armStyle } from '../../report/draw/index.ts';
import type { ExperimentPage, LoopholeMatrix } from '../api.ts';
import { address, changeParameters, linkTo, type ShownState, shownState, stateWords } from './address.ts';
import { doorOf, findCell, metricsOf, type ShownKind, type ShownRate, shownKinds, tableOf } from './matrix-table.ts';
import { Answered, ArmKey, StateNote, TableView } from './parts.tsx';
import { source, useAnswer } from './source.ts';

const kindWords: Readonly<Record<ShownKind, string>> = {
  hack: 'attempt and hack',
  solve: 'solve',
  difference: 'attempt and hack, difference from the baseline',
};

export function MatrixScreen({ id }: { readonly id: string }) {
  const answer = useAnswer<ExperimentPage>(`experiment ${id}`, id, () => source.ask('experiment', id));
  return <Answered answer={answer}>{(page) => <Matrix page={page} />}</Answered>;
}

function Matrix({ page }: { readonly page: ExperimentPage }) {
  const { parameters } = address.value;
  const { matrices } = page;
  const matrix =
    matrices.find(({ set }) => set === parameters.get('set')) ??
    matrices.find(({ set }) => set === 'test-original') ??
    matrices[0];
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
          <Choices sets={matrices.map(({ set }) => set)} set={matrix.set} kind={kind} />
          <Cells page={page} matrix={matrix} kind={kind} />
          <p class="quiet">
            Mean over seeds with a 95% interval: over prompts for one seed, over seeds for more; then what was counted
            in all seeds. attempt: opens a loophole, right or wrong; hack: an attempt that paid for a wrong program.
            Small: {stateWords[other(shownState.value)]}. A held-out loophole is one that no pair of the gate shows. A
            cell opens its answers, a loophole its rollouts of training.
          </p>
          <TableView table={tableOf(page, matrix, kind)} doorOf={doorOf(page, matrix, kind)} />
        </>
      )}
    </>
  );
}

const other = (state: ShownState): ShownState => (state === 'full' ? 'deployed' : 'full');

function Choices({
  sets,
  set,
  kind,
}: {
  readonly sets: readonly string[];
  readonly set: string;
  readonly kind: ShownKind;
}) {
  return (
    <div class="facets">
      <fieldset>
        <legend>set</legend>
        {sets.map((name) => (
          <button type="button" key={name} aria-pressed={name === set} onClick={() => changeParameters({ set: name })}>
            {name}
          </button>
        ))}
      </fieldset>
      <fieldset>
        <legend>shown</legend>
        {shownKinds.map((name) => (
          <button
            type="button"
            key={name}
            aria-pressed={name === kind}
            onClick={() => changeParameters({ show: name })}
          >
            {kindWords[name]}
          </button>
        ))}
      </fieldset>
    </div>
  );
}

interface CellsProps {
  readonly page: ExperimentPage;
  readonly matrix: LoopholeMatrix;
  readonly kind: ShownKind;
}

const percent = (rate: number): string => `${(100 * rate).toFixed(0)}%`;

function Cells({ page, matrix, kind }: CellsProps) {
  return (
    <div class="scroll">
      <table id="matrix">
        <caption>
          {kindWords[kind]}, {stateWords[shownState.value]}, {matrix.set}
        </caption>
        <thead>
          <tr>
            <th scope="col">loophole</th>
            {page.arms.map(({ arm }, i) => (
              <th scope="col" key={arm}>
                <ArmKey style={armStyle(i)} /> {arm}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {matrix.loopholes.map(({ loophole, isHeldOut }) => (
            <tr key={loophole} class={isHeldOut ? 'held-out' : ''}>
              <th scope="row">
                <a href={linkTo('rollouts', page.id, { loophole })}>{loophole}</a> {isHeldOut ? 'held out' : 'known'}
              </th>
              {page.arms.map(({ arm }) => (
                <td key={arm}>
                  <Cell page={page} matrix={matrix} kind={kind} loophole={loophole} arm={arm} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell({ page, matrix, kind, loophole, arm }: CellsProps & { readonly loophole: string; readonly arm: string }) {
  const state = shownState.value;
  const cell = findCell(matrix, loophole, arm, state);
  if (cell === undefined) return <>-</>;
  const ghost = findCell(matrix, loophole, arm, other(state));
  const door = linkTo('answers', page.id, { arm, loophole, set: matrix.set });
  const base = findCell(matrix, loophole, page.baseline, state);
  const shown = (metric: ShownRate): string => {
    if (kind !== 'difference') return percent(cell[metric].rate);
    return base === undefined ? '-' : signed(cell[metric].rate - base[metric].rate);
  };
  return (
    <a class="cell" href={door}>
      {metricsOf(kind).map((metric) => {
        const { count, of, low, high } = cell[metric];
        return (
          <div key={metric}>
            {metric} <strong>{shown(metric)}</strong> {kind !== 'difference' && `[${percent(low)}, ${percent(high)}]`}{' '}
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
