import { expect, it } from 'vitest';
import { runsText } from './runs-text.ts';

const cross = (arms: readonly string[], seeds: readonly number[]): string[] =>
  seeds.flatMap((seed) => arms.map((arm) => `${arm}-${seed}`));

it('runs are named where they are few, and are arms × seeds with a count where they are many', () => {
  expect(runsText(cross(['vanilla', 'gate'], [41, 42, 43]))).toBe(
    'vanilla-41, gate-41, vanilla-42, gate-42, vanilla-43, gate-43',
  );
  const many = ['vanilla', 'gate-0.2', 'haar', 'flip', 'dealt'];
  expect(runsText([...cross(many, [41, 42]), 'oracle-42'])).toBe(
    '11 runs (vanilla, gate-0.2, haar and 2 more arms × seeds 41, 42; oracle × seed 42)',
  );
  expect(runsText(cross(many.slice(0, 4), [1, 2]))).toBe('8 runs (vanilla, gate-0.2, haar, flip × seeds 1, 2)');
});
