/** Files of a model that ask for more than any machine has are refused at once, by the key or the file. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { UserError } from '../../base/index.ts';
import { ChatTemplate } from '../text/chat.ts';
import { ModelFolder } from './folder.ts';

const home = mkdtempSync(join(tmpdir(), 'gq-bounds-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

describe('config.json', () => {
  it.each(['num_hidden_layers', 'hidden_size', 'num_attention_heads', 'vocab_size', 'max_position_embeddings'])(
    '%s = 1e8 is refused',
    async (key) => {
      const folder = join(home, key);
      cpSync('test/golden/qwen3', folder, { recursive: true });
      const config = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8'));
      writeFileSync(join(folder, 'config.json'), JSON.stringify({ ...config, layer_types: undefined, [key]: 1e8 }));
      await expect(ModelFolder.open(folder)).rejects.toThrow(UserError);
      await expect(ModelFolder.open(folder)).rejects.toThrow(key);
    },
  );
});

describe('a chat template', () => {
  const render = (source: string) => () =>
    new ChatTemplate(source, 'x/chat_template.jinja', {}, 0.5).render([{ role: 'user', content: 'Hi' }], {
      addGenerationPrompt: true,
    });

  it.each([
    '{% for i in range(1000000) %}{% endfor %}',
    '{% for i in range(0, 1000000, 2) %}x{% endfor %}',
    '{% for a in messages %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}{% endfor %}',
    '{% macro f(x) %}{{ f(x) }}{% endmacro %}{% for a in messages %}{{ f(a) }}{% endfor %}',
  ])('that would never end is refused: %s', (source) => {
    expect(render(source)).toThrow(/^render x\/chat_template\.jinja: expected/);
  });

  it('counts as far as templates do', () => {
    expect(render('{% for i in range(2, 8, 2) %}{{ i }} {% endfor %}{{ range(3) | length }}')()).toBe('2 4 6 3');
    expect(render('{% for i in range(3, 0, -1) %}{{ i }}{% endfor %}')()).toBe('321');
  });
});
