import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../lab/hand-made.ts';

test('half a build, which lacks probe.py, is not taken for a missing Python', async () => {
  const source = fileURLToPath(new URL('../../src', import.meta.url));
  const folder = join(temporaryFolder(), 'env/sandbox');
  mkdirSync(folder, { recursive: true });
  symlinkSync(join(source, 'base'), join(folder, '../../base'));
  for (const file of ['python.ts', 'server-process.ts']) cpSync(join(source, 'env/sandbox', file), join(folder, file));
  const { findPython } = await import(join(folder, 'python.ts'));
  await expect(findPython('python-of-nobody')).rejects.toThrow(
    /expected the file .*probe\.py, found none\. The build is incomplete\./,
  );
  cpSync(join(source, 'env/sandbox/probe.py'), join(folder, 'probe.py'));
  await expect(findPython('python-of-nobody')).rejects.toThrow('expected Python 3.9 or newer');
});
