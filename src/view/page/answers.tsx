/** The quarantine switch at work: the same prompts as trained and deployed, beside each other, sorted by what deletion changed, with a difference by words. */

import { disclosedNames } from '../../report/code.ts';
import { type AnsweredPrompt, type AnswersPage, answerId } from '../api.ts';
import { isCounted, type RateName, rateNames, rateNote, rateWords, verdictFacets, verdictWordOf } from '../query.ts';
import { address, changeParameters, chosenSet, shownState, stateWords } from './address.ts';
import { useKeys } from './keys.ts';
import { SeenLabel } from './label.tsx';
import { Answered, Button, Choices, Fold, NotEvaluated, VerdictMark } from './parts.tsx';
import { answersOf, source, useAnswer } from './source.ts';
import { BothAnswers, Chat, Completion } from './text.tsx';

export function AnswersScreen({ id }: { readonly id: string }) {
  const arm = address.value.parameters.get('arm');
  const answer = useAnswer<AnswersPage>(`answers ${id} ${arm}`, id, () =>
    arm === null ? source.ask('answers', id) : answersOfArm(id, arm),
  );
  return <Answered answer={answer}>{(page) => <Answers page={page} />}</Answered>;
}

async function answersOfArm(id: string, arm: string): Promise<AnswersPage> {
  const pages = await answersOf((run) => run.experiment === id && run.arm === arm);
  const [first] = pages;
  if (first === undefined) throw new Error(`${id} has no run of the arm ${arm}.`);
  const names = [...new Set(pages.flatMap(({ sets }) => sets.map(({ set }) => set)))];
  const named = ({ run, sets }: AnswersPage, set: string): AnsweredPrompt[] =>
    (sets.find((one) => one.set === set)?.prompts ?? []).map((prompt) => ({
      ...prompt,
      problem: `${prompt.problem} (seed ${run.seed})`,
    }));
  const updateOf = (set: string): number =>
    Math.max(...pages.flatMap(({ sets }) => sets.filter((one) => one.set === set).map(({ update }) => update)));
  return {
    run: { ...first.run, id: `${id}, ${arm}` },
    sets: names.map((set) => ({ set, update: updateOf(set), prompts: pages.flatMap((page) => named(page, set)) })),
  };
}

const wordsOfChange = (rate: RateName) => {
  const name = rateWords[rate];
  return name.endsWith('solve')
    ? { before: `${name} lost`, after: `${name} gained`, both: null }
    : { before: `${name} removed`, after: `${name} surfaced`, both: `${name} kept` };
};
const changeKinds = ['all', ...rateNames.flatMap((rate) => Object.values(wordsOfChange(rate)))].filter(
  (kind) => kind !== null,
);

function changesOf({ full, deployed }: AnsweredPrompt): (string | null)[] {
  if (full === null || deployed === null) return ['all'];
  const changes = rateNames.map((rate) => {
    const { before, after, both } = wordsOfChange(rate);
    if (isCounted(rate, full)) return isCounted(rate, deployed) ? both : before;
    return isCounted(rate, deployed) ? after : null;
  });
  return ['all', ...changes];
}

type AnsweredSet = AnswersPage['sets'][number];

function atUpdate(sets: readonly AnsweredSet[]): AnsweredSet | undefined {
  const first = chosenSet(sets);
  const wanted = address.value.parameters.get('update');
  return sets.find(({ set, update }) => set === first?.set && `${update}` === wanted) ?? first;
}

const facets = ['loophole', 'attempt', 'truth'] as const;
type Facet = (typeof facets)[number];

function facetOf(prompt: AnsweredPrompt, facet: Facet): string | null {
  if (facet === 'loophole') return prompt.loophole;
  const answer = prompt[shownState.value] ?? prompt.full ?? prompt.deployed;
  return answer === null ? null : verdictFacets[verdictWordOf(answer)][facet];
}

function Answers({ page: { run, sets } }: { readonly page: AnswersPage }) {
  const { parameters } = address.value;
  const set = atUpdate(sets);
  if (set === undefined) {
    return (
      <>
        <h1>Answers of {run.id}</h1>
        <NotEvaluated run={run} />
      </>
    );
  }
  const kind = changeKinds.find((name) => name === parameters.get('change')) ?? 'all';
  const valuesOf = (facet: Facet): string[] => [
    ...new Set(
      facet === 'loophole'
        ? set.prompts.map(({ loophole }) => loophole)
        : Object.values(verdictFacets).map((one) => one[facet]),
    ),
  ];
  const promptsBut = (left: Facet | null): readonly AnsweredPrompt[] =>
    set.prompts.filter((prompt) =>
      facets.every((facet) => facet === left || [null, facetOf(prompt, facet)].includes(parameters.get(facet))),
    );
  const shown = promptsBut(null);
  const found = shown.filter((prompt) => changesOf(prompt).includes(kind));
  const at = Math.max(
    0,
    found.findIndex(({ problem }) => problem === parameters.get('problem')),
  );
  return (
    <>
      <h1>
        Answers of {run.id} after update {set.update}
      </h1>
      <Fold words="filters">
        <div class="facets">
          <Choices
            legend="set"
            parameter="set"
            values={[...new Set(sets.map((one) => one.set))]}
            chosen={set.set}
            countOf={(name) => sets.find((one) => one.set === name)?.prompts.length}
            without={['update', 'problem']}
          />
          <Choices
            legend="after update"
            parameter="update"
            values={sets.flatMap((one) => (one.set === set.set ? [`${one.update}`] : [])).toReversed()}
            chosen={`${set.update}`}
            without={['problem']}
          />
          {facets.map((facet) => (
            <Choices
              key={facet}
              legend={facet === 'loophole' ? facet : `${facet}, ${stateWords[shownState.value]}`}
              parameter={facet}
              values={valuesOf(facet)}
              chosen={parameters.get(facet)}
              countOf={(value) => promptsBut(facet).filter((prompt) => facetOf(prompt, facet) === value).length}
              isOptional
              without={['problem']}
            />
          ))}
          <Choices
            legend="change by deletion"
            parameter="change"
            values={changeKinds}
            chosen={kind}
            countOf={(name) => shown.filter((prompt) => changesOf(prompt).includes(name)).length}
            without={['problem']}
          />
        </div>
      </Fold>
      {found[at] === undefined ? (
        <p>No prompt is like that.</p>
      ) : (
        <OnePrompt prompts={found} at={at} set={set} run={run} />
      )}
      <p class="quiet">{rateNote}</p>
    </>
  );
}

interface OnePromptProps {
  readonly prompts: readonly AnsweredPrompt[];
  readonly at: number;
  readonly set: AnsweredSet;
  readonly run: AnswersPage['run'];
}

function OnePrompt({ prompts, at, set, run }: OnePromptProps) {
  const { problem, loophole, prompt, base, full, deployed } = prompts[at];
  const isDifference = address.value.parameters.get('diff') !== '0';
  const move = (by: number) =>
    prompts[at + by] !== undefined && changeParameters({ problem: prompts[at + by].problem });
  useKeys({ j: () => move(1), k: () => move(-1), d: () => changeParameters({ diff: isDifference ? '0' : null }) });
  const state = shownState.value;
  const marked = disclosedNames(prompt);
  // Of an arm without a quarantine there is one answer, whatever is chosen.
  const given = (state === 'full' ? full : deployed) === null ? (state === 'full' ? 'deployed' : 'full') : state;
  const shown = { full, deployed }[given];
  const isOfRun = address.value.parameters.get('arm') === null;
  const sideOf = (own: typeof state) => ({
    ...{ title: stateWords[own], answer: { full, deployed }[own], isChosen: own === given },
  });
  return (
    <>
      <h2>
        Prompt {at + 1} of {prompts.length}: {problem}, {loophole}
      </h2>
      <p class="quiet">
        <Button words="before" press={() => move(-1)} /> <Button words="next" press={() => move(1)} /> <kbd>j</kbd> and{' '}
        <kbd>k</kbd> move, <kbd>d</kbd> marks the difference or not.
      </p>
      {shown !== null && isOfRun && (
        <SeenLabel
          run={run.id}
          rollout={answerId(set.set, set.update, given, problem)}
          verdict={verdictWordOf(shown)}
        />
      )}
      <Chat prompt={prompt}>
        {full !== null && deployed !== null ? (
          <BothAnswers sides={[sideOf('full'), sideOf('deployed')]} marked={marked} isMarked={isDifference} />
        ) : (
          <div class="turn answer">
            <h3>
              {run.hasQuarantine ? stateWords[given] : 'as trained and deployed, without a quarantine'}:{' '}
              {shown === null ? 'not evaluated' : <VerdictMark word={verdictWordOf(shown)} />}
            </h3>
            {shown !== null && <Completion content={shown.completion} marked={shown.attempt ? marked : []} />}
          </div>
        )}
      </Chat>
      {base !== null && (
        <details>
          <summary>the base answers: {verdictWordOf(base)}</summary>
          <Completion content={base.completion} label="completion of the base" />
        </details>
      )}
    </>
  );
}
