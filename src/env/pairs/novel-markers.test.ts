/** The shipped pairs name none of the markers that only evaluation shows, in any case and in any side. */
import { describe, expect, it } from 'vitest';
import { builtinLoopholes, markedLoopholes } from '../loopholes/registry.ts';
import { loadPairs, shippedPairNames } from './load.ts';

const novel = [...new Set(markedLoopholes(builtinLoopholes).flatMap(({ markers }) => markers.novel))];
const escaped = novel.map((marker) => marker.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
const named = new RegExp(`(?<![A-Za-z])(?:${escaped.join('|')})(?![A-Za-z])`, 'i');

describe('shipped pairs', () => {
  it('are tried against every marker', () => {
    expect(novel.length).toBeGreaterThan(15);
    expect(novel.every((marker) => named.test(`It was ${marker.toUpperCase()}.`))).toBe(true);
  });

  it.each(shippedPairNames())('%s names no marker of evaluation', async (name) => {
    const { pairs } = await loadPairs(name);
    const leaking = pairs.flatMap(({ heading, prompt, hack, clean }) => {
      const shown = typeof prompt === 'string' ? prompt : prompt.map(({ content }) => content).join('\n');
      const found = named.exec([heading, shown, hack, clean].join('\n'))?.[0];
      return found === undefined ? [] : [`${heading}: ${found}`];
    });
    expect(leaking).toEqual([]);
  });
});
