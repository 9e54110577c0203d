/** What the keys of the gates refuse in a config. */
import { describe, expect, it } from 'vitest';
import { UserError } from '../../base/errors.ts';
import { resolveBuiltin } from '../../lab/index.ts';

const resolve = (...settings: string[]) => resolveBuiltin(null, ['arm.kind=activation', ...settings]);

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

  it('routes of single tokens cannot be dealt out among rollouts of other lengths', () => {
    expect(() => resolve('arm.granularity=token', 'arm.placebo=mass-matched')).toThrow(
      'arm.placebo: expected a placebo of the direction with scores by token',
    );
  });

  it('routes that are dealt out after the advantages leave no own mean before them', () => {
    expect(() => resolve('arm.mean=own', 'arm.placebo=mass-matched')).toThrow(
      'arm.mean: expected "group" with the placebo "mass-matched"',
    );
  });
});
