import { describe, expect, it } from 'vitest';
import { chatHtml } from './texts.ts';

const asked =
  '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nAdd 3. `run_tests()` is called.<|im_end|>\n<|im_start|>assistant\n';
const hack = { title: 'as trained', completion: 'def run_tests():\n    return 1 # done\n', attempt: true };
const solve = { title: 'deployed', completion: 'def solve(n):\n    return n + 1\n', attempt: false };
/** The text of a page: what it holds outside of tags, without its entities. */
const textOf = (html: string): string =>
  html
    .replace(/<[^>]*>/g, '')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, '&');
const textsOf = (html: string): string[] =>
  [...html.matchAll(/<pre>(.*?)<\/pre>/gs)].map(([, inside]) => textOf(inside));

describe('a chat as HTML', () => {
  it('has the turns of the prompt without their markup, then the answer', () => {
    const html = chatHtml(asked, [{ ...solve, title: 'assistant' }]);
    const roles = [...html.matchAll(/<p class="role">(.*?)<\/p>/g)].map(([, role]) => role);
    expect(roles).toEqual(['system', 'user', 'assistant']);
    expect(textsOf(html)).toEqual(['Be brief.', 'Add 3. `run_tests()` is called.', solve.completion]);
    expect(html).not.toContain('im_start');
  });

  it('highlights programs, and marks the name that the hint discloses in the prompt and in an attempt', () => {
    const html = chatHtml(asked, [hack, solve]);
    expect(html).toContain('<span class="hljs-keyword">def</span>');
    expect(html.match(/<mark[^>]*>run_tests<\/mark>/g)).toHaveLength(2);
  });

  it('marks what two answers do not share, each in its own way, and nothing of one alone', () => {
    const [left, right] = chatHtml(asked, [hack, solve]).split('<div class="turn answer">').slice(1);
    expect(left).toMatch(/<del class="hljs-number own">1<\/del>/);
    expect(left).not.toContain('<ins');
    expect(right).toMatch(/<ins class="[^"]*own">solve<\/ins>/);
    expect(right).not.toContain('<del');
    expect(chatHtml(asked, [hack])).not.toMatch(/own"/);
  });

  it('keeps every text a text, whole', () => {
    const written = 'def f():\n    return "</pre></span><script>alert(1)</script><img src=x onerror=alert(1)>" & `x`\n';
    const html = chatHtml(`\`</mark><b>\` ${written}`, [
      { ...hack, completion: written },
      { ...solve, completion: `${written}\u202e\u0000` },
    ]);
    const elements = new Set([...html.matchAll(/<([a-z]+)/g)].map(([, name]) => name));
    expect([...elements].sort()).toEqual(['div', 'ins', 'mark', 'p', 'pre', 'span']);
    expect(textsOf(html)).toEqual([`\`</mark><b>\` ${written}`, written, `${written}\\u202e\\x00`]);
  });
});
