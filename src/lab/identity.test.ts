import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import { expectIdentity } from './identity.ts';

it('a file of problems that changed is refused', async () => {
  const manifest = (await writeRun(join(temporaryFolder(), 'run'), {})).readManifest();
  const config = { ...manifest.config, data: { kind: 'file', path: '/a.jsonl', testPath: '/b.jsonl' } };
  const identity = { ...manifest.identity, dataFiles: { path: 'a', testPath: 'b' } };
  const begun = { ...manifest, config, identity };
  const check = (dataFiles: Readonly<Record<string, string>>) => () =>
    expectIdentity('open run', begun, config, { dataFiles });
  expect(check({ path: 'a', testPath: 'b' })).not.toThrow();
  expect(check({ path: 'a', testPath: 'c' })).toThrow(
    'expected the files of problems (key data) that the run began with, found other content in one of /a.jsonl (data.path), /b.jsonl (data.testPath)',
  );
  expect(check({ path: 'a' })).toThrow('the files of problems');
});
