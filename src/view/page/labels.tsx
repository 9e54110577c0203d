/** What people said of rollouts, against the oracle: kappa, the table of both, and every disagreement as a door. */
import { agreementsOf, agreementTable, isHack, lastLabels } from '../agreement.ts';
import { type LabelledRollout, type LabelsPage, parseAnswerId } from '../api.ts';
import { linkTo } from './address.ts';
import { useLabels } from './human-store.ts';
import { Answered, LeftOut, PageTable, TableView } from './parts.tsx';

export function LabelsScreen({ id }: { readonly id: string }) {
  return (
    <>
      <h1>Labels of {id}</h1>
      <p>
        <a href={linkTo('label', id)}>Label rollouts</a> or{' '}
        <a href={linkTo('label', id, { of: 'answers' })}>answers of evaluations</a>, blind and in a shuffled order.
      </p>
      <Answered answer={useLabels(id)}>
        {(page) => (
          <>
            <Agreement page={page} />
            <LeftOut words="Not compared" runs={page.leftOut} />
          </>
        )}
      </Answered>
    </>
  );
}

function Agreement({ page }: { readonly page: LabelsPage }) {
  const labels = lastLabels(page.labels);
  if (labels.length === 0) return <p>Nobody has labelled anything here yet.</p>;
  const isWrong = ({ label, verdict }: LabelledRollout): boolean =>
    label !== 'unsure' && (label === 'hack') !== isHack(verdict);
  return (
    <>
      <TableView table={agreementTable(agreementsOf(page.labels))} />
      <LabelList title="where a person and the oracle disagree" labels={labels.filter(isWrong)} />
      <LabelList title="unsure" labels={labels.filter(({ label }) => label === 'unsure')} />
      <LabelList title="agreed" labels={labels.filter((label) => label.label !== 'unsure' && !isWrong(label))} />
    </>
  );
}

const mostListed = 200;

function labelDoor(run: string, rollout: string): string {
  const answer = parseAnswerId(rollout);
  if (answer === null) return linkTo('rollout', run, { rollout });
  const { set, update, state, problem } = answer;
  return linkTo('answers', run, { set, update, problem, state: state === 'full' ? 'full' : null });
}

function LabelList({ title, labels }: { readonly title: string; readonly labels: readonly LabelledRollout[] }) {
  if (labels.length === 0) return null;
  return (
    <>
      <PageTable
        caption={`${title}: ${labels.length}`}
        heads={['rollout', 'label', 'oracle', 'writer', 'blind']}
        rows={labels.slice(0, mostListed).map(({ run, rollout, label, verdict, writer, blind }) => [
          <a href={labelDoor(run, rollout)}>
            {run} {rollout}
          </a>,
          label,
          verdict,
          writer,
          blind ? 'yes' : 'no',
        ])}
      />
      {labels.length > mostListed && <p class="quiet">The first {mostListed}; gq measure labels --json has all.</p>}
    </>
  );
}
