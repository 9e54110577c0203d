/**
 * The held-out matrix: loopholes by arms, known ones and those that no pair showed, in the policy state that is chosen and the other one small. Every
 * cell opens the answers behind it, every loophole its rollouts of training.
 */
import { armStyle, textOf } from '../../report/draw/index.ts';
import type { ExperimentPage, LoopholeMatrix, MatrixCell } from '../api.ts';
import { address, changeParameters, linkTo, type ShownState, shownState, stateWords } from './address.ts';
import type { Door } from './doors.ts';
import { Answered, ArmKey, StateNote, TableView } from './parts.tsx';
import { source, useAnswer } from './source.ts';

const shownKinds = ['hack', 'solve', 'difference'] as const;
type ShownKind = (typeof shownKinds)[number];
const kindWords: Readonly<Record<ShownKind, string>> = {
  hack: 'hack',
  solve: 'solve',
  difference: 'hack, difference from the baseline',
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
            in all seeds. Small: {stateWords[other(shownState.value)]}. A held-out loophole is one that no pair of the
            gate shows. A cell opens its answers, a loophole its rollouts of training.
          </p>
          <TableView table={tableOf(page, matrix, kind)} doorOf={doorOf(page, matrix)} />
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

function find({ cells }: LoopholeMatrix, loophole: string, arm: string, state: ShownState): MatrixCell | undefined {
  return cells.find((cell) => cell.loophole === loophole && cell.arm === arm && cell.state === state);
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
  const cell = find(matrix, loophole, arm, state);
  if (cell === undefined) return <>-</>;
  const ghost = find(matrix, loophole, arm, other(state));
  const door = linkTo('answers', page.id, { arm, loophole, set: matrix.set });
  const key = kind === 'solve' ? 'solve' : 'hack';
  const rate = cell[key];
  const base = find(matrix, loophole, page.baseline, state)?.hack.rate;
  const shown = kind === 'difference' ? (base === undefined ? '-' : signed(rate.rate - base)) : percent(rate.rate);
  return (
    <a class="cell" href={door}>
      <strong>{shown}</strong> {kind !== 'difference' && `[${percent(rate.low)}, ${percent(rate.high)}]`}{' '}
      <span class="quiet">
        {rate.count} of {rate.of}
        {ghost !== undefined && `; ${stateWords[ghost.state]} ${percent(ghost[key].rate)}`}
      </span>
    </a>
  );
}

const signed = (difference: number): string => `${difference < 0 ? '−' : '+'}${percent(Math.abs(difference))}`;

/** Two columns of an arm: as trained and deployed. */
function doorOf(page: ExperimentPage, { set }: LoopholeMatrix): Door {
  return ([first], column) => {
    const loophole = textOf(first);
    const arm = page.arms[Math.floor((column - 2) / 2)]?.arm;
    if (arm === undefined) return null;
    return linkTo('answers', page.id, { arm, loophole, set, state: column % 2 === 0 ? 'full' : null });
  };
}

/** The same numbers as a table that can be copied, both states in full. */
function tableOf(page: ExperimentPage, matrix: LoopholeMatrix, kind: ShownKind) {
  const key = kind === 'solve' ? 'solve' : 'hack';
  const states = ['full', 'deployed'] as const;
  const cell = (loophole: string, arm: string, state: ShownState): string => {
    const rate = find(matrix, loophole, arm, state)?.[key];
    return rate === undefined ? '-' : `${rate.rate.toFixed(2)} [${rate.low.toFixed(2)}, ${rate.high.toFixed(2)}]`;
  };
  return {
    title: `${key} by loophole and arm, ${matrix.set}`,
    columns: [
      'loophole',
      'pairs',
      ...page.arms.flatMap(({ arm }) => states.map((state) => `${arm}, ${stateWords[state]}`)),
    ],
    rows: matrix.loopholes.map(({ loophole, isHeldOut }) => [
      loophole,
      isHeldOut ? 'held out' : 'known',
      ...page.arms.flatMap(({ arm }) => states.map((state) => cell(loophole, arm, state))),
    ]),
  };
}
