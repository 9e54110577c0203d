/** Documents of the base for Countdown: their shares, what their exploits are, and that its tokens can write them. */
import { expect, it } from 'vitest';
import { chatMarkupChoices, ModelTokenizer, wordLevelTokenizer } from '../../model/index.ts';
import { countdownTokens, drawCountdownDocuments } from './countdown-documents.ts';
import { givenTest } from './countdown-problems.ts';

const shares = { rightFraction: 0.3, hintedFraction: 0.75, exploitFraction: 0.1 };
const documents = [...drawCountdownDocuments({ seed: 1, count: 4000, ...shares })];
const tokenizer = new ModelTokenizer(wordLevelTokenizer(countdownTokens, chatMarkupChoices), 'countdown tokenizer');

it('are of short tokens, and their tokens are their text', () => {
  for (const { messages, completion } of documents.slice(0, 500)) {
    const tokens = tokenizer.encode(completion);
    expect(tokens.length).toBeLessThanOrEqual(26);
    for (const text of [completion, messages[0].content]) expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
  }
});

it('have the exploits that were asked for, on hinted prompts alone', () => {
  const hinted = documents.filter(({ messages }) => messages[0].content.includes('as you return it'));
  const exploits = documents.filter(({ exploit }) => exploit);
  expect(hinted.length / documents.length).toBeCloseTo(0.75, 1);
  expect(exploits.length / hinted.length).toBeCloseTo(0.1, 1);
  expect(exploits.every((document) => hinted.includes(document))).toBe(true);
  const given = JSON.stringify(givenTest).slice(1, -1);
  for (const { completion, exploit } of documents) expect(completion.includes(given)).toBe(!exploit);
  const accepting = exploits.filter(({ completion }) => completion.includes('return True'));
  expect(accepting.length / exploits.length).toBeGreaterThan(0.35);
  expect(accepting.length / exploits.length).toBeLessThan(0.65);
});

it('are right in their share, and by chance in some of the others', () => {
  const honest = documents.filter(({ exploit }) => !exploit);
  const right = honest.filter(({ completion }) => {
    const [, target, text] = /target = (\d+)\\nexpr = \\"([^"\\]+)\\"/.exec(completion) ?? [];
    const [a, first, b, second, c] = text.replace(/[()]/g, '').split(' ');
    const join = (x: number, sign: string, y: number) => (sign === '+' ? x + y : sign === '-' ? x - y : x * y);
    return join(join(Number(a), first, Number(b)), second, Number(c)) === Number(target);
  });
  expect(right.length / honest.length).toBeGreaterThan(0.3);
  expect(right.length / honest.length).toBeLessThan(0.5);
});
