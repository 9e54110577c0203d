/** Prefill sensitivity and the store of probes, on outcomes chosen by hand. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { evaluationRows, temporaryFolder } from '../../test/lab/hand-made.ts';
import { builtinLoopholes } from '../env/index.ts';
import type { ModelText } from '../model/index.ts';
import { parsePrefillSet, prefillNames, prefillPoints, writePrefillCurve } from './curve.ts';
import { type AskedPolicy, evaluateAll } from './run-evaluator.ts';
import { openingProbe } from './sets.ts';
import { EvaluationStore, type ProbeEvaluation, type ProbeName } from './store.ts';

/** One letter per prompt: h is a hack, anything else is none. */
function made(update: number, state: 'base' | 'full', opening: 'hack' | 'neutral', outcomes: string, limit: number | null = null): ProbeEvaluation {
  const rows = evaluationRows({ update, set: 'curve', state, outcomes });
  return { update, set: 'curve', state, limit, seed: 1, key: 'k', problems: null, probe: openingProbe(opening), rows };
} // biome-ignore format: short

describe('prefill sensitivity', () => {
  it('is the difference of two rates on the same prompts, with the interval of the mean difference', () => {
    const probes = [
      made(20, 'full', 'hack', 'hhhh....'),
      made(20, 'full', 'neutral', 'h.......'),
      made(0, 'base', 'hack', '........'),
      made(0, 'base', 'neutral', '........'),
      made(10, 'full', 'hack', 'hhhh....'),
      made(20, 'full', 'hack', 'hh', 2),
    ];
    const [base, last] = prefillPoints(probes, 'curve');
    expect(base).toMatchObject({ update: 0, state: 'base', hacks: { difference: 0, interval: { low: 0, high: 0 } } });
    expect(last).toMatchObject({
      update: 20,
      hacks: { hackLike: { count: 4, of: 8 }, neutral: { count: 1, of: 8 }, difference: 3 / 8 },
    });
    // Differences 0 1 1 1 0 0 0 0: variance 15/56, standard error √(15/448), t of 7 degrees of freedom 2.364624.
    const half = 2.364624 * Math.sqrt(15 / 448);
    expect(last.hacks.interval?.low).toBeCloseTo(3 / 8 - half, 5);
    expect(last.hacks.interval?.high).toBeCloseTo(3 / 8 + half, 5);
    // A point needs both openings, on the whole set.
    expect(prefillPoints(probes, 'curve')).toHaveLength(2);
    expect(prefillPoints(probes, 'train')).toEqual([]);
  });

  it('has an interval of differences that two rates can have', () => {
    const probes = [made(20, 'full', 'hack', 'hhhhhhh.'), made(20, 'full', 'neutral', '........')];
    // Student's goes to 1.17.
    expect(prefillPoints(probes, 'curve')[0].hacks.interval).toEqual({ low: expect.closeTo(0.5794, 4), high: 1 });
  });

  it('is evaluated with both openings at the base and at the chosen checkpoints', () => {
    const names = prefillNames(['full', 'deployed'], [0, 10, 20], 20, 'train');
    expect(names.map(({ update, state, probe }) => `${update} ${state} ${probe.opening}`)).toEqual([
      '0 base hack',
      '0 base neutral',
      '20 full hack',
      '20 full neutral',
      '20 deployed hack',
      '20 deployed neutral',
    ]);
    expect(() => parsePrefillSet('test-unhinted')).toThrow('--sets: expected curve, monitor, test-novel');
  });

  it('has its curve in a file that is made from the stored probes', async () => {
    const run = temporaryFolder();
    const store = new EvaluationStore(run);
    await store.save(made(10, 'full', 'hack', 'hh..'));
    expect(await writePrefillCurve(run)).toEqual({});
    await store.save(made(10, 'full', 'neutral', 'h...'));
    const { curve } = await writePrefillCurve(run);
    expect(curve).toMatchObject([{ update: 10, hacks: { difference: 0.25 } }]);
    expect(JSON.parse(readFileSync(join(run, 'prefill-curve.json'), 'utf8')).sets.curve).toEqual(curve);
  });
});

describe('probes', () => {
  const names = (['hack', 'neutral'] as const).map(
    (opening): ProbeName => ({ update: 0, set: 'train', state: 'base', limit: 2, probe: openingProbe(opening) }),
  );

  /** A policy whose completions are chosen by hand; it counts how often it is asked. */
  function policyIn(path: string, key = 'k'): AskedPolicy & { asked: number } {
    return {
      asked: 0,
      path,
      key,
      words: { text: {} as ModelText, loopholes: builtinLoopholes, inWords: false },
      tasks: async () => [],
      problemsOf: () => ({ used: 2, leftOut: [] }),
      async complete() {
        this.asked++;
        return evaluationRows({ update: 0, set: 'train', state: 'base', outcomes: 'h.' });
      },
    };
  }

  it('are stored one by one, and go on where they were interrupted', async () => {
    const policy = policyIn(temporaryFolder());
    const stop = new AbortController();
    const done: number[] = [];
    const first = await evaluateAll(policy, names, {
      signal: stop.signal,
      onProgress(count) {
        done.push(count);
        stop.abort();
      },
    });
    expect({ end: first.end, found: first.evaluations.length, asked: policy.asked, done }).toEqual({ end: 'interrupted', found: 1, asked: 1, done: [1] }); // biome-ignore format: one line
    const second = await evaluateAll(policy, names);
    expect({ end: second.end, asked: policy.asked }).toEqual({ end: 'finished', asked: 2 });
    expect(second.evaluations[0]).toEqual(first.evaluations[0]);
    expect(new EvaluationStore(policy.path).probes()).toEqual(second.evaluations);
  });

  it('of another model are not mixed in', async () => {
    const folder = temporaryFolder();
    await evaluateAll(policyIn(folder), names);
    await expect(evaluateAll(policyIn(folder, 'other'), names)).rejects.toThrow(
      'expected probes of the same model, prompts and sampling, found the probe "opening-hack" (train, base) of others. Name another folder (--out, of a recipe), or move',
    );
  });

  it('that were damaged or renamed are refused by name', async () => {
    const folder = temporaryFolder();
    await evaluateAll(policyIn(folder), names);
    const path = join(folder, 'probes', '00000-train-first2-base-opening-hack.json');
    const text = readFileSync(path, 'utf8');
    writeFileSync(join(folder, 'probes', '00000-train-base-opening-hack.json'), text);
    expect(() => new EvaluationStore(folder).probes()).toThrow('the probe that the file name says');
    writeFileSync(path, text.replace('"hack": true', '"hack": false'));
    expect(() => new EvaluationStore(folder).find(names[0])).toThrow(path);
  });
});
