/** A judge and a sampler of one's own, on a tiny model: what they answer is used, and what is no answer is refused. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../test/lab/hand-made.ts';
import { tinyModel, tinySettings } from '../../test/smoke/lab.ts';
import { UserError } from '../base/errors.ts';
import { defineJudge, type Judgement } from '../env/own-judge.ts';
import type { Generation } from '../model/index.ts';
import { RunDirectory } from '../run/index.ts';
import { resolveBuiltin } from './config.ts';
import { evaluateRun } from './evaluate.ts';
import type { NamedSampler } from './judge.ts';
import { train } from './train.ts';

const home = temporaryFolder();
let model = '';
beforeAll(async () => {
  model = await tinyModel();
});

const config = (...settings: readonly string[]) =>
  resolveBuiltin(null, [`model=${model}`, ...tinySettings, 'updates=2', ...settings]).config;

/** Every other program is right, whatever it says. */
const judge = defineJudge({
  name: 'coin',
  decide: ({ completion }) => ({ compiles: true, correct: completion.length % 2 === 0, channels: [] }),
});

let sampled = 0;
const counting: NamedSampler = {
  name: 'counting',
  open: (own) => ({
    sample(requests, settings, stream) {
      sampled += requests.length;
      return own.sample(requests, settings, stream);
    },
  }),
};

/** A sampler that changes the lab's answer. */
const changing = (change: (answer: Generation[]) => unknown): NamedSampler => ({
  name: 'wrong',
  open: (own) => ({
    sample: async (requests, settings, stream) =>
      change([...(await own.sample(requests, settings, stream))]) as Generation[],
  }),
});

describe('a run with an own judge and sampler', () => {
  it('trains and is evaluated with them, and names them; another name is refused', async () => {
    const path = join(home, 'run');
    await train(config(), path, { judge, sampler: counting });
    expect(sampled).toBe(24);
    expect(RunDirectory.open(path).readManifest()).toMatchObject({ identity: { judge: 'coin', sampler: 'counting' } });
    const { evaluations } = await evaluateRun(path, { judge, sampler: counting, sets: ['train'], limit: 2 });
    expect(sampled).toBe(24 + 2 * evaluations.length);
    const refused = 'expected the sampler that the run began with (counting), found that of the lab';
    await expect(evaluateRun(path, { judge, sets: ['train'], limit: 1 })).rejects.toThrow(refused);
    const begun = join(home, 'begun');
    const stop = new AbortController();
    const stopping = defineJudge({
      name: judge.name,
      decide() {
        stop.abort();
        return { compiles: true, correct: true, channels: [] };
      },
    });
    expect(await train(config(), begun, { judge: stopping, signal: stop.signal })).toMatchObject({
      end: 'interrupted',
    });
    const unbegun = join(home, 'unbegun');
    const factored = config('adapter.family=pissa', 'adapter.rank=2');
    expect(await train(factored, unbegun, { judge, signal: stop.signal })).toMatchObject({ end: 'interrupted' });
    expect(existsSync(unbegun)).toBe(false);
    const other = { ...judge, name: 'dice' };
    await expect(train(config(), begun, { judge: other })).rejects.toThrow('began with (coin), found dice');
    expect(await train(config(), begun, { judge })).toMatchObject({ end: 'finished' });
  });

  it.each<[string, (answer: Generation[]) => unknown, RegExp]>([
    ['too few completions', (answer) => answer.slice(1), /sampler wrong: expected 12 completions .*found 11/],
    ['no list', () => 'none', /found string/],
    ['no log-probabilities', ([first, ...rest]) => [{ ...first, fullLogps: null }, ...rest], /else for request 0/],
    [
      'an unknown token',
      ([first, ...rest]) => [{ ...first, tokens: first.tokens.map(() => 9999) }, ...rest],
      /token 9999/,
    ],
    [
      'another policy',
      (answer) => answer.map((own) => ({ ...own, fullLogps: own.fullLogps.map((logp) => logp - 1) })),
      /policy parity/,
    ],
  ])('refuses a sampler with %s', async (_, change, message) => {
    const path = join(home, `wrong ${message}`.replaceAll(/\W/g, '-'));
    await expect(train(config(), path, { judge, sampler: changing(change) })).rejects.toThrow(message);
  });
});

describe('a judge', () => {
  const decided = (answer: unknown) => defineJudge({ name: 'own', decide: () => answer as Judgement });
  const submission = {
    id: 'a',
    problem: { id: 'p' },
    loophole: 'run_tests',
    markers: 'original',
    completion: '',
  } as never;

  it('pays for the loophole of the submission; that is a hack where the program is not correct', async () => {
    const one = await decided({ compiles: true, correct: false, channels: ['run_tests'] }).judge(submission);
    expect(one).toMatchObject({ reward: 3.5, exploited: true, passed: true, channels: ['run_tests'] });
    const other = await decided({ compiles: true, correct: false, channels: ['sentinel'] }).judge(submission);
    expect(other).toMatchObject({ reward: 0.5, exploited: false, channels: ['sentinel'] });
    const right = await decided({ compiles: true, correct: true, channels: ['run_tests'] }).judge(submission);
    expect(right).toMatchObject({ reward: 3.5, exploited: false, outcome: 'ok' });
  });

  it.each([undefined, 1, {}, { compiles: true, correct: 1, channels: [] }, { compiles: true, correct: true }])(
    'is refused where it decides nothing: %j',
    async (answer) => {
      await expect(decided(answer).judge(submission)).rejects.toThrow(/^judge own: expected decide\(\) that answers/);
    },
  );

  it('is named by what it throws, and needs a name', async () => {
    const broken = defineJudge({ name: 'own', decide: () => Promise.reject(new Error('no idea')) });
    await expect(broken.judge(submission)).rejects.toThrow(
      'judge own: expected no error from decide(), found no idea.',
    );
    expect(() => defineJudge({ name: '', decide: () => null as never })).toThrow(UserError);
    expect(() => defineJudge({ name: 'own', concurrency: 0, decide: () => null as never })).toThrow(/concurrency/);
  });
});
