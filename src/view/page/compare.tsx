/** Two runs side by side: config keys that differ, rates, and the prompts on which their answers differ in outcome. */
import type { AnsweredPrompt, AnswersPage, RunPage } from '../api.ts';
import type { RateName, VerdictWord } from '../query.ts';
import { isCounted, rateFacets, rateNames, rateNote, rateWords, verdictWordOf, verdictWords } from '../query.ts';
import { address, changeParameters, chosenSet, linkTo, shownState, stateWords } from './address.ts';
import { Answered, ChoiceButtons, PageTable, percent, StateNote } from './parts.tsx';
import { catalogue, source, useAnswer } from './source.ts';
import { BothAnswers } from './text.tsx';

export function CompareScreen({ id }: { readonly id: string }) {
  const other = address.value.parameters.get('with') ?? '';
  return (
    <>
      <h1>Compare {id}</h1>
      <Answered answer={catalogue.value}>
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

type Pages = { readonly runs: readonly [RunPage, RunPage]; readonly answers: readonly [AnswersPage, AnswersPage] };

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
  const differing = [...before].filter(([key, value]) => after.has(key) && after.get(key) !== value);
  const alone = [
    { run: a.run, keys: [...before.keys()].filter((key) => !after.has(key)) },
    { run: b.run, keys: [...after.keys()].filter((key) => !before.has(key)) },
  ].filter(({ keys }) => keys.length > 0);
  const door = ({ run }: Pick<RunPage, 'run'>) => <a href={linkTo('run', run.id)}>{run.id}</a>;
  return (
    <>
      {differing.length > 0 && (
        <PageTable
          caption="config keys that differ"
          heads={['key', door(a), door(b)]}
          rows={differing.map(([key, value]) => [key, value, after.get(key)])}
          hasRowHeads
        />
      )}
      {alone.map(({ run, keys }) => (
        <p class="quiet" key={run.id}>
          Of {door({ run })} alone: {keys.join(', ')}
        </p>
      ))}
      {differing.length === 0 && alone.length === 0 && <p>The configs are the same.</p>}
    </>
  );
}

const mostListed = 50;

function Outcomes({ answers: [a, b] }: { readonly answers: Pages['answers'] }) {
  const { parameters } = address.value;
  const shared = a.sets.filter(({ set }) => b.sets.some((other) => other.set === set));
  const chosen = chosenSet(shared);
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
    cell === null
      ? verdictWordOf(first) !== verdictWordOf(second)
      : cell === `${verdictWordOf(first)} → ${verdictWordOf(second)}`;
  const listed = pairs.filter(isListed);
  const rates = [a, b].map(({ run }, i) => {
    const own = pairs.map(({ first, second }) => (i === 0 ? first : second));
    const share = (rate: RateName) => {
      const count = own.filter((one) => isCounted(rate, one)).length;
      return (
        <a href={linkTo('answers', run.id, { set: chosen.set, ...rateFacets[rate] })}>
          {percent(own.length === 0 ? null : count / own.length)}, {count} of {own.length}
        </a>
      );
    };
    return [run.id, ...rateNames.map(share)];
  });
  const count = (row: VerdictWord, column: VerdictWord) => (
    <ChoiceButtons
      parameter="cell"
      values={[`${row} → ${column}`]}
      chosen={cell}
      wordsOf={() =>
        `${pairs.filter(({ first, second }) => verdictWordOf(first) === row && verdictWordOf(second) === column).length}`
      }
      isOptional
    />
  );
  return (
    <>
      <h2>
        {chosen.set}, {stateWords[state]}, {pairs.length} prompts
      </h2>
      <StateNote />
      <PageTable caption="rates" heads={['run', ...Object.values(rateWords)]} rows={rates} hasRowHeads />
      <PageTable
        id="outcomes"
        caption={`outcomes: rows ${a.run.id}, columns ${b.run.id}`}
        heads={['outcome', ...verdictWords]}
        rows={verdictWords.map((row) => [row, ...verdictWords.map((column) => count(row, column))])}
        hasRowHeads
      />
      <p class="quiet">
        {listed.length} prompts {cell === null ? 'whose outcomes differ' : `with ${cell}`}
        {listed.length > mostListed && `, the first ${mostListed} of them`}. A count lists its prompts. {rateNote}
      </p>
      {listed.slice(0, mostListed).map(({ problem, first, second }) => (
        <details key={problem}>
          <summary>
            {problem}: {verdictWordOf(first)} and {verdictWordOf(second)}
          </summary>
          <p>
            {[a, b].map(({ run: { id } }) => (
              <a key={id} href={linkTo('answers', id, { set: chosen.set, problem })}>
                {id}{' '}
              </a>
            ))}
          </p>
          <BothAnswers
            sides={[
              { title: a.run.id, answer: first },
              { title: b.run.id, answer: second },
            ]}
          />
        </details>
      ))}
    </>
  );
}
