/** Monitors of plugins: every arm with a monitor may name them, as strictly as those of the package. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { seesNothing } from '../grpo/index.ts';
import { defineMonitor } from '../monitors/index.ts';
import { checkConfig, readConfig } from '../run/index.ts';
import { labelSources } from './labels.ts';
import { builtinParts } from './parts.ts';
import { joinParts } from './plugins.ts';

const own = defineMonitor({
  kind: 'own',
  summary: 'length',
  usesLabels: ({ cheat }) => cheat,
  settings: z.strictObject({
    least: z.number().default(4).describe('tokens'),
    cheat: z.boolean().default(false).describe('whether it uses labels'),
  }),
  open: ({ least }) => ({
    sees: seesNothing,
    cut: { kind: 'fixed', value: least },
    score: ({ rollouts }) => rollouts.map(({ length }) => length),
  }),
});
const parts = joinParts(builtinParts, { monitors: [own] }, 'test');
const resolve = (...settings: string[]) => checkConfig(readConfig(null, settings), parts).config;

it('can be named by arms with a monitor', async () => {
  const config = resolve('arm.kind=screen', 'arm.monitor.kind=own', 'arm.monitor.least=9');
  expect(config.arm).toEqual({ kind: 'screen', monitor: { kind: 'own', least: 9, cheat: false }, abstain: 'error' });
  expect(await labelSources(config, parts, { pairsUseLabels: false })).toEqual([]);
  const cheating = resolve('arm.kind=screen', 'arm.monitor.kind=own', 'arm.monitor.cheat=true');
  expect(await labelSources(cheating, parts, { pairsUseLabels: false })).toEqual(['the arm screen is given them']);
});

it.each([
  [['arm.kind=screen', 'arm.monitor.kind=own', 'arm.monitor.most=9'], 'unknown key arm.monitor.most'],
  [['arm.kind=screen', 'arm.monitor.kind=own', 'arm.monitor.pattern=x'], 'only arm.monitor.kind regex has it'],
  [['arm.kind=screen', 'arm.monitor.kind=own', 'arm.monitor.least=few'], 'arm.monitor.least: expected a number'],
  [['arm.kind=screen', 'arm.monitor.kind=owm'], 'did you mean "own"?'],
  [['arm.kind=screen'], 'arm.monitor: expected a table whose kind is direction, probe, '],
  [['arm.monitor.kind=own'], 'unknown key arm.monitor (--set), only arm.kind penalty or zero'],
  [['arm.kind=zero', 'arm.monitor.kind=regex', 'arm.monitor.pattern=('], 'pattern: expected a regular expression'],
  [['arm.kind=zero', 'arm.monitor.kind=regex'], 'key arm.monitor.pattern: expected text, found nothing'],
  [['arm.kind=zero', 'arm.monitor.kind=oracle', 'arm.monitor.accuracy=2'], 'accuracy: expected a number from 0 to 1'],
  [['arm.kind=zero', 'arm.monitor.kind=probe', 'arm.monitor.cut=best'], 'cut: expected fixed, fpr, otsu, found "best"'],
  [['monitor.kind=probe', 'monitor.threshold=0.9', 'remedy.kind=zero'], 'did you mean cut.threshold?'],
  [['monitor.kind=probe', 'monitor.cut=fixed', 'remedy.kind=zero'], 'did you mean cut.kind?'],
  [
    ['monitor.kind=probe', 'remedy.kind=route', 'remedy.ownMean=true'],
    'remedy.ownMean (--set), did you mean remedy.mean?',
  ],
  [['monitor.kind=probe', 'remedy.kind=zero', 'remedy.ownMean=true'], 'remedy.ownMean (--set).'],
])('%j is refused', (settings, message) => {
  expect(() => resolve(...settings)).toThrow(message);
});

it.each([['monitor.kind=prob'], ['monitor.pattern=x']])(
  'a fault of [monitor] is not told again of the [cut] that follows from it: %s',
  (setting) => {
    expect(() => resolve(setting, 'remedy.kind=zero')).toThrow('key monitor.kind');
    expect(() => resolve(setting, 'remedy.kind=zero')).not.toThrow('cut.');
  },
);

it('a name that is taken is refused', () => {
  expect(() => joinParts(parts, { monitors: [own] }, 'test')).toThrow('a new name for its monitor, found own');
});
