import { readFileSync, rmSync, symlinkSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { askView } from '../../test/ask-view.ts';
import { temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import { pageRollouts } from '../../test/page-rollouts.ts';
import type { RunFiles } from './api.ts';
import { startView } from './server.ts';

it('the server gives the files of rollouts in parts, and nothing else of a run', async () => {
  const root = temporaryFolder();
  await writeRun(join(root, 'alone'), { rollouts: [{ update: 1 }, { update: 1 }], finished: false });
  await using view = await startView(root, { script: '', style: '' }, { host: '127.0.0.1', port: 0 });
  const { rollouts, isSealed } = (await (await askView(view, '/api/files?id=alone')).json()) as RunFiles;
  expect([isSealed, rollouts.name]).toEqual([false, 'api/file?id=alone&name=rollouts.jsonl']);
  const whole = readFileSync(join(root, 'alone', 'rollouts.jsonl'));
  const part = async (range: string) => askView(view, `/${rollouts.name}`, { headers: { Range: range } });
  const middle = await part('bytes=10-29');
  expect([middle.status, middle.headers.get('content-range')]).toEqual([206, `bytes 10-29/${whole.length}`]);
  expect(await middle.text()).toBe(whole.toString('utf8', 10, 30));
  expect(await (await part(`bytes=${whole.length - 5}-`)).text()).toBe(whole.toString('utf8', whole.length - 5));
  for (const range of [`bytes=${whole.length}-`, 'bytes=9-3', 'bytes=-5', 'lines=1-2']) {
    expect([range, (await part(range)).status]).toEqual([range, 416]);
  }
  expect(await (await askView(view, `/${rollouts.name}`)).text()).toBe(whole.toString('utf8'));
  await expect(pageRollouts(view).rollout('alone', '9-9-9')).rejects.toThrow('expected the id of a rollout of alone');
  for (const path of ['files?id=none', 'file?id=alone&name=manifest.json', 'file?id=alone&name=..%2Frollouts.jsonl']) {
    expect([path, (await askView(view, `/api/${path}`)).status]).toEqual([path, 400]);
  }
  const wrong = new URLSearchParams('text=(&pattern=1');
  await expect(pageRollouts(view).list('alone', wrong)).rejects.toThrow('expected a regular expression');
});

it('a link in the folder of a run is not followed, and no file is read whole that is too long to be sent', async () => {
  const root = temporaryFolder();
  for (const name of ['linked', 'long'])
    await writeRun(join(root, name), { rollouts: [{ update: 1 }], finished: false });
  const linked = join(root, 'linked', 'rollouts.jsonl');
  rmSync(linked);
  symlinkSync('/etc/hostname', linked);
  truncateSync(join(root, 'long', 'rollouts.jsonl'), 2 ** 33);
  await using view = await startView(root, { script: '', style: '' }, { host: '127.0.0.1', port: 0 });
  const statusOf = async (id: string) => (await askView(view, `/api/file?id=${id}&name=rollouts.jsonl`)).status;
  expect(await statusOf('linked')).toBe(400);
  expect(await statusOf('long')).toBe(416);
});
