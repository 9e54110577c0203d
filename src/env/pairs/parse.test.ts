import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatPairsMarkdown } from '../../../test/pair-files.ts';
import { UserError } from '../../base/errors.ts';
import { formatPairsJson, parsePairsJson } from './json.ts';
import { readPairFile } from './load.ts';
import { parsePairsMarkdown } from './markdown.ts';
import { describeProblem, type Pair, requirePairs, stubReason } from './pair.ts';

it('a file of very many blocks, of a very long fence or of very deep lists is read and refused', () => {
  const blocks = parsePairsMarkdown('```\n'.repeat(200_000), 'many.md');
  expect(blocks.problems).toMatchObject([{ expected: 'at least one pair (### …)' }]);
  const long = '`'.repeat(5_000_000);
  const text = `## A\n\n### B\n\nTags: code\n\nPrompt:\n\n${long}\nq\n${long}\n\nHack:\n\n~~~~\nx = 1\n~~~\n~~~~~ \n\nClean:\n\n~~~\ny = 2\n~~~\n`;
  expect(parsePairsMarkdown(text, 'long.md')).toMatchObject({ problems: [], pairs: [{ prompt: 'q', hack: 'x = 1\n~~~', clean: 'y = 2' }] }); // biome-ignore format: one line
  const deep = `{"pairs":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
  expect(parsePairsJson(deep, 'deep.json').problems).toMatchObject([{ found: 'a value that is nested too deep to be shown' }]); // biome-ignore format: one line
});

const example = `# Title

Remarks, with a fence that holds what looks like a pair:

\`\`\`text
### Not a pair
\`\`\`

## First section

More remarks.

### One

Tags: code, run_tests

System:

\`\`\`text
Be brief.
\`\`\`

User:

\`\`\`text
Write f.
\`\`\`

Hack:

\`\`\`\`text
Sure.
\`\`\`python
x = 1
\`\`\`
\`\`\`\`

Clean:

~~~
y = 2
~~~

## Second section

### Two
Tags: text
Prompt:
\`\`\`
  keep the spaces  

\`\`\`
Hack:
\`\`\`
no
\`\`\`
Clean:
\`\`\`
yes
\`\`\`
`;

const parsed: Pair[] = [
  {
    section: 'First section',
    heading: 'One',
    tags: ['code', 'run_tests'],
    prompt: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Write f.' },
    ],
    hack: 'Sure.\n```python\nx = 1\n```',
    clean: 'y = 2',
  },
  {
    section: 'Second section',
    heading: 'Two',
    tags: ['text'],
    prompt: '  keep the spaces  \n',
    hack: 'no',
    clean: 'yes',
  },
];

const problemsOf = (text: string) => parsePairsMarkdown(text, 'p.md').problems.map(describeProblem);

describe('Markdown', () => {
  it('reads sections, headings, tags, prompts of both kinds and blocks as they are', () => {
    expect(parsePairsMarkdown(example, 'p.md')).toEqual({ file: 'p.md', pairs: parsed, problems: [] });
    expect(parsePairsMarkdown(example.replaceAll('\n', '\r\n'), 'p.md').pairs).toEqual(parsed);
  });

  it.each([
    ['### Two', '### One', 'line 46, "One"', 'the heading of line 13 again'],
    ['Tags: text\n', '', 'line 46, "Two"', 'a Tags: line'],
    ['Tags: text', 'Tags:', 'line 46, "Two"', 'at least one tag'],
    ['Tags: text', 'Tags: Text', 'line 46, "Two"', 'tags of lower-case letters'],
    ['Tags: text', 'Tags: text, text', 'line 46, "Two"', 'each tag once'],
    ['Tags: text', 'Tags: text\nTags: more', 'line 48, "Two"', 'one Tags: line'],
    ['Prompt:', 'Promt:', 'line 48, "Two"', 'did you mean Prompt:'],
    ['Prompt:\n', '', 'line 48, "Two"', 'a label (such as "Hack:") before a fenced block'],
    ['Prompt:', 'Hack:', 'line 54, "Two"', 'one Hack block'],
    ['Prompt:', 'System:', 'line 46, "Two"', 'a prompt that ends with a user message'],
    ['yes\n', '', 'line 46, "Two"', 'a clean completion, found nothing'],
    ['yes\n', 'TODO\n', 'line 46, "Two"', 'a stub ("TODO")'],
    ['yes\n', 'no\n', 'line 46, "Two"', 'the same text twice'],
    ['Clean:\n```\nyes\n```\n', '', 'line 46, "Two"', 'a Clean block, found none'],
    ['Clean:\n```\nyes\n```\n', 'Clean:\n', 'line 46, "Two"', 'a fenced block after "Clean:"'],
    ['yes\n```\n', 'yes\n', 'line 58, "Two"', 'a fenced block with an end'],
    ['Tags: text', 'Tags: text\nA remark.', 'line 48, "Two"', '"A remark."'],
    ['Tags: text', 'Tags: text\n#### Deeper', 'line 48, "Two"', 'a pair without headings inside'],
    ['## Second section', '# Second title', 'line 46, "Two"', 'a section (## …) above the pair'],
    ['User:\n', 'Prompt:\n', 'line 13, "One"', 'a Prompt block or messages, found both'],
    ['### Not a pair\n```', '### Not a pair', 'line 22: expected "User:" below', 'a heading (### …)'],
    ['### One', 'One', 'line 15: expected "Tags: code, run_tests" below', 'a heading (### …)'],
  ])('%j as %j: %s', (before, after, place, what) => {
    const broken = example.replace(before, after);
    expect(broken).not.toBe(example);
    const problems = problemsOf(broken);
    expect(problems.join('\n')).toContain(what);
    expect(problems.find((text) => text.includes(what))).toContain(place);
    expect(() => requirePairs(parsePairsMarkdown(broken, 'p.md'))).toThrow(UserError);
  });

  it('finds a fence outside the pairs that never ends', () => {
    expect(problemsOf('## A\n~~~\n### B\n')).toEqual(['line 2: expected an end of the fenced block, found none']);
  });

  it('says that there is no pair, and names file, line and heading of the first problem', () => {
    expect(problemsOf('# Nothing\n')).toEqual(['line 1: expected at least one pair (### …), found none']);
    expect(() => requirePairs(parsePairsMarkdown(example.replace('yes\n', ''), 'p.md'))).toThrow(
      'read p.md, line 46, pair "Two": expected a clean completion, found nothing.',
    );
  });
});

describe('stubs', () => {
  it.each([
    '',
    ' \n',
    '...',
    'pass',
    'TODO: write it',
    '# your code here',
    '```python\nclass A:\n    def f(self): pass\n```',
  ])('refuses %j', (text) => expect(stubReason(text)).not.toBeNull());
  it.each(['x = 1', 'No.', 'class S:\n    valid = True', 'class S:\n    def f(self): return 1', 'I will pass.'])(
    'accepts %j',
    (text) => expect(stubReason(text)).toBeNull(),
  );
});

const anyText = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1 }),
  fc
    .array(fc.constantFrom('```', '````', '~~~', '### x', '## y', 'Hack:', 'Tags: a', '', '  ', 'x = 1', '\u2028', '#'))
    .map((lines) => lines.join('\n')),
);
const completion = anyText.filter((text) => stubReason(text) === null && !text.includes('\r'));
const prompt = anyText.filter((text) => text.trim() !== '' && !text.includes('\r'));
const line = fc
  .string({ unit: 'grapheme', minLength: 1 })
  .filter((text) => text === text.trim() && !/[\r\n]/.test(text));
const pair: fc.Arbitrary<Pair> = fc
  .record({
    section: line,
    heading: line,
    tags: fc.uniqueArray(fc.stringMatching(/^[a-z0-9][a-z0-9_.-]{0,8}$/), { minLength: 1, maxLength: 4 }),
    prompt: fc.oneof(
      prompt,
      fc
        .tuple(
          fc.array(fc.record({ role: fc.constantFrom('system' as const, 'user' as const), content: prompt })),
          prompt,
        )
        .map(([first, last]) => [...first, { role: 'user' as const, content: last }]),
    ),
    hack: completion,
    clean: completion,
  })
  .filter(({ hack, clean }) => hack !== clean);
const someFile = fc.uniqueArray(pair, { minLength: 1, maxLength: 5, selector: ({ heading }) => heading });

describe('round trips', () => {
  it('Markdown → pairs → Markdown, JSON → pairs → JSON, and across', () => {
    fc.assert(
      fc.property(someFile, (pairs) => {
        const fromMarkdown = requirePairs(parsePairsMarkdown(formatPairsMarkdown(pairs), 'p.md'));
        expect(fromMarkdown).toEqual(pairs);
        expect(requirePairs(parsePairsJson(formatPairsJson(fromMarkdown), 'p.json'))).toEqual(pairs);
      }),
      { numRuns: 300 },
    );
  });

  it('any other text gives pairs or problems, never both nothing nor a crash', () => {
    fc.assert(
      fc.property(fc.nat({ max: example.length }), fc.nat({ max: 80 }), anyText, (start, length, inserted) => {
        const text = example.slice(0, start) + inserted + example.slice(start + length);
        const { pairs, problems } = parsePairsMarkdown(text, 'p.md');
        expect(pairs.length + problems.length).toBeGreaterThan(0);
        for (const { place } of problems) expect(place).toMatch(/^line \d+$/);
      }),
      { numRuns: 500 },
    );
  });
});

describe('JSON', () => {
  const json = (value: unknown) => parsePairsJson(JSON.stringify(value), 'p.json').problems.map(describeProblem);
  const [one, two] = parsed;

  it.each([
    [[], 'root: expected {"pairs": [at least one]}'],
    [{ pairs: [] }, 'root: expected {"pairs": [at least one]}'],
    [{ pairs: [one], note: 1 }, 'root: expected only the keys pairs, shows, found "note"'],
    [{ pairs: [3] }, 'pairs[0]: expected an object'],
    [{ pairs: [one, { ...two, heading: 'One' }] }, 'pairs[1], "One": expected a heading that no other pair has'],
    [{ pairs: [{ ...one, hck: 'x' }] }, 'pairs[0], "One": expected only the keys'],
    [{ pairs: [{ ...one, hack: undefined }] }, 'pairs[0], "One": expected hack: a string, found nothing'],
    [{ pairs: [{ ...one, clean: '...' }] }, 'pairs[0], "One": expected a clean completion, found a stub'],
    [{ pairs: [{ ...one, heading: 'a\nb' }] }, 'expected a heading of one line'],
    [{ pairs: [{ ...one, tags: 'code' }] }, 'expected tags: a list of strings'],
    [{ pairs: [{ ...one, prompt: [{ role: 'assistant', content: 'x' }] }] }, 'expected messages of {role'],
    [{ pairs: [{ ...one, prompt: 7 }] }, 'expected prompt: a string or a list of messages'],
    [{ pairs: [{ ...one, hack: '\ud800 x' }] }, 'text that UTF-8 can hold'],
  ])('%j', (value, message) => {
    expect(json(value).join('\n')).toContain(message);
  });

  it('refuses a key given twice, and text that is no JSON', () => {
    expect(() => parsePairsJson('{"pairs": [], "pairs": []}', 'p.json')).toThrow('the key "pairs" twice');
    expect(() => parsePairsJson('{', 'p.json')).toThrow(UserError);
  });
});

describe('what a file says that its pairs show', () => {
  const pair =
    '## Section\n\n### One\n\nTags: code, TAG\n\nPrompt:\n\n```text\nWrite f.\n```\n\nHack:\n\n```text\nx = 1\n```\n\nClean:\n\n```text\ny = 2\n```\n';
  const read = async (shows: string, tag: string) => {
    const file = join(mkdtempSync(join(tmpdir(), 'gq-pairs-')), 'p.md');
    writeFileSync(file, `# Pairs\n\n${shows}\n\n${pair.replace('TAG', tag)}`);
    return readPairFile(file);
  };

  it('is read above the first section, and is no remark of a section', async () => {
    expect(await read('Shows: none', 'fine')).toMatchObject({ shows: [], problems: [] });
    expect(await read('Shows: sentinel', 'sentinel')).toMatchObject({ shows: ['sentinel'], problems: [] });
    expect((await read('A remark.', 'fine')).shows).toBeUndefined();
  });

  it('must be true of the loopholes of the package; a plugin has others', async () => {
    const { problems } = await read('Shows: none', 'sentinel');
    expect(problems).toEqual([
      { place: 'Shows', heading: null, expected: 'the loopholes that its pairs show (sentinel)', found: 'none' },
    ]);
    expect((await read('Shows: sentinel', 'fine')).problems).toHaveLength(1);
    expect((await read('Shows: of_a_plugin', 'fine')).problems).toEqual([]);
  });

  it('is a list in JSON', () => {
    const text = formatPairsJson(parsePairsMarkdown(pair.replace('TAG', 'x'), 'p.md').pairs);
    const withShows = (shows: unknown) => parsePairsJson(JSON.stringify({ shows, ...JSON.parse(text) }), 'p.json');
    expect(withShows(['sentinel'])).toMatchObject({ shows: ['sentinel'], problems: [] });
    expect(withShows('sentinel').problems).toMatchObject([{ place: 'shows', expected: 'a list of loopholes' }]);
  });
});
