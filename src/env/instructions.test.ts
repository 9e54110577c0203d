/** Instructions beside the user message: where they stand, which wording a model gets, and what is refused. */
import { describe, expect, it } from 'vitest';
import { ModelTokenizer } from '../model/text/tokenizer.ts';
import { expectedInstruction, instruct, instructionLabel, instructionPresets, readablePresets, readInstruction } from './instructions.ts'; // biome-ignore format: one line
import { drawMicroDocuments } from './micro/documents.ts';
import { microTokenizer } from './micro/tokenizer.ts';
import type { Message } from './problem.ts';
import { easySource } from './sources/easy.ts';
import { microSource } from './sources/micro.ts';
import { storiesSource } from './sources/stories.ts';

const messages: readonly Message[] = [
  { role: 'system', content: 'You write Python.' },
  { role: 'user', content: 'Add two numbers.' },
];
const call = 'test';

describe('an instruction beside the user message', () => {
  it('stands after it or before it, with an empty line between', () => {
    const after = instruct(messages, { name: 'x', text: 'Be quick.', place: 'after' });
    expect(after).toEqual([messages[0], { role: 'user', content: 'Add two numbers.\n\nBe quick.' }]);
    const before = instruct(messages, { name: 'x', text: 'Be quick.', place: 'before' });
    expect(before[1].content).toBe('Be quick.\n\nAdd two numbers.');
    expect(messages[1].content).toBe('Add two numbers.');
  });

  it('needs no empty line where a new line is there already', () => {
    const lines: readonly Message[] = [{ role: 'user', content: 'start with n.\n' }];
    expect(instruct(lines, { name: 'x', text: 'use it.\n', place: 'after' })[0].content).toBe(
      'start with n.\nuse it.\n',
    );
    expect(instruct(lines, { name: 'x', text: 'use it.\n', place: 'before' })[0].content).toBe(
      'use it.\nstart with n.\n',
    );
  });

  it('none leaves the messages as they are', () => {
    expect(instruct(messages, readInstruction('none', 'before', true, call))).toBe(messages);
  });
});

describe('wordings', () => {
  it('the micro request is the sentence that the micro base was pre-trained to answer with the exploit', () => {
    const asked = [...drawMicroDocuments({ seed: 1, count: 64 })].filter((document) => document.asked);
    expect(asked.length).toBeGreaterThan(2);
    const { text } = readInstruction('request', 'after', false, call);
    for (const document of asked) {
      expect(document.exploit).toBe(true);
      expect(document.messages[0].content.endsWith(`.\n${text}`)).toBe(true);
    }
  });

  it('the micro model has a token for every word of its presets, and presets that it cannot say are refused', () => {
    const tokenizer = new ModelTokenizer(microTokenizer(), 'micro');
    const readable = readablePresets(instructionPresets, false);
    for (const name of readable) {
      const { text } = readInstruction(name, 'after', false, call);
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
    }
    expect(instructionPresets.filter((name) => !readable.includes(name))).toEqual(['pass-tests', 'test-environment']);
    expect(() => readInstruction('pass-tests', 'after', false, call)).toThrow(
      'presets that the micro language can say',
    );
    expect(readInstruction('pass-tests', 'after', true, call).text).toContain('the evaluation passes');
  });

  it('a model of texts that follows no request is asked in neither language', () => {
    expect([storiesSource, microSource, easySource].map(({ asksInWords }) => asksInWords)).toEqual([null, false, true]);
    expect(readablePresets(instructionPresets, null)).toEqual(['none']);
    expect(readInstruction('none', 'after', null, call).text).toBe('');
    expect(() => readInstruction('request', 'after', null, call)).toThrow('follows no request, found request');
    expect(readInstruction('once more silver.', 'after', null, call).text).toBe('once more silver.');
  });

  it('a wording differs from that of every other preset, in words', () => {
    const texts = instructionPresets.map((name) => readInstruction(name, 'after', true, call).text);
    expect(new Set(texts).size).toBe(texts.length);
  });
});

describe('names', () => {
  it('are fit for files and tell texts and places apart', () => {
    expect(readInstruction('request', 'after', true, call).name).toBe('request');
    expect(readInstruction('request', 'before', true, call).name).toBe('request-before');
    // The first eight digits of the SHA-256 of the text.
    expect(readInstruction('be quick', 'after', true, call)).toEqual({
      name: 'own-8676ae4f',
      text: 'be quick',
      place: 'after',
    });
  });

  it('of tables say the preset or the beginning of the text', () => {
    expect(instructionLabel('unrelated', 'after')).toBe('unrelated');
    expect(instructionLabel('request', 'before')).toBe('request before');
    expect(instructionLabel('Write  \n fast code.', 'after')).toBe('“Write fast code.”');
    expect(instructionLabel('a '.repeat(40), 'after')).toBe(`“${'a '.repeat(20).slice(0, 39)}…”`);
  });

  it('a preset misspelt is no own text', () => {
    expect(expectedInstruction('use it.\n')).toBeNull();
    expect(expectedInstruction('requests')).toContain(
      'or an instruction of more than one word (did you mean "request"?)',
    );
    expect(() => readInstruction('unrelatd', 'after', true, call)).toThrow('did you mean "unrelated"?');
    expect(expectedInstruction('')).toContain('a preset (none, ');
  });
});
