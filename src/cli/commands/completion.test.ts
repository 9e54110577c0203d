import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { gq } from '../../../test/run-gq.ts';

const words = async (...call: string[]) =>
  (await gq('completion', '--words', '--', ...call)).out.split('\n').slice(0, -1);

describe('gq completion', () => {
  it.each([
    [['tra'], ['train']],
    [['help', 'tra'], ['train']],
    [['he'], ['help']],
    [['help', 'a'], ['all']],
    [['help', 'ref'], ['reference']],
    [['help', 'he'], []],
    [
      ['measure', 're'],
      ['replay', 'relearn'],
    ],
    [['experiment', 'micro-claim', '--no'], ['--no-follow']],
    [['gate', ''], []],
    [
      ['model', ''],
      ['inspect', 'init', 'fetch'],
    ],
    [['train', '--mod'], ['--model']],
    [['train', '--set', 'seed=1', 'micro-act'], ['micro-activation']],
    [['train', 'micro-activation', 'micro'], []],
    [
      ['export', 'runs/a', '--state', ''],
      ['deployed', 'full', 'scale-0.25'],
    ],
    [['export', 'runs/a', '--to', ''], []],
    [['export', ''], []],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
  ])('offers for %j', async (call, expected) => {
    expect(await words(...call)).toEqual(expected);
  });

  it('is asked by bash with the words up to the cursor', async () => {
    const { out } = await gq('completion', 'bash');
    const shell = `gq() { printf '%s|' "$@"; }\n${out}\nCOMP_WORDS=(gq train 'a b' --out x); COMP_CWORD=2; _gq; echo "$COMPREPLY"`;
    const answer = execFileSync('bash', ['-c', shell], { encoding: 'utf8' });
    expect(answer).toBe('completion|--words|--|train|a b|\n');
  });

  it('knows no other shell', async () => {
    const { code, err } = await gq('completion', 'tcsh');
    expect({ code, err }).toEqual({ code: 2, err: 'gq: completion: expected bash or zsh or fish, found tcsh.\n' });
    expect((await gq('completion')).code).toBe(2);
  });
});

describe('gq recipes', () => {
  it('lists every recipe of the package with what runs it, and prints one', async () => {
    const { out } = await gq('recipes');
    const [runs, experiments] = out.split('gq experiment NAME');
    expect(runs).toMatch(/^ {2}micro-activation +The gate on pooled activations\.$/m);
    expect(runs).not.toContain('micro-claim');
    expect(experiments).toMatch(/^ {2}micro-claim +The claim: does a gate/m);
    const listed = JSON.parse((await gq('recipes', '--json')).out) as { name: string; summary: string }[];
    expect(listed.filter(({ summary }) => !/[.?]$/.test(summary))).toEqual([]);
    expect((await gq('recipes', 'micro-activation')).out).toContain('kind = "activation"');
    expect((await gq('recipes', 'micro-activatoin')).err).toContain('Did you mean micro-activation?');
    expect((await gq('recipes', 'x')).err).toContain('gq recipes');
  });
});
