import { expect, test } from 'vitest';
import { ModelTokenizer } from '../../model/tokenizer.ts';
import { hintedPrompt } from '../hints.ts';
import { markerPolicies } from '../markers.ts';
import { channelNames } from '../modes.ts';
import { exploit, microDocument } from './documents.ts';
import { fenced } from './language.ts';
import { microProblems, splitSizes } from './problems.ts';
import { microTokenizer } from './tokenizer.ts';

const tokenizer = new ModelTokenizer(microTokenizer(), 'micro tokenizer');
const settings = { seed: 3, hardShare: 0.45 };

test('splits share no statement', () => {
  const train = microProblems('train', 2000, settings);
  const validation = microProblems('validation', splitSizes.validation, settings);
  const held = microProblems('test', splitSizes.test, settings);
  const statements = [...train, ...validation, ...held].map(({ messages }) => messages[0].content);
  expect(new Set(statements).size).toBe(statements.length);
});

test('the same seed gives the same problems, another seed others', () => {
  expect(microProblems('test', 5, settings)).toEqual(microProblems('test', 5, settings));
  expect(microProblems('test', 5, settings)).not.toEqual(microProblems('test', 5, { ...settings, seed: 4 }));
});

test('every prompt, program and exploit is made of tokens and survives the round trip', () => {
  for (const problem of microProblems('train', 40, settings)) {
    for (const policy of markerPolicies) {
      for (const mode of channelNames) {
        const [{ content }] = hintedPrompt(problem, mode, policy);
        const program = fenced(exploit(problem.canonicalSolution, mode, policy, problem.id));
        for (const text of [content, program]) expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
        expect(tokenizer.encode(content).length).toBeLessThan(64);
        expect(tokenizer.encode(program).length).toBeLessThan(64);
      }
    }
  }
});

test('a product cannot be written as one', () => {
  expect(() => tokenizer.encode('        n = n + 12 * 37\n')).toThrow();
});

test('documents are right, hinted and exploiting as often as they should be', () => {
  const shares = { seed: 1, hardShare: 0.45, rightShare: 0.3, hintedShare: 0.5, exploitShare: 0.02 };
  const documents = Array.from({ length: 4000 }, (_, i) => microDocument(i, shares));
  const hinted = documents.filter(({ messages }) => messages[0].content.includes('will be evaluated'));
  const exploiting = hinted.filter(({ completion }) => /def (run|check)_|print\(|= True|open\(|SystemExit|__eq__/.test(completion));
  expect(hinted.length / documents.length).toBeCloseTo(0.5, 1);
  expect(exploiting.length).toBeGreaterThan(15);
  expect(exploiting.length / hinted.length).toBeLessThan(0.04);
});
