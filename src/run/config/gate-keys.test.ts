/** The tables of an arm that watches in a config, and what the keys of the gates refuse. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/lab/hand-made.ts';
import { UserError } from '../../base/errors.ts';
import { resolveBuiltin } from '../../lab/index.ts';

const resolve = (...settings: string[]) => resolveBuiltin(null, ['arm.kind=activation', ...settings]);

describe('a monitor, a cut and a remedy at the top of a config', () => {
  const armOf = (...settings: readonly string[]) => resolveBuiltin(null, settings).config.arm;

  it('are the tables of the arm `watched`, and the cut is the usual one of the monitor', () => {
    const arm = armOf('monitor.kind=probe', 'remedy.kind=screen');
    expect(arm).toMatchObject({
      kind: 'watched',
      monitor: { kind: 'probe' },
      cut: { kind: 'fpr', flaggedClean: 0.05 },
    });
    expect(armOf('monitor.kind=chance', 'remedy.kind=zero')).toMatchObject({ cut: { kind: 'fixed', threshold: 0.5 } });
    expect(armOf('monitor.kind=direction', 'cut.halfLife=7', 'remedy.kind=route')).toMatchObject({
      cut: { kind: 'otsu', halfLife: 7 },
    });
  });

  it('keys that are said before the kind that has them are read, and kinds of loss have the same keys', () => {
    const { config } = resolveBuiltin('micro-activation', ['arm.recall=0.5', 'arm.kind=oracle', 'loss.klWeight=0', 'loss.kind=classic']); // biome-ignore format: one line
    expect([config.arm['recall'], config.loss.klWeight, config.loss.kind]).toEqual([0.5, 0, 'classic']);
    const changed = () => resolveBuiltin('micro-base', ['arm.tail=0.2', 'arm.kind=oracle']);
    expect(changed).toThrow('unknown key arm.tail (--set), only arm.kind activation or gradient has it');
  });

  it('keys that one call sets for a kind which it replaces itself are refused', () => {
    const twice = () => armOf('arm.kind=activation', 'arm.tail=0.2', 'arm.kind=gradient');
    expect(twice).toThrow('--set: expected one kind for each key, found arm.tail=0.2, then another kind with arm.kind=gradient.'); // biome-ignore format: one line
    expect(() => armOf('remedy.others=absorb', 'arm.kind=no-loophole')).toThrow('one kind for each key');
    expect(armOf('arm.kind=activation', 'arm.kind=gradient', 'arm.tail=0.2')).toMatchObject({ tail: 0.2 });
  });

  it('of a table without a kind stay where its usual kind is said', () => {
    const path = join(temporaryFolder(), 'usual.toml');
    writeFileSync(path, '[data]\nhardShare = 0.3\n[device]\nthreads = 2\n');
    const { data, device } = resolveBuiltin(path, ['data.kind=micro', 'device.kind=wasm']).config;
    expect([data['hardShare'], device.threads]).toEqual([0.3, 2]);
  });

  it('replace another arm, and another arm replaces them', () => {
    const tables = ['monitor.kind=direction', 'remedy.kind=screen'];
    expect(armOf('arm.kind=activation', ...tables)).toMatchObject({ kind: 'watched' });
    expect(armOf(...tables, 'arm.kind=vanilla')).toEqual({ kind: 'vanilla' });
    expect(armOf(...tables, 'remedy.kind=penalty', 'remedy.penalty=2')).toMatchObject({
      monitor: { kind: 'direction' },
      remedy: { kind: 'penalty', penalty: 2 },
    });
  });

  it('are refused where one key alone would replace an arm that is said by its kind', () => {
    expect(() => armOf('arm.kind=activation', 'remedy.others=absorb')).toThrow(
      '--set: expected keys of the arm "activation", found remedy.others=absorb. Its own keys begin with arm',
    );
    const kinds = ['monitor.kind=probe', 'remedy.kind=penalty'];
    expect(armOf('arm.kind=activation', ...kinds, 'remedy.penalty=2')).toMatchObject({ remedy: { penalty: 2 } });
  });

  it('are named in messages as they were written, at the top or in the table of the arm', () => {
    const path = join(temporaryFolder(), 'own.toml');
    const message = (text: string, ...settings: string[]): string => {
      writeFileSync(path, text);
      try {
        return `read: ${resolveBuiltin(path, settings).hash}`;
      } catch (error) {
        return String(error);
      }
    };
    expect(message('[monitor]\nkind = "prob"\n[remedy]\nkind = "screen"\n')).toMatch(/config, key monitor\.kind: /);
    const inner = '[arm]\nkind = "watched"\n[arm.monitor]\nkind = "prob"\n[arm.remedy]\nkind = "screen"\n';
    expect(message(inner)).toMatch(/config, key arm\.monitor\.kind: /);
    expect(message(inner.replace('prob', 'probe'), 'cut.treshold=1')).toMatch(/unknown key cut\.treshold/);
    expect(message(inner, 'monitor.kind=proe')).toMatch(/config, key monitor\.kind: .*"proe"/);
    expect(message('[monitor]\nkind = "probe"\n', 'arm.remedy.kind=scren')).toMatch(/config, key arm\.remedy\.kind: /);
  });

  it('are refused beside another kind of arm in one recipe, and where a part is missing or unknown', () => {
    const path = join(temporaryFolder(), 'both.toml');
    writeFileSync(path, '[arm]\nkind = "screen"\n[monitor]\nkind = "probe"\n');
    expect(() => resolveBuiltin(path)).toThrow(
      'expected arm.kind, or the tables [monitor], [cut] and [remedy], found arm.kind = "screen" beside [monitor]',
    );
    writeFileSync(path, '[monitor]\nkind = "direction"\n[remedy]\nkind = "screen"\n[arm.monitor]\nkind = "probe"\n');
    expect(() => resolveBuiltin(path)).toThrow(
      'expected one table of the monitor, found [arm.monitor] beside [monitor]',
    );
    expect(() => armOf('monitor.kind=probe')).toThrow('config, key remedy: ');
    expect(() => armOf('monitor.kind=prob', 'remedy.kind=screen')).toThrow(/did you mean "probe"\?$/);
    const plugins = /A module that the key plugins of the recipe names may bring another\.$/;
    expect(() => armOf('monitor.kind=surplus-lines', 'remedy.kind=screen')).toThrow(plugins);
    expect(() => armOf('monitor.kind=probe', 'remedy.kind=screen', 'device.kind=tpu')).not.toThrow(plugins);
    expect(() => armOf('monitor.kind=probe', 'remedy.kind=screen', 'cut.treshold=1')).toThrow(
      'unknown key cut.treshold',
    );
  });
});

describe('wrong values of the gate', () => {
  it.each([
    ['arm.bufferTokens=0', 'arm.bufferTokens: expected a whole number from 1 to 100000, found 0 (--set)'],
    ['arm.bufferTokens=2.5', 'arm.bufferTokens: expected a whole number'],
    ['arm.calibration=ostu', 'found "ostu" (--set), did you mean "otsu"?'],
    ['arm.keepOnly=clean', 'arm.keepOnly: expected any, praised, found "clean" (--set)'],
    ['arm.orthogonalTo=hack', 'arm.orthogonalTo: expected none, solve, found "hack" (--set)'],
  ])('%s', (setting, message) => {
    expect(() => resolve(setting)).toThrow(UserError);
    expect(() => resolve(setting)).toThrow(message);
  });

  it('a random direction has no pairs to be orthogonal to', () => {
    expect(() => resolve('arm.orthogonalTo=solve', 'arm.placebo=haar')).toThrow(
      'arm.orthogonalTo: expected "none" for a random direction',
    );
    expect(() => resolveBuiltin(null, ['arm.kind=vanilla', 'arm.orthogonalTo=solve'])).toThrow(
      'only arm.kind activation or gradient has it',
    );
    expect(resolve('arm.orthogonalTo=solve', 'arm.placebo=mass-matched').config.arm).toMatchObject({
      orthogonalTo: 'solve',
    });
  });

  it('routes of single tokens are dealt out too', () => {
    expect(resolve('arm.granularity=token', 'arm.placebo=mass-matched').config.arm).toMatchObject({
      granularity: 'token',
      placebo: 'mass-matched',
    });
  });

  it('routes that are dealt out after the advantages leave no own mean before them', () => {
    expect(() => resolve('arm.mean=own', 'arm.placebo=mass-matched')).toThrow(
      /arm\.mean: expected "group" with the placebo "mass-matched", .* found "own": in place of arm\.placebo=mass-matched write set = \["arm\.placebo=haar"\] below/,
    );
    const tables = ['remedy.kind=route', 'remedy.mean=own', 'remedy.placebo=mass-matched', 'monitor.kind=direction'];
    expect(() => resolve('arm.kind=watched', ...tables)).toThrow(
      'write set = ["monitor.placebo=haar"] or set = ["monitor.kind=chance", "monitor.rate=SHARE"',
    );
  });
});
