import { describe, expect, it } from 'vitest';
import { chatText, promptText, turnsOf } from './chat.ts';

describe('turns of a prompt', () => {
  it.each([
    ['<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nAdd 3.\n<|im_end|>\n<|im_start|>assistant\n'],
    [
      '<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nAdd 3.<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n',
    ],
    [
      '<bos><start_of_turn>system\nBe brief.<end_of_turn>\n<start_of_turn>user\nAdd 3.<end_of_turn>\n<start_of_turn>model\n',
    ],
    ['<|system|>\nBe brief.<|end|>\n<|user|>\nAdd 3.<|end|>\n<|assistant|>\n'],
  ])('are found in %j', (prompt) => {
    const turns = turnsOf(prompt);
    expect(turns.map(({ role, content }) => `${role}: ${content}`)).toEqual(['system: Be brief.', 'user: Add 3.']);
  });

  it('are one where there is no template, and keep what was begun for the model', () => {
    for (const content of ['Add <b>3</b>.\n', '<b>', ''])
      expect(turnsOf(content)).toEqual([{ role: 'prompt', content }]);
    expect(turnsOf('<|im_start|>user\nAdd.<|im_end|>\n<|im_start|>assistant\n<think>').at(-1)).toEqual({
      role: 'assistant',
      content: '<think>',
    });
  });
});

describe('a prompt as text', () => {
  const asked = '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nAdd 3.<|im_end|>\n<|im_start|>assistant\n';

  it('has a line for each turn, and the answer below', () => {
    expect(promptText(asked)).toBe('system: Be brief.\nuser: Add 3.');
    expect(chatText(asked, 'return n + 3')).toBe('system: Be brief.\nuser: Add 3.\nassistant:\nreturn n + 3');
    expect(chatText(`${asked}<think>`, 'So')).toBe('system: Be brief.\nuser: Add 3.\nassistant: <think>\nSo');
  });

  it('is as it is where there is no template', () => {
    expect(chatText('Add 3.\n', 'return n')).toBe('Add 3.\nreturn n');
  });
});
