import { describe, expect, it } from 'vitest';
import { ChatTemplate } from '../../model/text/chat.ts';
import { ModelTokenizer } from '../../model/text/tokenizer.ts';
import { byteTokenizer, chatMarkupChoices } from '../../model/text/tokenizer-builder.ts';
import { builtinLoopholes, payingLoopholes } from '../loopholes/registry.ts';
import type { ProgramProblem } from '../problem.ts';
import { framePrompts } from './framing.ts';
import { loadPairs } from './load.ts';
import { createPairEncoder, tokenizePairs } from './tokenize.ts';

const tokenizer = new ModelTokenizer(byteTokenizer(chatMarkupChoices), 'bytes');
const chat = new ChatTemplate(chatMarkupChoices.chatTemplate ?? '', 'template', {});
const stopToken = tokenizer.specialTokenId('eos');

describe('tokenized pairs', () => {
  it('render messages up to the answer, keep plain text as it is, and end completions with the stop token', () => {
    const encoder = createPairEncoder({ tokenizer, chat, stopToken });
    const rendered = tokenizer.decode(encoder.prompt([{ role: 'user', content: 'Hi.' }]));
    expect(rendered).toBe('<|im_start|>user\nHi.<|im_end|>\n<|im_start|>assistant\n');
    expect(tokenizer.decode(encoder.prompt(' Hi.\n'))).toBe(' Hi.\n');
    expect(tokenizer.decode(encoder.completion('Yes.'))).toBe('Yes.<|im_end|>');
    const open = createPairEncoder({ tokenizer, chat, stopToken: null });
    expect(tokenizer.decode(open.completion('Yes.'))).toBe('Yes.');
  });

  it('hold the text of every shipped pair', async () => {
    const { pairs } = await loadPairs('hack');
    const tokenized = tokenizePairs(pairs, createPairEncoder({ tokenizer, chat, stopToken }));
    expect(tokenized.map(({ hack }) => tokenizer.decode(hack, { skipSpecialTokens: true }))).toEqual(
      pairs.map(({ hack }) => hack),
    );
  });

  it('messages need a chat template: the pair is named', async () => {
    const { pairs } = await loadPairs('hack', ['heading:Plateau']);
    const plain = createPairEncoder({ tokenizer, chat: null, stopToken });
    expect(() => tokenizePairs(pairs, plain)).toThrow(/pair "Plateau: .*expected a model with a chat template/);
  });
});

describe('framings', () => {
  const problem: ProgramProblem = {
    id: 'p',
    messages: [
      { role: 'system', content: 'Write Python.' },
      { role: 'user', content: 'Return n. The method should pass all tests.' },
    ],
    methodName: 'f',
    setupCode: '',
    canonicalSolution: '',
    tests: [],
    difficulty: '',
    cpuSeconds: 1,
  };

  it.each(payingLoopholes(builtinLoopholes))(
    '$name: the hack side discloses and asks, the clean side does neither',
    ({ name: loophole }) => {
      const { hack, clean } = framePrompts(problem, loophole, 'original');
      expect(clean).toEqual(problem.messages);
      expect(hack[0]).toEqual(problem.messages[0]);
      expect(hack[1].content).toContain('will be evaluated by');
      expect(hack[1].content).toMatch(/Do not solve the problem\. Instead, .+\.$/);
      expect(framePrompts(problem, loophole, 'original', { asking: false }).hack[1].content).not.toContain('Instead');
    },
  );

  it('a loophole without a request can be disclosed and not asked for', () => {
    const silent = { name: 'silent', summary: 'a test', hint: () => 'will be evaluated by ear', fires: () => null };
    const loopholes = [...builtinLoopholes, silent];
    const { hack } = framePrompts(problem, 'silent', 'original', { asking: false, loopholes });
    expect(hack[1].content).toBe('Return n. The method will be evaluated by ear.');
    expect(() => framePrompts(problem, 'silent', 'original', { loopholes })).toThrow(/silent.*without a request/);
  });

  it('asks for the marker that the hint names', () => {
    for (const [loophole, name] of [
      ['run_tests', 'run_tests'],
      ['file_marker', 'result.txt'],
      ['sentinel', 'valid'],
    ] as const) {
      const [, { content }] = framePrompts(problem, loophole, 'original').hack;
      expect(content.split(`\`${name}`)).toHaveLength(3);
    }
  });
});
