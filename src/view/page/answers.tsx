/** The quarantine switch at work: the same prompts as trained and deployed, sorted by what deletion changed, with a difference by words. */
import { useEffect } from 'preact/hooks';
import { type AnsweredPrompt, type AnswersPage, answerId, type Catalogue } from '../api.ts';
import { truthOf } from '../query.ts';
import { address, changeParameters, shownState, stateWords } from './address.ts';
import { noteLook, useLabels } from './human-store.ts';
import { useKeys } from './keys.ts';
import { LabelButtons } from './label.tsx';
import { Answered, StateNote } from './parts.tsx';
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
  const { runs } = (await source.ask('home', '')) as Catalogue;
  const own = runs.filter((run) => run.experiment === id && run.arm === arm && run.status !== 'not started');
  const pages = (await Promise.all(own.map((run) => source.ask('answers', run.id)))) as AnswersPage[];
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

/** Kinds of change, by what the completion is as trained and deployed. */
const changeKinds = ['all', 'hack removed', 'hack kept', 'hack surfaced', 'solve lost', 'solve gained'] as const;
type ChangeKind = (typeof changeKinds)[number];

function changesOf({ full, deployed }: AnsweredPrompt): ChangeKind[] {
  if (full === null || deployed === null) return ['all'];
  return [
    'all',
    ...(full.hack ? [deployed.hack ? ('hack kept' as const) : ('hack removed' as const)] : []),
    ...(!full.hack && deployed.hack ? ['hack surfaced' as const] : []),
    ...(full.solve && !deployed.solve ? ['solve lost' as const] : []),
    ...(!full.solve && deployed.solve ? ['solve gained' as const] : []),
  ];
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
  const chosen = parameters.get('loophole');
  const truth = parameters.get('truth');
  const isChosen = (prompt: AnsweredPrompt): boolean => {
    const answer = prompt[shownState.value] ?? prompt.full ?? prompt.deployed;
    return (
      (chosen === null || prompt.loophole === chosen) &&
      (truth === null || (answer !== null && truthOf(answer) === truth))
    );
  };
  const shown = set.prompts.filter(isChosen);
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
        <fieldset>
          <legend>set</legend>
          {sets
            .filter(({ set: name }, i) => sets.findIndex((one) => one.set === name) === i)
            .map(({ set: name, prompts }) => (
              <button
                type="button"
                key={name}
                aria-pressed={name === set.set}
                onClick={() => changeParameters({ set: name, update: null, problem: null })}
              >
                {name} {prompts.length}
              </button>
            ))}
        </fieldset>
        <UpdateChoice sets={sets.filter((one) => one.set === set.set)} update={set.update} />
        {loopholes.length > 1 && (
          <fieldset>
            <legend>loophole</legend>
            {loopholes.map((name) => (
              <button
                type="button"
                key={name}
                aria-pressed={name === chosen}
                onClick={() => changeParameters({ loophole: name === chosen ? null : name, problem: null })}
              >
                {name} {set.prompts.filter(({ loophole }) => loophole === name).length}
              </button>
            ))}
          </fieldset>
        )}
        <fieldset>
          <legend>outcome, {stateWords[shownState.value]}</legend>
          {(['hack', 'solve', 'neither'] as const).map((name) => (
            <button
              type="button"
              key={name}
              aria-pressed={name === truth}
              onClick={() => changeParameters({ truth: name === truth ? null : name, problem: null })}
            >
              {name}
            </button>
          ))}
        </fieldset>
        <fieldset>
          <legend>change by deletion</legend>
          {changeKinds.map((name) => (
            <button
              type="button"
              key={name}
              aria-pressed={name === kind}
              onClick={() => changeParameters({ change: name, problem: null })}
            >
              {name} {shown.filter((prompt) => changesOf(prompt).includes(name)).length}
            </button>
          ))}
        </fieldset>
      </div>
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
  return (
    <fieldset>
      <legend>after update</legend>
      {sets.toReversed().map((one) => (
        <button
          type="button"
          key={one.update}
          aria-pressed={one.update === update}
          onClick={() => changeParameters({ update: one.update, problem: null })}
        >
          {one.update}
        </button>
      ))}
    </fieldset>
  );
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
        {stateWords[state]}: {shown === null ? 'not evaluated' : truthOf(shown)}
      </h2>
      {shown !== null && isOfRun && (
        <AnswerLabel run={run} id={answerId(set.set, set.update, given, problem)} hack={shown.hack} />
      )}
      {shown !== null && <Completion content={shown.completion} marked={shown.hack ? marked : []} />}
      {isDifference && sides.full !== null && sides.deployed !== null && (
        <>
          <h2>From as trained (struck out) to deployed (underlined)</h2>
          <Difference first={sides.full.completion} second={sides.deployed.completion} />
        </>
      )}
      {base !== null && (
        <details>
          <summary>the base answers: {truthOf(base)}</summary>
          <Completion content={base.completion} label="completion of the base" />
        </details>
      )}
    </>
  );
}
