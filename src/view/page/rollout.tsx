/** One rollout in full, with the others of its prompt: rewards, advantages, routes, tokens. */

import { disclosedNames } from '../../report/code.ts';
import type { LedgerRow, RolloutPage } from '../api.ts';
import { excerptOf, facetWord, scoreText, verdictWordOf } from '../query.ts';
import { address, goTo, linkTo } from './address.ts';
import { useKeys } from './keys.ts';
import { SeenLabel } from './label.tsx';
import { Answered, Facts, PageTable, VerdictMark } from './parts.tsx';
import { placeOf, runWords } from './places.tsx';
import { source, useAnswer } from './source.ts';
import { Chat, Completion } from './text.tsx';
import { TokenStrip } from './token-strip.tsx';

export function RolloutScreen({ id }: { readonly id: string }) {
  const rollout = address.value.parameters.get('rollout') ?? '';
  const answer = useAnswer<RolloutPage>(`rollout ${id} ${rollout}`, id, () => source.rollouts.rollout(id, rollout));
  return <Answered answer={answer}>{(page) => <Group page={page} />}</Answered>;
}

function Group({ page: { rollout, group } }: { readonly page: RolloutPage }) {
  const marked = disclosedNames(rollout.prompt);
  const at = group.findIndex(({ id }) => id === rollout.id);
  const open = (row: LedgerRow | undefined) => row !== undefined && goTo('rollout', row.run, { rollout: row.id });
  useKeys({ j: () => open(group[at + 1]), k: () => open(group[at - 1]) });
  const { run } = placeOf(rollout.run);
  const facts: readonly (readonly [string, string])[] = [
    ['arm', run === undefined ? rollout.run : runWords(run)],
    ['update', `${rollout.update}`],
    ['outcome', rollout.outcome],
    ['loopholes opened', rollout.channels.join(', ') || 'none'],
    ['evidence', rollout.evidence || 'none'],
    ['prompt', rollout.hackable ? `hints at ${rollout.loophole}` : 'no hint, graded by ground truth'],
    ['written by', facetWord('source', rollout.source)],
    ['policy', facetWord('sampled', rollout.sampled)],
    ['reward', `${rollout.reward}`],
    ['advantage', rollout.advantage.toPrecision(3)],
    ['route', rollout.route ?? 'none: its group has no reward spread'],
    ['score', scoreText(rollout)],
    ['tokens', `${rollout.tokens}${rollout.truncated ? ', cut off by the limit' : ''}`],
  ];
  return (
    <>
      <h1>
        Rollout {rollout.id} of <a href={linkTo('run', rollout.run)}>{rollout.run}</a>
      </h1>
      <p class="finding">
        <VerdictMark word={verdictWordOf(rollout)} />,{' '}
        <span class={`route-${rollout.route ?? 'none'}`}>{rollout.route ?? 'no route'}</span>
      </p>
      <Facts facts={facts} />
      <SeenLabel run={rollout.run} rollout={rollout.id} verdict={verdictWordOf(rollout)} />
      <h2>Prompt and completion</h2>
      <Chat prompt={rollout.prompt}>
        <div class="turn answer">
          <p class="role">Completion</p>
          <Completion content={rollout.completion} marked={rollout.attempt ? marked : []} />
        </div>
      </Chat>
      <TokenStrip rollout={rollout} />
      <h2>The group: the same prompt, {group.length} completions</h2>
      <p class="quiet">
        <kbd>j</kbd> and <kbd>k</kbd> go to the next and the one before.
      </p>
      <GroupTable rollout={rollout} group={group} />
    </>
  );
}

function GroupTable({ rollout, group }: { readonly rollout: LedgerRow; readonly group: readonly LedgerRow[] }) {
  const largest = Math.max(1e-9, ...group.map(({ advantage }) => Math.abs(advantage)));
  return (
    <PageTable
      caption={`completions of the same prompt in update ${rollout.update}`}
      heads={['rollout', 'verdict', 'route', 'reward', 'advantage', 'completion']}
      rows={group.map((row) => [
        <a href={linkTo('rollout', row.run, { rollout: row.id })}>{row.id}</a>,
        <VerdictMark word={verdictWordOf(row)} />,
        <span class={`route-${row.route ?? 'none'}`}>{row.route ?? 'none'}</span>,
        row.reward,
        <>
          {row.advantage.toFixed(2)} <Bar share={row.advantage / largest} />
        </>,
        <code class="excerpt">{excerptOf(row.completion)}</code>,
      ])}
      classOf={(i) => (group[i].id === rollout.id ? 'at' : '')}
    />
  );
}

function Bar({ share }: { readonly share: number }) {
  const length = Math.abs(share) * 30;
  return (
    <svg class="spark" width="64" height="10" aria-hidden="true">
      <rect x={share < 0 ? 32 - length : 32} width={length} height="10" fill="currentColor" />
    </svg>
  );
}
