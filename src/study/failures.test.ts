import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../test/lab/hand-made.ts';
import type { Catalogue } from '../view/api.ts';
import { ViewLibrary } from '../view/library.ts';
import { writeExperiment } from './directory.ts';
import { planExperiment, readExperiment } from './experiment.ts';
import { failureOf, noteFailure } from './failures.ts';

const home = temporaryFolder();

it('a record that cannot be read hides neither the runs beside it nor that the run failed', async () => {
  const [file, directory] = [join(home, 'both.toml'), join(home, 'both')];
  writeFileSync(join(home, 'base.toml'), 'updates = 7\n');
  writeFileSync(
    file,
    'name = "both"\nseeds = [1, 2]\nplacebo = "vanilla"\n[[arms]]\nname = "vanilla"\nrecipe = "base.toml"\n',
  );
  await writeExperiment(directory, await planExperiment(readExperiment(file), file));
  mkdirSync(join(directory, '.failed', 'vanilla-1.txt'), { recursive: true });
  await noteFailure(join(directory, 'vanilla-2'), 'the GPU fell off the bus');
  const { runs } = (await new ViewLibrary(home).answer('home', new URLSearchParams())) as Catalogue;
  expect(runs).toMatchObject([
    { id: 'both/vanilla-1', notice: expect.stringMatching(/^failed: why cannot be read: .*a folder/) },
    { id: 'both/vanilla-2', notice: 'failed: the GPU fell off the bus' },
  ]);
});

it('a line without an end is cut', async () => {
  await noteFailure(join(home, 'long'), 'x'.repeat(1_000_000));
  expect(failureOf(join(home, 'long'))).toBe(`${'x'.repeat(2000)}…`);
});
