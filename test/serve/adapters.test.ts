/** Adapters that clients load: never more than allowed, under no name of a state, and from the server's folder alone. */
import { mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { writePeft } from '../../src/adapters/index.ts';
import { createReferenceDevice } from '../../src/engine/reference/index.ts';
import { LoadedAdapters } from '../../src/serve/adapters.ts';
import { temporaryFolder } from '../lab/hand-made.ts';
import { makeServed } from './served.ts';

const { policy, ...made } = await makeServed(createReferenceDevice(), 'nano', 2, 64);
afterAll(() => made[Symbol.asyncDispose]());
const home = temporaryFolder();
const folder = join(home, 'adapters');
mkdirSync(folder);
const path = join(folder, 'one');
const marks = { labels: 'none', settings: 'fixed', quarantine: 'none' } as const;
await writePeft(path, policy.adapter, policy.decoder.config, 'nano', marks);

/** How many of the loads were done, and what the first of the others was told. */
async function outcome(loads: readonly Promise<string>[]) {
  const ends = await Promise.allSettled(loads);
  const refused = ends.find((end) => end.status === 'rejected');
  return { done: ends.filter(({ status }) => status === 'fulfilled').length, told: String(refused?.reason) };
}

it('loads that come at once are counted before they are done', async () => {
  const adapters = new LoadedAdapters(policy.decoder, folder, 3);
  const load = (name: string) => adapters.load({ lora_name: name, lora_path: path });
  expect(await outcome(Array.from({ length: 12 }, () => load('same')))).toEqual({
    done: 1,
    told: expect.stringContaining('same is loaded already'),
  });
  expect(await outcome(Array.from({ length: 12 }, (_, i) => load(`other-${i}`)))).toEqual({
    done: 2,
    told: expect.stringContaining('3 adapters are loaded already'),
  });
  for (const name of adapters.names) adapters.unload({ lora_name: name });
  // A load that fails gives its name and its place back.
  const nowhere = { lora_name: 'same', lora_path: join(folder, 'nowhere') };
  expect(await outcome(Array.from({ length: 3 }, () => adapters.load(nowhere)))).toMatchObject({ done: 0 });
  expect(await outcome([load('same'), load('b'), load('c')])).toMatchObject({ done: 3 });
  for (const name of adapters.names) adapters.unload({ lora_name: name });
});

it.each(['deployed', 'trained', 'base'])('the name of the state %s is not given to an adapter', async (name) => {
  const adapters = new LoadedAdapters(policy.decoder, folder);
  await expect(adapters.load({ lora_name: name, lora_path: path })).rejects.toMatchObject({ status: 400 });
  expect(adapters.names).toEqual([]);
});

it.each(['adapter_config.json', 'adapter_model.safetensors'])(
  '%s that is linked from elsewhere is not read',
  async (file) => {
    const adapters = new LoadedAdapters(policy.decoder, folder);
    const linked = join(folder, `linked-${file}`);
    await writePeft(linked, policy.adapter, policy.decoder.config, 'nano', marks);
    renameSync(join(linked, file), join(home, file));
    symlinkSync(join(home, file), join(linked, file));
    await expect(adapters.load({ lora_name: 'linked', lora_path: linked })).rejects.toThrow(
      'expected an adapter in the folder that this server loads from',
    );
    expect(adapters.names).toEqual([]);
  },
);
