/** Every start that cannot succeed says why, exits with the right code, and leaves nothing running. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeStarts, plantsIn, takePort, tryStart } from './starts.ts';

let home = '';
let port: Awaited<ReturnType<typeof takePort>>;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'gq-starts-'));
  port = await takePort();
  await makeStarts(home);
});
afterAll(async () => {
  await port[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});

describe.runIf(process.platform === 'linux').concurrent('a start that cannot succeed', () => {
  it.each(plantsIn('', '').map(({ command, name }, i) => ({ command, name, i })))('$command: $name', async ({ i }) => {
    const plant = plantsIn(home, port.number)[i];
    const { code, said, left } = await tryStart(plant, home, i);
    expect({ code, said, left }).toEqual({ code: plant.code, said: expect.stringMatching(plant.said), left: [] });
    expect(said).not.toMatch(/^ {4}at /m);
  });
});
