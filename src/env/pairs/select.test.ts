import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatPairsMarkdown } from '../../../test/pair-files.ts';
import { UserError } from '../../base/errors.ts';
import { parsePairsMarkdown } from './markdown.ts';
import { type Pair, requirePairs } from './pair.ts';
import { hashPairs, selectPairs } from './select.ts';

const pair = (section: string, heading: string, ...tags: string[]): Pair => ({
  section,
  heading,
  tags,
  prompt: `prompt of ${heading}`,
  hack: `hack of ${heading}`,
  clean: `clean of ${heading}`,
});
const pairs = [
  pair('Code', 'Sum: by hand', 'behaviour', 'run_tests'),
  pair('Code', 'Sum: by sort', 'behaviour', 'sentinel'),
  pair('Code', 'Max', 'explicit', 'run_tests'),
  pair('Text', 'Audit', 'text'),
];
const headings = (...terms: string[]) => selectPairs(pairs, terms).map(({ heading }) => heading);

describe('selection', () => {
  it('takes everything, a section, a heading prefix, a tag, alternatives, and all terms together', () => {
    expect(headings()).toHaveLength(4);
    expect(headings('section:Text')).toEqual(['Audit']);
    expect(headings('heading:Sum')).toEqual(['Sum: by hand', 'Sum: by sort']);
    expect(headings('tag:run_tests')).toEqual(['Sum: by hand', 'Max']);
    expect(headings('tag:text, sentinel')).toEqual(['Sum: by sort', 'Audit']);
    expect(headings('tag:run_tests', 'tag:behaviour', 'section:Code')).toEqual(['Sum: by hand']);
  });

  it.each([
    [['tag:run_test'], 'Did you mean "run_tests"?'],
    [['section:code'], 'Did you mean "Code"?'],
    [['heading:Min'], 'the start of a heading in the file'],
    [['tag:run_tests,none'], '"none"'],
    [['tag:text', 'section:Code'], 'at least one pair that meets all terms, found none of 4'],
    [['tags:text'], 'section:NAME, heading:PREFIX or tag:TAG'],
    [['tag:'], 'section:NAME, heading:PREFIX or tag:TAG'],
    [['text'], 'section:NAME, heading:PREFIX or tag:TAG'],
  ])('%j: %s', (terms, message) => {
    expect(() => selectPairs(pairs, terms)).toThrow(UserError);
    expect(() => selectPairs(pairs, terms)).toThrow(message);
  });
});

describe('content hash', () => {
  const hashOf = (text: string, ...terms: string[]) =>
    hashPairs(selectPairs(requirePairs(parsePairsMarkdown(text, 'p.md')), terms));
  const text = formatPairsMarkdown(pairs);
  const selected = ['section:Code'];

  it('is of what was selected: other pairs, remarks, tags, sections and white space between blocks do not count', () => {
    const hash = hashOf(text, ...selected);
    const unchanged = [
      text.replace('hack of Audit', 'another text'),
      text.replace('### Audit', '### Inspection'),
      text.replace('# Pairs', '# Pairs\n\nA remark.'),
      text.replace('Tags: explicit, run_tests', 'Tags: run_tests, explicit, new'),
      text.replaceAll('\n\n', '\n   \n\n'),
      text.replaceAll('```text', '````python').replace(/^```$/gm, '````'),
      text.replaceAll('\n', '\r\n'),
      text.replace(
        '## Text\n',
        '## Text\n\n### Extra\nTags: x\nPrompt:\n```\np\n```\nHack:\n```\nh\n```\nClean:\n```\nc\n```\n',
      ),
    ];
    for (const other of unchanged) {
      expect(other).not.toBe(text);
      expect(hashOf(other, ...selected)).toBe(hash);
    }
    expect(hashOf(text.replaceAll('## Code', '## Programs'), 'section:Programs')).toBe(hash);
  });

  it('changes with every selected character, and with the order', () => {
    const hash = hashOf(text, ...selected);
    const blocks = selectPairs(pairs, selected).flatMap(({ heading, hack, clean, prompt }) => [
      heading,
      hack,
      clean,
      prompt,
    ]);
    fc.assert(
      fc.property(fc.constantFrom(...blocks), fc.constantFrom(' ', '\t', 'x', '.'), (block, added) => {
        const own = `\n${block as string}\n`;
        const found = text.includes(own) ? own : ` ${block as string}\n`;
        const changed = text.replace(
          found,
          `${found.slice(0, -1)}${added === '\t' || added === ' ' ? `${added}x` : added}\n`,
        );
        expect(changed).not.toBe(text);
        expect(hashOf(changed, ...selected)).not.toBe(hash);
      }),
    );
    expect(hashPairs([...pairs].reverse())).not.toBe(hashPairs(pairs));
    expect(hashPairs(pairs)).not.toBe(hashPairs(pairs.map((one) => ({ ...one, hack: one.clean, clean: one.hack }))));
  });
});
