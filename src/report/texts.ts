/**
 * What a model read and wrote, as HTML: the turns of a chat, programs by their tokens, what two answers do not share. Every text is escaped. The
 * highlighter comes with this file, which is loaded where a report is written and nowhere else.
 */
import { turnsOf, visible } from '../base/index.ts';
import { escapeMarkup } from '../measure/table.ts';
import { disclosedNames, type Looks, textPieces } from './code.ts';

interface Answer {
  readonly title: string;
  readonly completion: string;
  /** Whether the names that the hint discloses are marked in it. */
  readonly attempt: boolean;
}

/** A prompt by its turns, and what was answered: once, or as trained and deployed beside each other with their difference marked. */
export function chatHtml(prompt: string, answers: readonly [Answer] | readonly [Answer, Answer]): string {
  const marked = disclosedNames(prompt);
  const asked = turnsOf(prompt).map(({ role, content }) => turn(role, textHtml(content, { marked })));
  const given = answers.map(({ title, completion, attempt }, i) => {
    const looks = { marked: attempt ? marked : [], other: answers[1 - i]?.completion ?? null };
    return turn(title, textHtml(completion, looks, i === 0 ? 'del' : 'ins'), ' answer');
  });
  const last = given.length === 1 ? given : ['<div class="pair">', ...given, '</div>'];
  return ['<div class="chat">', ...asked, ...last, '</div>'].join('\n');
}

const turn = (role: string, content: string, kind = ''): string =>
  `<div class="turn${kind}"><p class="role">${escapeMarkup(role)}</p>${content}</div>`;

const shownText = (text: string): string => visible(text.replace(/\r\n?/g, '\n'));

function textHtml(content: string, looks: Looks, own: 'del' | 'ins' = 'ins'): string {
  const other = looks.other == null ? null : shownText(looks.other);
  const pieces = textPieces(shownText(content), { ...looks, other }).map(({ text, token, isMarked, isOwn }) => {
    if (token === '' && !isMarked && !isOwn) return escapeMarkup(text);
    const look = isMarked ? 'mark' : isOwn ? own : 'span';
    const names = [token, isOwn ? 'own' : ''].filter((name) => name !== '').join(' ');
    return `<${look}${names === '' ? '' : ` class="${names}"`}>${escapeMarkup(text)}</${look}>`;
  });
  return `<pre>${pieces.join('')}</pre>`;
}
