/** The keys of the gates: how an arm is called in tables, and what the gate itself is given. */
import { describe, expect, it } from 'vitest';
import { builtinCuts } from './cuts.ts';
import { gateSettings, gateSettingsOf, gateTailsOf } from './gates.ts';
import { watchedArms } from './kinds.ts';
import { blindMonitors, builtinRemedies } from './registry.ts';

const [activation, gradient] = watchedArms({ monitors: blindMonitors, cuts: builtinCuts, remedies: builtinRemedies });

describe('gates in tables', () => {
  it.each([
    [{}, 'activation'],
    [{ calibration: 'otsu', keepOnly: 'praised' }, 'activation Otsu keeps praised'],
    [{ placebo: 'haar', calibration: 'otsu' }, 'haar Otsu'],
    [{ calibration: 'mixture', keepTail: 1 }, 'activation mixture one cut'],
    [{ placebo: 'haar', placeboSeed: 7, mean: 'own' }, 'haar draw 7 own mean'],
    [{ orthogonalTo: 'solve', granularity: 'token' }, 'activation orthogonal to solve by token'],
  ])('%o is called %s', (settings, label) => {
    expect(activation.label(settings)).toBe(label);
  });

  it('of a kind each', () => {
    expect(gradient.label({ placebo: 'haar', calibration: 'pairs' })).toBe('gradient haar pair cuts');
  });
});

describe('the settings that the gate itself takes', () => {
  const read = (settings: object) => {
    const own = gateSettingsOf({ kind: 'activation', ...settings });
    if (own === null) throw new Error('no gate');
    return gateSettings(own);
  };

  it('keep half of the scores or more only below a cut that divides them', () => {
    expect(read({ calibration: 'otsu', keepTail: 1 })).toMatchObject({ keepTail: 1 });
    expect(() => activation.label({ keepTail: 0.5 })).toThrow('expected a share below 0.5 with quantiles, found 0.5');
  });

  it('have buffered tokens only by token, and tails only by quantile', () => {
    expect(read({})).toMatchObject({ bufferTokens: null, keepOnly: 'any', calibration: 'quantile', halfLife: 96 });
    expect(read({ granularity: 'token', halfLife: 0 })).toMatchObject({ bufferTokens: 32, halfLife: null });
    expect(gateTailsOf({ kind: 'activation' })).toEqual({ keep: 0.1, route: 0.1 });
    expect(gateTailsOf({ kind: 'activation', ...{ calibration: 'otsu' } })).toBeNull();
    expect(gateSettingsOf({ kind: 'vanilla' })).toBeNull();
  });
});
