/** A monitor whose cut nothing reaches: training warns, also after a resume, and the check of the arm does not call it a pass. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { train } from '../../src/lab/index.ts';
import { RunDirectory } from '../../src/run/directory.ts';
import { readEvents } from '../../src/run/read.ts';
import { gq } from '../run-gq.ts';
import { setting } from './identity-lab.ts';
import { Lab, stoppedAfterFirst, tinySettings } from './lab.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.open('plain');
});
afterAll(() => lab[Symbol.asyncDispose]());

const flagging = (threshold: number): string[] => [
  ...['monitor.kind=regex', 'monitor.pattern=.', 'cut.kind=fixed', `cut.threshold=${threshold}`],
  'remedy.kind=penalty',
];

async function warningsOf(path: string): Promise<string[]> {
  const found: string[] = [];
  for await (const event of readEvents(RunDirectory.open(path))) {
    if (event.kind === 'warning' && event.name === 'nothing-flagged') found.push(event.message);
  }
  return found;
}

it('is warned of at the end of training, of all updates, and only where nothing was flagged', async () => {
  const config = lab.config([...flagging(99), 'updates=2']);
  await train(config, lab.path('blind'), stoppedAfterFirst());
  expect(await warningsOf(lab.path('blind'))).toEqual([]);
  await train(config, lab.path('blind'));
  expect(await warningsOf(lab.path('blind'))).toEqual([
    expect.stringContaining('the monitor flagged 0 of 24 rollouts past its warm-up: this arm did nothing'),
  ]);
  await train(lab.config([...flagging(0), 'updates=1']), lab.path('sees'));
  expect(await warningsOf(lab.path('sees'))).toEqual([]);
});

it.each([
  { threshold: 99, code: 1 },
  { threshold: 0, code: 0 },
])('gq verify arm with the cut at $threshold ends with $code', async ({ threshold, code }) => {
  const own = setting(`model=${lab.model}`, ...tinySettings, ...flagging(threshold));
  const found = await gq('verify', 'arm', ...own, '--updates', '2');
  expect(found.code, found.out).toBe(code);
  expect(found.out).toMatch(/something was flagged or routed .*(pass|FAIL)/);
  if (code === 1) expect(found.out).toContain('not shown: 0 of');
});
