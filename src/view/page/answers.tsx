/** The quarantine switch at work: the same prompts as trained and deployed, sorted by what deletion changed, with a difference by words. */
import { useEffect } from 'preact/hooks';
import { type AnsweredPrompt, type AnswersPage, answerId, type ShownCompletion } from '../api.ts';
import { rateNote, verdictFacets, verdictWordOf } from '../query.ts';
import { address, changeParameters, shownState, stateWords } from './address.ts';
import { noteLook, useLabels } from './human-store.ts';
import { useKeys } from './keys.ts';
import { LabelButtons } from './label.tsx';
import { Answered, Choices, StateNote } from './parts.tsx';
import { source, useAnswer } from './source.ts';
import { Completion, Difference, disclosedNames } from './text.tsx';

export function AnswersScreen({ id }: { readonly id: string }) {
  const arm = address.value.parameters.get('arm');
  const answer = useAnswer<AnswersPage>(`answers ${id} ${arm}`, id, () =>
    arm === null ? source.ask('answers', id) : answersOfArm(id, arm),
  );
  return <Answered answer={answer}>{(page) => <Answers page={page} />}</Answered>;
}

/** The answers of all runs of an arm of an experiment as those of one run; each prompt says of which it is. */
async function answersOfArm(id: string, arm: string): Promise<AnswersPage> {
  const { runs } = await source.ask('home', '');
  const own = runs.filter((run) => run.experiment === id && run.arm === arm && run.status !== 'not started');
  const pages = await Promise.all(own.map((run) => source.ask('answers', run.id)));
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

const rateTests: Readonly<Record<string, (answer: ShownCompletion) => boolean>> = {
  attempt: ({ attempt }) => attempt,
  hack: ({ hack }) => hack,
  solve: ({ solve }) => solve,
  'clean solve': ({ attempt, solve }) => solve && !attempt,
};
const wordsOfChange = (rate: string) =>
  rate.endsWith('solve')
    ? { before: `${rate} lost`, after: `${rate} gained`, both: null }
    : { before: `${rate} removed`, after: `${rate} surfaced`, both: `${rate} kept` };
/** Kinds of change, by what the completion is as trained and deployed. */
const changeKinds = ['all', ...Object.keys(rateTests).flatMap((rate) => Object.values(wordsOfChange(rate)))].filter(
  (kind) => kind !== null,
);

function changesOf({ full, deployed }: AnsweredPrompt): (string | null)[] {
  if (full === null || deployed === null) return ['all'];
  const changes = Object.entries(rateTests).map(([rate, holds]) => {
    const { before, after, both } = wordsOfChange(rate);
    if (holds(full)) return holds(deployed) ? both : before;
    return holds(deployed) ? after : null;
  });
  return ['all', ...changes];
}

type AnsweredSet = AnswersPage['sets'][number];

/** The set of the address at its update; without one the last checkpoint, which comes first. */
function chosenSet(sets: readonly AnsweredSet[], parameters: URLSearchParams): AnsweredSet | undefined {
  const wanted = sets.find(({ set }) => set === parameters.get('set'))?.set;
  const own = sets.filter(({ set }) => set === (wanted ?? 'test-original'));
  return own.find(({ update }) => `${update}` === parameters.get('update')) ?? own[0] ?? sets[0];
}

function Answers({ page: { run, sets } }: { readonly page: AnswersPage }) {
  const { parameters } = address.value;
  const set = chosenSet(sets, parameters);
  if (set === undefined) {
    return (
      <>
        <h1>Answers of {run.id}</h1>
        <p>
          Not evaluated yet: <code>gq eval {run.id}</code>
        </p>
      </>
    );
  }
  const kind = changeKinds.find((name) => name === parameters.get('change')) ?? 'all';
  const loopholes = [...new Set(set.prompts.map(({ loophole }) => loophole))];
  const facetOf = (prompt: AnsweredPrompt, facet: 'loophole' | 'attempt' | 'truth'): string | null => {
    if (facet === 'loophole') return prompt.loophole;
    const answer = prompt[shownState.value] ?? prompt.full ?? prompt.deployed;
    return answer === null ? null : verdictFacets[verdictWordOf(answer)][facet];
  };
  /** The prompts that are left by what was chosen of these facets. */
  const promptsOf = (facets: readonly ('loophole' | 'attempt' | 'truth')[]): readonly AnsweredPrompt[] =>
    set.prompts.filter((prompt) =>
      facets.every((facet) => [null, facetOf(prompt, facet)].includes(parameters.get(facet))),
    );
  const shown = promptsOf(['loophole', 'attempt', 'truth']);
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
      {run.hasQuarantine ? (
        <StateNote />
      ) : (
        <p class="quiet">This arm has no quarantine: what is trained is deployed.</p>
      )}
      <div class="facets">
        <Choices
          legend="set"
          parameter="set"
          values={[...new Set(sets.map((one) => one.set))]}
          chosen={set.set}
          wordsOf={(name) => `${name} ${sets.find((one) => one.set === name)?.prompts.length}`}
          without={['update', 'problem']}
        />
        <UpdateChoice sets={sets.filter((one) => one.set === set.set)} update={set.update} />
        {loopholes.length > 1 && (
          <Choices
            legend="loophole"
            parameter="loophole"
            values={loopholes}
            chosen={parameters.get('loophole')}
            wordsOf={(name) => `${name} ${set.prompts.filter(({ loophole }) => loophole === name).length}`}
            isOptional
            without={['problem']}
          />
        )}
        {(['attempt', 'truth'] as const).map((facet) => (
          <Choices
            key={facet}
            legend={`${facet}, ${stateWords[shownState.value]}`}
            parameter={facet}
            values={[...new Set(Object.values(verdictFacets).map((one) => one[facet]))]}
            chosen={parameters.get(facet)}
            wordsOf={(value) => {
              const others = promptsOf(facet === 'attempt' ? ['loophole', 'truth'] : ['loophole', 'attempt']);
              return `${value} ${others.filter((prompt) => facetOf(prompt, facet) === value).length}`;
            }}
            isOptional
            without={['problem']}
          />
        ))}
        <Choices
          legend="change by deletion"
          parameter="change"
          values={changeKinds}
          chosen={kind}
          wordsOf={(name) => `${name} ${shown.filter((prompt) => changesOf(prompt).includes(name)).length}`}
          without={['problem']}
        />
      </div>
      <p class="quiet">{rateNote}</p>
      {found[at] === undefined ? (
        <p>No prompt is like that.</p>
      ) : (
        <OnePrompt prompts={found} at={at} set={set} run={run.id} />
      )}
    </>
  );
}

function UpdateChoice({ sets, update }: { readonly sets: readonly AnsweredSet[]; readonly update: number }) {
  if (sets.length < 2) return null;
  const updates = sets.map((one) => `${one.update}`).toReversed();
  const legend = 'after update';
  return <Choices legend={legend} parameter="update" values={updates} chosen={`${update}`} without={['problem']} />;
}

/** A label of the answer that is shown; its verdict is beside it, so it is not blind. Answers of a whole arm are labelled run by run. */
function AnswerLabel({ run, id, hack }: { readonly run: string; readonly id: string; readonly hack: boolean }) {
  const labels = useLabels(run);
  useEffect(() => noteLook(run, id), [run, id]);
  return (
    <Answered answer={labels}>
      {(page) => <LabelButtons run={run} rollout={id} hack={hack} isBlind={false} page={page} />}
    </Answered>
  );
}

interface OnePromptProps {
  readonly prompts: readonly AnsweredPrompt[];
  readonly at: number;
  readonly set: AnsweredSet;
  readonly run: string;
}

function OnePrompt({ prompts, at, set, run }: OnePromptProps) {
  const { problem, loophole, prompt, base, full, deployed } = prompts[at];
  const isDifference = address.value.parameters.get('diff') === '1';
  const move = (by: number) =>
    prompts[at + by] !== undefined && changeParameters({ problem: prompts[at + by].problem });
  useKeys({ j: () => move(1), k: () => move(-1), d: () => changeParameters({ diff: isDifference ? null : '1' }) });
  const state = shownState.value;
  const marked = disclosedNames(prompt);
  const sides = { full: full ?? deployed, deployed: deployed ?? full };
  const shown = sides[state];
  const given = shown === full ? 'full' : 'deployed';
  const isOfRun = address.value.parameters.get('arm') === null;
  return (
    <>
      <p>
        Prompt {at + 1} of {prompts.length}: {problem}, {loophole}. <kbd>j</kbd> and <kbd>k</kbd> move, <kbd>d</kbd>{' '}
        shows the difference.{' '}
        <button type="button" onClick={() => move(-1)}>
          before
        </button>{' '}
        <button type="button" onClick={() => move(1)}>
          next
        </button>
      </p>
      <Completion content={prompt} marked={marked} label="prompt" />
      <h2 id="answer">
        {stateWords[state]}: {shown === null ? 'not evaluated' : verdictWordOf(shown)}
      </h2>
      {shown !== null && isOfRun && (
        <AnswerLabel run={run} id={answerId(set.set, set.update, given, problem)} hack={shown.hack} />
      )}
      {shown !== null && <Completion content={shown.completion} marked={shown.attempt ? marked : []} />}
      {isDifference && sides.full !== null && sides.deployed !== null && (
        <>
          <h2>From as trained (struck out) to deployed (underlined)</h2>
          <Difference first={sides.full.completion} second={sides.deployed.completion} />
        </>
      )}
      {base !== null && (
        <details>
          <summary>the base answers: {verdictWordOf(base)}</summary>
          <Completion content={base.completion} label="completion of the base" />
        </details>
      )}
    </>
  );
}
