/** Two runs side by side: config keys that differ, rates, and the prompts on which their answers differ in outcome. */
import type { AnsweredPrompt, AnswersPage, Catalogue, RunPage } from '../api.ts';
import { truthOf } from '../query.ts';
import { address, changeParameters, linkTo, shownState, stateWords } from './address.ts';
import { Answered, StateNote } from './parts.tsx';
import { source, useAnswer } from './source.ts';
import { Difference } from './text.tsx';

export function CompareScreen({ id }: { readonly id: string }) {
  const other = address.value.parameters.get('with') ?? '';
  const home = useAnswer<Catalogue>('home', '', () => source.ask('home', ''));
  return (
    <>
      <h1>Compare {id}</h1>
      <Answered answer={home}>
        {({ runs }) => (
          <p>
            <label>
              with{' '}
              <select value={other} onChange={(event) => changeParameters({ with: event.currentTarget.value })}>
                <option value="">choose a run</option>
                {runs
                  .filter((run) => run.id !== id && run.status !== 'not started')
                  .map((run) => (
                    <option key={run.id} value={run.id}>
                      {run.id}
                    </option>
                  ))}
              </select>
            </label>
          </p>
        )}
      </Answered>
      {other !== '' && <Both first={id} second={other} />}
    </>
  );
}

interface Pages {
  readonly runs: readonly [RunPage, RunPage];
  readonly answers: readonly [AnswersPage, AnswersPage];
}

function Both({ first, second }: { readonly first: string; readonly second: string }) {
  const answer = useAnswer<Pages>(`compare ${first} ${second}`, first, async () => ({
    runs: await Promise.all([source.ask('run', first), source.ask('run', second)]),
    answers: await Promise.all([source.ask('answers', first), source.ask('answers', second)]),
  }));
  return (
    <Answered answer={answer}>
      {({ runs, answers }) => (
        <>
          <Keys runs={runs} />
          <Outcomes answers={answers} />
        </>
      )}
    </Answered>
  );
}

function Keys({ runs: [a, b] }: { readonly runs: Pages['runs'] }) {
  const [before, after] = [new Map(a.config), new Map(b.config)];
  const keys = [...new Set([...before.keys(), ...after.keys()])].filter((key) => before.get(key) !== after.get(key));
  return (
    <div class="scroll">
      <table>
        <caption>config keys that differ</caption>
        <thead>
          <tr>
            <th scope="col">key</th>
            {[a, b].map(({ run }) => (
              <th scope="col" key={run.id}>
                <a href={linkTo('run', run.id)}>{run.id}</a>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key}>
              <th scope="row">{key}</th>
              <td>{before.get(key) ?? 'absent'}</td>
              <td>{after.get(key) ?? 'absent'}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {keys.length === 0 && <p>The configs are the same.</p>}
    </div>
  );
}

const mostListed = 50;
const outcomes = ['hack', 'solve', 'neither'] as const;

function Outcomes({ answers: [a, b] }: { readonly answers: Pages['answers'] }) {
  const { parameters } = address.value;
  const shared = a.sets.filter(({ set }) => b.sets.some((other) => other.set === set));
  const chosen =
    shared.find(({ set }) => set === parameters.get('set')) ??
    shared.find(({ set }) => set === 'test-original') ??
    shared[0];
  if (chosen === undefined) return <p>They were not evaluated on a set that both have.</p>;
  const state = shownState.value;
  const shownOf = (prompt: AnsweredPrompt) => prompt[state] ?? prompt.full ?? prompt.deployed;
  const others = new Map(
    (b.sets.find(({ set }) => set === chosen.set)?.prompts ?? []).map((prompt) => [prompt.problem, prompt]),
  );
  const pairs = chosen.prompts.flatMap((prompt) => {
    const [own, other] = [shownOf(prompt), others.get(prompt.problem)];
    const second = other === undefined ? null : shownOf(other);
    return own === null || second === null ? [] : [{ problem: prompt.problem, first: own, second }];
  });
  const cell = parameters.get('cell');
  const isListed = ({ first, second }: (typeof pairs)[number]): boolean =>
    cell === null ? truthOf(first) !== truthOf(second) : cell === `${truthOf(first)}, ${truthOf(second)}`;
  const listed = pairs.filter(isListed);
  return (
    <>
      <h2>
        {chosen.set}, {stateWords[state]}, {pairs.length} prompts
      </h2>
      <StateNote />
      <div class="scroll">
        <table id="outcomes">
          <caption>
            outcomes: rows {a.run.id}, columns {b.run.id}
          </caption>
          <thead>
            <tr>
              <th scope="col">outcome</th>
              {outcomes.map((name) => (
                <th scope="col" key={name}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {outcomes.map((row) => (
              <tr key={row}>
                <th scope="row">{row}</th>
                {outcomes.map((column) => (
                  <td key={column}>
                    <button
                      type="button"
                      aria-pressed={cell === `${row}, ${column}`}
                      onClick={() =>
                        changeParameters({ cell: cell === `${row}, ${column}` ? null : `${row}, ${column}` })
                      }
                    >
                      {pairs.filter(({ first, second }) => truthOf(first) === row && truthOf(second) === column).length}
                    </button>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="quiet">
        {listed.length} prompts {cell === null ? 'whose outcomes differ' : `with ${cell}`}
        {listed.length > mostListed && `, the first ${mostListed} of them`}. A count lists its prompts.
      </p>
      {listed.slice(0, mostListed).map(({ problem, first, second }) => (
        <details key={problem}>
          <summary>
            {problem}: {truthOf(first)} and {truthOf(second)}
          </summary>
          <p>
            {[a, b].map(({ run: { id } }) => (
              <a key={id} href={linkTo('answers', id, { set: chosen.set, problem })}>
                {id}{' '}
              </a>
            ))}
          </p>
          <Difference first={first.completion} second={second.completion} />
        </details>
      ))}
    </>
  );
}
