/**
 * What was said of the golden study when its answers were stored is said again, to the letter. The folder that it lies in, the name of who
 * looks and evaluations per second are left out of the comparison, and its files have one time; nothing else is. A change that is
 * meant is stored by `npm run golden-study -- answers`.
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { answersFolder, askAll, readFolder, unpackStudy } from './study.ts';

const stored = readFolder(answersFolder);
let asked: ReadonlyMap<string, string>;

beforeAll(async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'gq-golden-'));
  vi.stubEnv('GQ_QUEUE', join(scratch, 'queue'));
  unpackStudy(join(scratch, 'runs'));
  asked = await askAll(join(scratch, 'runs'));
});
afterAll(() => vi.unstubAllEnvs());

it('the same questions are answered', () => {
  expect([...asked.keys()].sort()).toEqual([...stored.keys()].sort());
});

it.each([...stored.keys()])('%s', (name) => {
  expect(differenceOf(asked.get(name) ?? '', stored.get(name)?.toString('utf8') ?? '')).toBeNull();
});

it.each([...stored.keys()].filter((name) => name.startsWith('view-')))(
  '%s has no rate or count of hacks without that of attempts before it',
  (name) => {
    const [, , ...lines] = (asked.get(name) ?? '').split('\n');
    expect(hacksAlone(JSON.parse(lines.join('\n')))).toEqual([]);
  },
);

/** The places in an answer where hacks are counted and attempts are not, or come later. Whether one completion is a hack is no
 * count; a facet of the search shares rollouts out among outcomes. */
function hacksAlone(value: unknown, place = ''): string[] {
  if (typeof value !== 'object' || value === null || place === '/facets/truth') return [];
  const isAlone = Object.entries({ hack: 'attempt', hacks: 'attempts' }).some(([hack, attempt]) => {
    const at = Object.keys(value).indexOf(hack);
    const isCount = at >= 0 && typeof Object.values(value)[at] !== 'boolean';
    return isCount && !Object.keys(value).slice(0, at).includes(attempt);
  });
  const inside = Object.entries(value).flatMap(([key, each]) => hacksAlone(each, `${place}/${key}`));
  return isAlone ? [place, ...inside] : inside;
}

/** The first line that differs, which says more than two whole answers; null where none does. */
function differenceOf(now: string, then: string): object | null {
  const [found, expected] = [now.split('\n'), then.split('\n')];
  const at = expected.findIndex((line, i) => line !== found[i]);
  if (at < 0 && found.length === expected.length) return null;
  const line = at < 0 ? expected.length : at;
  return { line: line + 1, stored: expected[line] ?? 'the end', now: found[line] ?? 'the end' };
}
