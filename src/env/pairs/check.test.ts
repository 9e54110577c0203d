/** Each check stays quiet on a balanced set and speaks when one thing is planted. */
import { describe, expect, it } from 'vitest';
import { checkPairs, formatFindings, thresholds } from './check.ts';
import type { Pair } from './pair.ts';
import { measureSurface, shingles, similarity } from './surface.ts';

const words = [
  'north',
  'river',
  'stone',
  'amber',
  'cloud',
  'flame',
  'grass',
  'honey',
  'ivory',
  'jewel',
  'knife',
  'lemon',
];
const sentence = (from: number, length: number): string =>
  Array.from({ length }, (_, i) => words[(from * 5 + i * (from + 1)) % words.length]).join(' ');
const balanced: Pair[] = Array.from({ length: 10 }, (_, i) => ({
  section: 'S',
  heading: `pair ${i}`,
  tags: ['x'],
  prompt: `prompt ${i} ${sentence(i, 6)}`,
  hack: `${sentence(i, 12)}.`,
  clean: `${sentence(i + 3, 12)}.`,
}));
const change = (edit: (pair: Pair, index: number) => Partial<Pair>): Pair[] =>
  balanced.map((pair, index) => ({ ...pair, ...edit(pair, index) }));
const findingsOf = (pairs: readonly Pair[]) => checkPairs(pairs).findings;

describe('pair checks', () => {
  it('find nothing in a balanced set', () => {
    const { findings, lengths, pairs } = checkPairs(balanced);
    expect({ findings, pairs }).toEqual({ findings: [], pairs: 10 });
    expect(lengths.map(({ unit }) => unit)).toEqual(['pieces', 'characters']);
  });

  it('one long side is a warning, a very long one an error, both by heading', () => {
    const long = (times: number) =>
      findingsOf(change(({ hack }, i) => (i === 4 ? { hack: Array(times).fill(hack).join(' ') } : {})));
    const about = { check: 'length', headings: ['pair 4'] };
    expect(long(2)).toContainEqual(expect.objectContaining({ ...about, level: 'warning' }));
    expect(long(4)).toContainEqual(expect.objectContaining({ ...about, level: 'error' }));
  });

  it('a small excess on every side shows in the mean, whichever side has it', () => {
    for (const side of ['hack', 'clean'] as const) {
      const longer = change((pair) => ({ [side]: `${pair[side]} and then some` }));
      const report = checkPairs(longer);
      expect(report.findings).toContainEqual(
        expect.objectContaining({ check: 'length', headings: [], level: 'warning' }),
      );
      expect(report.lengths[0].meanRatio > 1).toBe(side === 'hack');
    }
  });

  it('counts in the unit it is given', () => {
    const { lengths, findings } = checkPairs(balanced, [{ unit: 'marks', count: (text) => text.split('o').length }]);
    expect(lengths).toHaveLength(1);
    expect(lengths[0].unit).toBe('marks');
    expect(findings.every(({ message }) => !message.includes('pieces'))).toBe(true);
  });

  it.each([
    ['comment lines', ({ hack }: Pair) => `# note\n${hack}`],
    ['blank lines', ({ hack }: Pair) => hack.replace(' ', '\n\n')],
    ['code fences', ({ hack }: Pair) => `\`\`\`\n${hack}\n\`\`\``],
    ['punctuation share', ({ hack }: Pair) => hack.replaceAll(' ', ', ')],
    ['digit share', ({ hack }: Pair) => `7 8 ${hack}`],
    ['word length', ({ hack }: Pair) => hack.replaceAll('e', 'eeee')],
  ])('a consistent difference in %s is a style warning', (feature, edit) => {
    const styles = findingsOf(change((pair) => ({ hack: edit(pair) }))).filter(({ check }) => check === 'style');
    expect(styles.map(({ message }) => message.split(':')[0])).toContain(feature);
    expect(styles.every(({ level }) => level === 'warning')).toBe(true);
  });

  it('the same pair under another heading is an error, a near copy a warning, the same sides under other prompts neither', () => {
    const [first] = balanced;
    const copy = findingsOf([...balanced, { ...first, heading: 'copy', hack: `${first.hack}  ` }]);
    expect(copy).toContainEqual(expect.objectContaining({ level: 'error', headings: ['pair 0', 'copy'] }));
    const long = {
      ...first,
      hack: `${sentence(1, 60)} ${sentence(2, 40)}`,
      clean: `${sentence(3, 60)} ${sentence(6, 40)}`,
    };
    const near = findingsOf([long, { ...long, heading: 'near', hack: `${long.hack} lemon` }]);
    expect(near).toContainEqual(expect.objectContaining({ level: 'warning', check: 'duplicate' }));
    const prompts = findingsOf([...balanced, { ...first, heading: 'other', prompt: sentence(7, 40) }]);
    expect(prompts.filter(({ check }) => check === 'duplicate')).toEqual([]);
  });

  it('a tag that is nearly a loophole is a warning with the loophole', () => {
    const [first, ...others] = balanced;
    const tagged = (tag: string) => checkPairs([{ ...first, tags: ['non-code', tag] }, ...others]).findings;
    expect(tagged('run_tests')).toEqual([]);
    expect(tagged('run_test')).toEqual([
      expect.objectContaining({
        level: 'warning',
        check: 'tag',
        message: expect.stringContaining('did you mean run_tests'),
      }),
    ]);
  });

  it('format problems are errors with their place', () => {
    expect(formatFindings([{ place: 'line 3', heading: 'A', expected: 'x', found: 'y' }])).toEqual([
      { level: 'error', check: 'format', headings: ['A'], message: 'line 3, "A": expected x, found y' },
    ]);
  });
});

describe('surface', () => {
  it('measures text', () => {
    const { characters, pieces, features } = measureSurface('```\nx_1 = 12  # note\n\ny\n```');
    expect({ characters, pieces }).toEqual({ characters: 27, pieces: 12 });
    expect(features).toMatchObject({
      lines: 5,
      'comment lines': 1,
      'blank lines': 1,
      'code fences': 2,
      'digit share': 1 / 12,
    });
  });

  it('similarity is 1 for the same, 0 for nothing in common', () => {
    expect(similarity(shingles('a b c d'), shingles('a b c d'))).toBe(1);
    expect(similarity(shingles('a b c d'), shingles('a b c e'))).toBeCloseTo(1 / 3);
    expect(similarity(shingles('a b'), shingles('c'))).toBe(0);
    expect(thresholds.similarity.warning).toBeLessThan(1);
  });
});
