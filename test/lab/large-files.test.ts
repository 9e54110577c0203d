/** A file of a run that takes long to hash: the viewer answers others meanwhile, and still refuses the file if it was changed. */
import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sealRun } from '../../src/oracle/index.ts';
import { type RunningView, startView } from '../../src/view/index.ts';
import { askView } from '../ask-view.ts';
import { temporaryFolder, writeRun } from './hand-made.ts';

const root = temporaryFolder();
const made = { rollouts: [{ update: 1 }], steps: [{ update: 1 }], seconds: [1] };
const files = ['rollouts.parquet', 'verdicts.parquet', 'events.jsonl'];
/** Without blocks on the disk: what is read of it is zeros. */
const largeBytes = 2 ** 28;

let view: RunningView;
beforeAll(async () => {
  for (const name of ['small', ...files]) {
    const run = await writeRun(join(root, name), made);
    await sealRun(run);
    if (name !== 'small') truncateSync(run.file(name), largeBytes);
  }
  view = await startView(root, { script: '', style: '' }, { host: '127.0.0.1', port: 0 });
});
afterAll(() => view[Symbol.asyncDispose]());

it.each(files)('others are answered while %s is hashed', async (name) => {
  const question = name === 'events.jsonl' ? 'run' : 'files';
  let isHashed = false;
  const hashing = askView(view, `/api/${question}?id=${name}`).finally(() => {
    isHashed = true;
  });
  let answered = 0;
  while (!isHashed) {
    const other = await askView(view, `/api/notes?id=small`);
    expect(other.status).toBe(200);
    await other.text();
    answered += 1;
  }
  const { status } = await hashing;
  expect(answered).toBeGreaterThan(10);
  expect(await (await askView(view, `/api/${question}?id=${name}`)).text()).toContain('another hash');
  expect([200, 400]).toContain(status);
});
