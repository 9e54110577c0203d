import { expect, test } from 'vitest';
import { existsSync, provideFile, withdrawFolder } from './index.ts';

test('a folder that is taken back leaves the others, whose names may begin as its own does', () => {
  const paths = ['model-1/a', 'model-1/b', 'model-10/a', 'model/a'];
  for (const path of paths) provideFile(path, new Uint8Array(1));
  withdrawFolder('model-1');
  expect(paths.filter(existsSync)).toEqual(['model-10/a', 'model/a']);
  expect(existsSync('model-1')).toBe(false);
});
