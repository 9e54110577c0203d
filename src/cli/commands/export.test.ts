import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder, writeRun } from '../../../test/lab/hand-made.ts';
import { gq } from '../../../test/run-gq.ts';

const home = temporaryFolder();

describe('the update of an export', () => {
  // An empty word, as a shell gives for a variable that is not set, was taken for update 0, which is not trained.
  it.each(['', ' ', '0x4', '1e0', '-1', '4.0'])('is a whole number, not %j', async (word) => {
    const { code, err } = await gq('export', home, '--to', join(home, 'out'), '--update', word);
    expect({ code, err }).toMatchObject({
      code: 2,
      err: expect.stringContaining('Expected a whole number of at least 0'),
    });
  });

  it('is that of the checkpoint where its folder is named', async () => {
    await writeRun(join(home, 'run'), { checkpoints: [0, 5] });
    const folder = join(home, 'run', 'checkpoints', '00005');
    const { code, err } = await gq('export', folder, '--to', join(home, 'out'), '--update', '0');
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('found --update 0') });
  });
});
