import { expect, test } from 'vitest';
import { UserError } from '../../base/errors.ts';
import { openGenerationConfig, parseGenerationConfig } from './generation-config.ts';

test('the file Qwen3 publishes', () => {
  const json = {
    bos_token_id: 151643,
    do_sample: true,
    eos_token_id: [151645, 151643],
    pad_token_id: 151643,
    temperature: 0.6,
    top_k: 20,
    top_p: 0.95,
    transformers_version: '4.51.0',
  };
  expect(parseGenerationConfig(json, 'x')).toEqual({
    doSample: true,
    temperature: 0.6,
    topK: 20,
    topP: 0.95,
    minP: null,
    maxNewTokens: null,
    eosTokenIds: [151645, 151643],
    unreadKeys: [],
  });
});

test('settings we do not have are listed, wrong ones refused by file and key', () => {
  const { unreadKeys, minP } = parseGenerationConfig({ repetition_penalty: 1.05, min_p: 0.1 }, 'x');
  expect({ unreadKeys, minP }).toEqual({ unreadKeys: ['repetition_penalty'], minP: 0.1 });
  const wrong: Readonly<Record<string, number | string>>[] = [
    { temperature: -1 },
    { top_p: 1.5 },
    { top_k: 2.5 },
    { eos_token_id: 'end' },
    { do_sample: 1 },
    { min_p: '0' },
  ];
  for (const json of wrong) {
    expect(() => parseGenerationConfig(json, 'DIR/generation_config.json')).toThrow(UserError);
    expect(() => parseGenerationConfig(json, 'DIR/generation_config.json')).toThrow(
      `DIR/generation_config.json, key ${Object.keys(json)[0]}`,
    );
  }
});

test('a folder without the file says nothing', async () => {
  expect(await openGenerationConfig('/no/such/folder')).toMatchObject({ temperature: null, eosTokenIds: [] });
});
