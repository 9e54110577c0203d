import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import { expectIdentity, storedIdentity } from './identity.ts';

it('a file of problems that changed is refused; a run that did not record its files says nothing of them', async () => {
  const manifest = (await writeRun(join(temporaryFolder(), 'run'), {})).readManifest();
  const begun = storedIdentity({ ...manifest, dataFiles: { path: 'a', testPath: 'b' } });
  const check = (dataFiles: Readonly<Record<string, string>>) => () => expectIdentity('open run', begun, { dataFiles });
  expect(check({ path: 'a', testPath: 'b' })).not.toThrow();
  expect(check({ path: 'a', testPath: 'c' })).toThrow(
    'expected the files of problems (key data) that the run began with (path a, testPath b), found another hash (path a, testPath c)',
  );
  expect(check({ path: 'a' })).toThrow('found another hash (path a)');
  const earlier = storedIdentity({ ...manifest, dataFiles: null });
  expect(() => expectIdentity('open run', earlier, { dataFiles: { path: 'a' } })).not.toThrow();
});
