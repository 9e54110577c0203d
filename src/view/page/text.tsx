/** What a model read and wrote, as text and nothing else: characters that cannot be seen are written as escapes, long texts are cut until asked for. */
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { turnsOf, visible } from '../../base/index.ts';
import { disclosedNames, type Looks, textPieces } from '../../report/code.ts';
import type { ShownCompletion } from '../api.ts';
import { verdictWordOf } from '../query.ts';
import { Button, VerdictMark } from './parts.tsx';

const firstCharacters = 20_000;

type CompletionProps = Looks & {
  readonly content: string;
  readonly label?: string;
  /** How words that the other text lacks are shown. */
  readonly own?: 'del' | 'ins';
};

const shownText = (content: string, isWhole: boolean): string =>
  visible(isWhole ? content : content.slice(0, firstCharacters));

export function Completion({ content, marked = [], other = null, label = 'completion', own = 'ins' }: CompletionProps) {
  const [isWhole, setWhole] = useState(false);
  const pieces = useMemo(() => {
    const looks = { marked, other: other === null ? null : shownText(other, isWhole) };
    return textPieces(shownText(content, isWhole), looks);
  }, [content, other, isWhole, marked.join('\n')]);
  return (
    <>
      <pre tabIndex={0} role="region" aria-label={label}>
        {pieces.map(({ text, token, isMarked, isOwn }, i) => {
          if (token === '' && !isMarked && !isOwn) return text;
          const Look = isMarked ? 'mark' : isOwn ? own : 'span';
          return <Look key={i} class={`${token} ${isOwn ? 'own' : ''}`} children={text} />;
        })}
      </pre>
      {content.length > firstCharacters && !isWhole && (
        <p>
          <Button
            words={`show all ${(content.length / 1e6).toFixed(1)} million characters`}
            press={() => setWhole(true)}
          />{' '}
          <Button words="download" press={() => save(content, 'completion.txt')} />
        </p>
      )}
    </>
  );
}

/** A prompt as the turns of a chat; what was answered follows as the last one. */
export function Chat({ prompt, children }: { readonly prompt: string; readonly children: ComponentChildren }) {
  const turns = turnsOf(prompt);
  const marked = disclosedNames(prompt);
  return (
    <div class="chat">
      {turns.map(({ role, content }, i) => (
        <div class="turn" key={i}>
          <p class="role">{role}</p>
          <Completion
            content={content}
            marked={marked}
            label={i === turns.length - 1 ? 'prompt' : `prompt, turn ${i + 1}`}
          />
        </div>
      ))}
      {turns[0]?.content !== prompt && (
        <details class="quiet">
          <summary>the prompt as the model reads it</summary>
          <Completion content={prompt} label="prompt with its markup" />
        </details>
      )}
      {children}
    </div>
  );
}

export interface Side {
  readonly title: string;
  readonly answer: ShownCompletion | null;
  readonly isChosen?: boolean;
}

/** Two answers beside each other; what only one of them says is marked, and so is the name that the hint discloses. */
export function BothAnswers(props: {
  readonly sides: readonly [Side, Side];
  readonly marked?: readonly string[];
  readonly isMarked?: boolean;
}) {
  const { sides, marked = [], isMarked = true } = props;
  return (
    <div class="pair">
      {sides.map(({ title, answer, isChosen = false }, i) => (
        <div key={title} class={`turn answer ${isChosen ? 'chosen' : ''}`}>
          <h3>
            {title}: {answer === null ? 'not evaluated' : <VerdictMark word={verdictWordOf(answer)} />}
          </h3>
          {answer !== null && (
            <Completion
              content={answer.completion}
              marked={answer.attempt ? marked : []}
              other={isMarked ? (sides[1 - i].answer?.completion ?? null) : null}
              label={`completion, ${title}`}
              own={i === 0 ? 'del' : 'ins'}
            />
          )}
        </div>
      ))}
    </div>
  );
}

export function save(content: string, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([content], { type: 'text/plain' }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
