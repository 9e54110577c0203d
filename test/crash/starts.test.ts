/** Every start that cannot succeed says why, exits with the right code, and leaves nothing running. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gq } from '../run-gq.ts';
import { makeStarts, type Plant, plantsIn, takePort, tryStart, wordsOf } from './starts.ts';

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

/** Those that open much before they fail have a process of their own, as all have in `npm run check:crash`. */
const opensMuch = ['train: no room on the device', 'eval: a damaged checkpoint', 'serve: a port that is taken'];
const needsProcess = ({ command, name, plant }: Plant): boolean =>
  plant !== undefined || name.startsWith('Ctrl-C') || opensMuch.includes(`${command}: ${name}`);
const numbered = plantsIn('', '').map((plant, i) => ({ ...plant, i }));

describe.runIf(process.platform === 'linux').concurrent('a start that cannot succeed', () => {
  it.each(numbered.filter(needsProcess))('$command: $name', async ({ i }) => {
    const plant = plantsIn(home, port.number)[i];
    const { code, said, left } = await tryStart(plant, home, i);
    expect({ code, said, left }).toEqual({ code: plant.code, said: expect.stringMatching(plant.said), left: [] });
    expect(said).not.toMatch(/^ {4}at /m);
  });
});

describe('a start that is refused', () => {
  it.each(numbered.filter((plant) => !needsProcess(plant)))('$command: $name', async ({ i }) => {
    const plant = plantsIn(home, port.number)[i];
    const { code, out, err } = await gq(...wordsOf(plant, home, i));
    expect({ code, err }).toEqual({ code: plant.code, err: expect.stringMatching(plant.said) });
    expect(out + err).not.toMatch(/^ {4}at /m);
  });
});
