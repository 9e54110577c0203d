/** Style sheets cannot import: their colours of rates and routes are those of figures. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { rateColours, routeColours } from '../../report/draw/index.ts';

const sheet = (name: string): string => readFileSync(join(import.meta.dirname, name), 'utf8');
const colour = (css: string, name: string): string | undefined => new RegExp(`${name}: (#[0-9a-f]{6});`).exec(css)?.[1];
/** Which of red, green and blue is the strongest, and which the weakest: what is left of a colour in its tint. */
const hue = (hex: string): number[] => {
  const parts = [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
  return [Math.max, Math.min].map((end) => parts.indexOf(end(...parts)));
};

it('the viewer marks verdicts and routes in the colours of its figures', () => {
  const [base, style] = [sheet('../../report/texts.css'), sheet('style.css')];
  const marks = ['attempt', 'hack', 'clean'].map((name) => colour(base, `--${name}`));
  expect(marks).toEqual([rateColours.attempt, rateColours.hack, rateColours.cleanSolve]);
  for (const [route, expected] of Object.entries(routeColours)) {
    expect(style).toContain(`.route-${route} {\n  border-left-color: ${expected};`);
    expect(style).toMatch(new RegExp(`\\.token-${route} \\{[^}]*${expected}`));
  }
});

it('the playground draws rates in the same colours, and where gradients went in their tints', () => {
  const css = sheet('playground/style.css');
  expect([colour(css, '--attempts'), colour(css, '--solves')]).toEqual([rateColours.attempt, rateColours.cleanSolve]);
  for (const route of ['keep', 'route'] as const) {
    expect(hue(colour(css, `--${route}`) ?? ''), route).toEqual(hue(routeColours[route]));
  }
});
