import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../test/lab/hand-made.ts';
import { expectHash, expectHashInPieces } from './checksums.ts';

it.runIf(process.platform !== 'win32')('a named pipe in the place of a sealed file is called that', async () => {
  const pipe = join(temporaryFolder(), 'rollouts.parquet');
  execFileSync('mkfifo', [pipe]);
  expect(() => expectHash(pipe, 'stored')).toThrow('a named pipe where a regular file must be');
  await expect(expectHashInPieces(pipe, 'stored')).rejects.toThrow('a named pipe where a regular file must be');
});
