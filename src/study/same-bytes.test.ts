/** Two arms that left the same bytes are named in results. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import { gq } from '../../test/run-gq.ts';
import { resolveBuiltin } from '../lab/index.ts';
import { sealRun } from '../oracle/index.ts';
import { stampedJson } from '../run/index.ts';

it('gq results names arms that left the same bytes, and no others', async () => {
  const home = temporaryFolder();
  for (const [name, settings] of [
    ['a', ['arm.kind=activation']],
    ['b', ['arm.kind=activation', 'arm.keepOnly=praised']],
    ['c', ['arm.kind=vanilla']],
  ] as const) {
    const { config } = resolveBuiltin(null, [...settings, 'updates=5', 'seed=1']);
    await sealRun(await writeRun(join(home, name), { config, checkpoints: [0, 5] }));
  }
  const stamp = (name: string, adapter: string): void => {
    const path = join(home, name, 'checkpoints', '00005', 'state.json');
    const { checksum: _checksum, ...state } = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, stampedJson({ ...state, hashes: { ...state.hashes, adapter } }));
  };
  // Runs made by hand all hold the same; here each has its own.
  for (const name of ['a', 'b', 'c']) stamp(name, `adapter of ${name}`);
  expect((await gq('results', home)).err).not.toContain('same bytes');
  stamp('b', 'adapter of a');
  expect((await gq('results', home)).err).toContain(
    'a and b left the same bytes: what these arms differ in changed nothing',
  );
  stamp('c', 'adapter of a');
  expect((await gq('results', home)).err).toContain('a, b and c left the same bytes');
});
