import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { mutants, plant } from './mutants.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string): string => (existsSync(root + file) ? readFileSync(root + file, 'utf8') : '');

it.each(mutants.map((mutant) => [mutant.mistake, mutant] as const))('can still be planted: %s', (_mistake, mutant) => {
  const source = read(mutant.file);
  expect(plant(mutant, source)).not.toBe(source);
  expect(existsSync(root + mutant.testFile)).toBe(true);
});

it('a mistake whose place is gone says so', () => {
  const [first] = mutants;
  expect(() => plant(first, 'other code')).toThrow(/has its text 0 times, not once/);
  expect(() => plant(first, first.text + first.text)).toThrow('2 times');
});
