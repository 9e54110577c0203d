/** A sample of `npm run check:crash`: some damages to an unfinished run, a third of those to a finished one, and a full disk where one can be mounted. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { turnClocksBack } from './clocks.ts';
import { damagesOf, tryDamage } from './damage.ts';
import { fillDisk, fillDiskBy, writingCommands } from './disks.ts';
import { makeRuns, trainArguments } from './runs.ts';
import { labelFromTwo } from './viewers.ts';

let home = '';
let [whole, part] = ['', ''];
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'gq-crash-'));
  ({ whole, part } = await makeRuns(home));
});
afterAll(() => rm(home, { recursive: true, force: true }));

const last = join('checkpoints', '00003');
const sample = [
  { file: 'manifest.json', kind: 'a bit in the middle' },
  { file: 'events.jsonl', kind: 'a bit near the start' },
  { file: 'rollouts.jsonl', kind: 'a bit in the middle' },
  { file: 'verdicts.jsonl', kind: 'a bit near the start' },
  { file: 'features.f32', kind: 'a bit near the start' },
  { file: 'directions.f32', kind: 'deleted' },
  { file: 'checksums.json', kind: 'deleted' },
  { file: 'initial.safetensors', kind: 'a bit in the middle' },
  { file: 'initial.safetensors', kind: 'deleted' },
  { file: join(last, 'trainer.safetensors'), kind: 'deleted' },
  { file: join('checkpoints', '00000', 'adapter.safetensors'), kind: 'a bit near the end' },
  { file: join(last, 'adapter.safetensors'), kind: 'a bit near the end' },
  { file: join(last, 'trainer.safetensors'), kind: 'a bit in the middle' },
  { file: join(last, 'state.json'), kind: 'a bit in the middle' },
  { file: join(last, 'state.json'), kind: 'deleted' },
];

it.each(sample)('an unfinished run, $file: $kind', async (damage) => {
  expect(damagesOf(part)).toContainEqual(damage);
  const { outcome, detail } = await tryDamage(damage, { run: part, whole, copy: join(home, 'damaged') });
  expect({ outcome, detail }).toMatchObject({ outcome: 'clear error' });
  expect(detail).toContain(join(home, 'damaged'));
});

it('a finished run: no damage to any file is silent', async () => {
  // A third of the seven kinds for each file; `npm run check:crash` tries all.
  const damages = damagesOf(whole).filter((_, i) => i % 3 === 0);
  expect(damages.length).toBeGreaterThan(23);
  const bad = [];
  for (const damage of damages) {
    const report = await tryDamage(damage, { run: whole, whole, copy: join(home, 'damaged') });
    if (report.outcome !== 'clear error') bad.push(report);
  }
  expect(bad).toEqual([]);
});

it('two viewers that write labels at once lose none', async () => {
  const run = join(home, 'labelled');
  await cp(whole, run, { recursive: true });
  // `npm run check:crash` sends 500 to each.
  expect(await labelFromTwo(run, 40)).toEqual([]);
});

it('a clock that goes back stops nothing and changes nothing', async () => {
  expect(await turnClocksBack(home, await trainArguments(), whole)).toEqual([]);
});

it('a full disk stops a run with an error; with room it goes on as if nothing had happened', async (context) => {
  const report = await fillDisk(128, home, await trainArguments(), whole);
  if (report === null) return context.skip('file systems cannot be mounted here');
  expect(report).toMatchObject({ outcome: 'identical', detail: expect.stringMatching(/ENOSPC|no space/i) });
});

describe.each(Object.keys(writingCommands))('a full disk, %s', (name) => {
  it('is told, harms nothing, and with room the same call works', async (context) => {
    const faults = await fillDiskBy(name, home, whole);
    if (faults === null) return context.skip('file systems cannot be mounted here');
    expect(faults).toEqual([]);
  });
});
