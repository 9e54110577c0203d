/** The monitors on a tiny policy: what they score, what they remember, and that a resumed run goes on as if nothing had been. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TinyLab } from '../../test/grpo/tiny-lab.ts';
import { makePolicy, tinyPairs } from '../../test/grpo/tiny-policy.ts';
import { trainTiny } from '../../test/grpo/tiny-trainer.ts';
import { randomStream } from '../base/index.ts';
import { readFloats, Scope } from '../engine/index.ts';
import { pairDirection, scoreFeatures } from '../gates/index.ts';
import { type ArmTools, openArm, type Policy, pairFeatures, type SeenRollouts } from '../grpo/index.ts';
import { average } from '../stats/index.ts';
import { chanceMonitor } from './chance.ts';
import { builtinCuts } from './cuts.ts';
import { directionMonitor } from './direction.ts';
import { heldOutClean } from './held-out.ts';
import { watchedArms } from './kinds.ts';
import type { MonitorDefinition } from './monitor.ts';
import { probeMonitor } from './probe.ts';
import { regexMonitor, searching } from './regex.ts';
import { blindMonitors, builtinRemedies } from './registry.ts';

let lab: TinyLab;
beforeAll(async () => {
  lab = await TinyLab.open();
});
afterAll(() => lab[Symbol.dispose]());

const pairs = tinyPairs;

const toolsOf = (policy: Policy, labelled: ArmTools['labelled'] = null): ArmTools => ({
  seed: 1,
  policy,
  tokensPerPass: 64,
  pairs,
  demonstrations: { pool: [], pairs: [] },
  scope: new Scope(policy.decoder.head.device),
  countBait: async () => ({ took: 0, of: 0 }),
  soundReward: async () => 0,
  tell: async () => undefined,
  instruct: () => () => new Int32Array(1),
  writePairs: async () => pairs,
  tokenize: () => new Int32Array(1),
  labels: null,
  labelled,
  openModel: () => Promise.reject(new Error('no other model')),
  folder: null,
});

const needs = { cleanScores: true };

/** A monitor after its first refresh, with its scores of the hack and of the clean sides of the pairs. */
async function scoresOf(definition: MonitorDefinition, settings: object, labelled: ArmTools['labelled'] = null) {
  const monitor = await definition.open(settings, toolsOf(lab.policy, labelled), needs);
  const built = (await monitor.refresh?.(0, lab.policy)) ?? null;
  const sides = await pairFeatures(lab.policy, pairs, { kind: 'activation', tokensPerPass: 64 });
  const score = async (features: SeenRollouts['features']) =>
    Array.from(await monitor.score({ features } as SeenRollouts), Number);
  return { monitor, built, sides, hack: await score(sides.hack), clean: await score(sides.clean) };
}

describe('chance', () => {
  const ids = Array.from({ length: 4000 }, (_, i) => `${i}`);
  const flags = async (settings: object, seed = 1) => {
    const monitor = await chanceMonitor.open(settings, { seed, labels: null } as unknown as ArmTools);
    expect(monitor.sees).toEqual({ features: null, text: false });
    return monitor.score({ rollouts: ids.map((id) => ({ id })) } as unknown as SeenRollouts);
  };

  it('flags its share of the rollouts by seed and id alone, without labels', async () => {
    const found = await flags({ rate: 0.3 });
    // Four standard errors of 0.3 of 4,000.
    expect(Math.abs(found.filter((score) => score === 1).length - 1200)).toBeLessThan(4 * Math.sqrt(4000 * 0.3 * 0.7));
    expect(await flags({ rate: 0.3 })).toEqual(found);
    expect(await flags({ rate: 0.3 }, 2)).not.toEqual(found);
    expect(new Set(await flags({ rate: 0 }))).toEqual(new Set([0]));
    expect(new Set(await flags({ rate: 1 }))).toEqual(new Set([1]));
    expect([chanceMonitor.usesLabels({}), chanceMonitor.label({ rate: 0.3 })]).toEqual([false, 'chance 0.3']);
  });
});

describe('the direction', () => {
  it('scores features as the gate does, and says how it separates the pairs', async () => {
    const { hack, clean, sides, built, monitor } = await scoresOf(directionMonitor, {});
    const direction = pairDirection(sides.hack, sides.clean, { standardise: false });
    expect(hack).toEqual(Array.from(scoreFeatures(sides.hack, direction, 'dot')));
    expect(built?.direction).toEqual(direction.data);
    expect(built?.quality.pairedAccuracy).toBe(hack.filter((score, i) => score > clean[i]).length / 6);
    // Clean sides are scored by directions that were built without them.
    expect(monitor.cleanScores?.()).toHaveLength(6);
    expect(Array.from(monitor.cleanScores?.() ?? [])).not.toEqual(clean);
    const resumed = await directionMonitor.open({}, toolsOf(lab.policy), needs);
    const saved = monitor.save?.();
    if (saved !== undefined) resumed.restore?.(saved);
    expect(await resumed.score({ features: sides.hack } as SeenRollouts)).toEqual(hack);
    expect(resumed.save?.()).toEqual(saved);
    expect(await resumed.refresh?.(4, lab.policy)).toBeNull();
    expect(await monitor.refresh?.(4, lab.policy)).toBeNull();
    expect(await monitor.refresh?.(5, lab.policy)).not.toBeNull();
  });
});

describe('the probe', () => {
  it('gives probabilities that tell the sides of its pairs apart, and is fitted once', async () => {
    const { hack, clean, monitor } = await scoresOf(probeMonitor, {});
    expect(Math.min(...hack)).toBeGreaterThan(0.5);
    expect(Math.max(...clean)).toBeLessThan(0.5);
    const held = Array.from(monitor.cleanScores?.() ?? []);
    expect(held).toHaveLength(6);
    expect(Math.max(...held)).toBeGreaterThan(Math.max(...clean));
    const before = monitor.save?.();
    await monitor.refresh?.(5, lab.policy);
    expect(monitor.save?.()).toEqual(before);
  });

  it.each(['mean', 'least'])('by layer gives probabilities, and is the same after a resume: %s', async (layers) => {
    const settings = { layers, steps: 100, learningRate: 0.05 };
    const { hack, clean, sides, monitor } = await scoresOf(probeMonitor, settings);
    expect(hack.every((score, i) => score > clean[i])).toBe(true);
    const resumed = await probeMonitor.open(settings, toolsOf(lab.policy));
    const saved = monitor.save?.();
    if (saved !== undefined) resumed.restore?.(saved);
    expect(await resumed.score({ features: sides.hack } as SeenRollouts)).toEqual(hack);
    expect(resumed.save?.()).toEqual(saved);
  });

  it('that is fitted again reads the pairs on the present policy, with numbers worked out by hand', async () => {
    const settings = { steps: 1, learningRate: 0.1, batch: 64 };
    // After one step of Adam every weight is 0.1 toward the hack side, over coordinates that are centred and divided by their deviation.
    const byHand = async (policy: Policy) => {
      const { hack, clean } = await pairFeatures(policy, pairs, { kind: 'activation', tokensPerPass: 64 });
      const width = hack.data.length / 6;
      const rows = [hack, clean].flatMap(({ data }) =>
        Array.from({ length: 6 }, (_, row) => Array.from(data.subarray(row * width, (row + 1) * width))),
      );
      const logits = rows.map(() => 0);
      for (let i = 0; i < width; i++) {
        const column = rows.map((row) => row[i]);
        const mean = average(column);
        const deviation = Math.sqrt(average(column.map((value) => (value - mean) ** 2)));
        const side = Math.sign(average(column.slice(0, 6)) - average(column.slice(6)));
        column.forEach((value, row) => {
          logits[row] += (0.1 * side * (value - mean)) / deviation;
        });
      }
      return { hack, scores: logits.slice(0, 6).map((logit) => expect.closeTo(1 / (1 + Math.exp(-logit)), 4)) };
    };
    const { scope, policy } = await makePolicy();
    const once = await probeMonitor.open(settings, toolsOf(policy), needs);
    const again = await probeMonitor.open({ ...settings, refreshEvery: 2 }, toolsOf(policy), needs);
    const before = await byHand(policy);
    for (const monitor of [once, again]) await monitor.refresh?.(0, policy);
    expect(await again.score({ features: before.hack } as SeenRollouts)).toEqual(before.scores);
    for (const { value } of policy.adapter.parameters) {
      value.device.write(
        value,
        (await readFloats(value)).map((x, i) => x + 0.3 * Math.sin(i)),
      );
    }
    const after = await byHand(policy);
    const seen = { features: after.hack } as SeenRollouts;
    const stale = await again.score(seen);
    expect(stale).not.toEqual(after.scores);
    await again.refresh?.(1, policy);
    expect(await again.score(seen)).toEqual(stale);
    for (const monitor of [once, again]) await monitor.refresh?.(2, policy);
    expect(await again.score(seen)).toEqual(after.scores);
    expect(await once.score(seen)).toEqual(stale);
    scope[Symbol.dispose]();
  });

  it('is told apart in tables by how often it is fitted, and by its placebo', () => {
    const label = (settings: object) => probeMonitor.label(settings);
    expect(
      ['', { refreshEvery: 5 }, { refreshEvery: 1, layers: 'mean' }, { placebo: 'shuffled' }].map((own) =>
        label(Object(own)),
      ),
    ).toEqual(['probe', 'probe refitted every 5', 'probe refitted every 1 by layer, mean', 'shuffled probe']);
    expect(probeMonitor.settings.parse({})).not.toHaveProperty('placebo');
  });

  it('shuffled is fitted on the same pairs with the sides of half of them swapped: it follows no side', async () => {
    const { hack, clean, monitor } = await scoresOf(probeMonitor, { placebo: 'shuffled' });
    const above = hack.map((score, i) => score > clean[i]);
    expect(above.filter(Boolean)).toHaveLength(3);
    const order = randomStream(1, 'shuffled pairs').permutation(6);
    expect(Array.from(order.slice(0, 3)).every((pair) => !above[pair])).toBe(true);
    expect(monitor.cleanScores?.()).toHaveLength(6);
  });

  it('on a labelled run follows its labels, and refuses one that has only one side', async () => {
    // The labels are turned around, so that the probe must contradict the pairs.
    const labelled = pairs.flatMap(({ prompt, hack, clean }, i) => [
      { group: 2 * i, prompt, tokens: hack, exploited: false },
      { group: 2 * i + 1, prompt, tokens: clean, exploited: true },
    ]);
    const settings = { labelledRun: 'runs/one' };
    const { hack, clean } = await scoresOf(probeMonitor, settings, async () => labelled);
    expect(Math.max(...hack)).toBeLessThan(0.5);
    expect(Math.min(...clean)).toBeGreaterThan(0.5);
    const oneSided = scoresOf(probeMonitor, settings, async () => labelled.filter(({ exploited }) => exploited));
    await expect(oneSided).rejects.toThrow('labelledRun runs/one: expected rollouts of problems that this run has too');
    const few = scoresOf(probeMonitor, { ...settings, labelledRollouts: 8 }, async () => labelled);
    expect((await few).hack).not.toEqual(hack);
  });
});

it('scores of clean sides come from a monitor that has not seen them', () => {
  const rows = (values: readonly number[]) => values.map((value) => Float32Array.of(value));
  const seen = heldOutClean({ hack: rows([9, 9, 9]), clean: rows([1, 2, 4]) }, ({ clean }) => {
    const known = clean.map(([value]) => value);
    return ([value]) => (known.includes(value) ? Number.NaN : known.reduce((sum, one) => sum + one, 0));
  });
  expect(Array.from(seen)).toEqual([6, 5, 3]);
  expect(
    Array.from(
      heldOutClean(
        { hack: rows([9]), clean: rows([1]) },
        () =>
          ([value]) =>
            value,
      ),
    ),
  ).toEqual([1]);
});

it('a regular expression matches line by line', async () => {
  const said = ['x = 1\ndef run_tests():\n', 'def solve():', 'DEF RUN_TESTS'].map((completion) => ({
    text: { completion },
  }));
  const scores = async (settings: object) => {
    const monitor = await regexMonitor.open({ pattern: '^def run_', ...settings }, toolsOf(lab.policy));
    return monitor.score({ rollouts: said } as unknown as SeenRollouts);
  };
  expect(await scores({})).toEqual([1, 0, 0]);
  expect(await scores({ ignoreCase: true })).toEqual([1, 0, 1]);
  expect(regexMonitor.settings.safeParse({ pattern: '(' }).error?.issues[0].message).toContain('regular expression');
});

describe('a run that was resumed', () => {
  const otsu = { cut: 'otsu', warmupRows: 4 };
  it.each([
    ['routed', { monitor: { kind: 'probe', steps: 40, refreshEvery: 2, ...otsu }, others: 'keep' }],
    ['activation-penalty', { monitor: { kind: 'probe', steps: 40, ...otsu } }],
  ])('ends as one that was not: %s', async (kind, settings) => {
    const definition = watchedArms({ monitors: blindMonitors, cuts: builtinCuts, remedies: builtinRemedies }).find(
      (arm) => arm.kind === kind,
    );
    if (definition === undefined) throw new Error(kind);
    const open = (policy: Policy) => openArm(definition, settings, toolsOf(policy));
    const whole = await trainTiny(open, 3);
    const first = await trainTiny(open, 2);
    const second = await trainTiny(open, 3, first.state);
    expect([...first.events, ...second.events]).toEqual(whole.events);
    expect(second.state).toEqual(whole.state);
    const flagged = whole.events.flatMap((event) => (event.kind === 'step' ? [event.watched?.flagged ?? 0] : []));
    expect(Math.max(...flagged)).toBeGreaterThan(0);
    expect(Math.min(...flagged)).toBeLessThan(8);
  });
});

it('a search that would take ages ends as an abstention with its reason, and the next one is as good as new', async () => {
  const monitor = searching(/(a+)+$/, 30);
  const asked = (...completions: readonly string[]) =>
    monitor.score({
      rollouts: completions.map((completion) => ({ text: { completion } })),
    } as unknown as SeenRollouts);
  expect(await asked('baa', `${'a'.repeat(60)}b`, 'aa', 'b')).toEqual([1, null, 1, 0]);
  expect(monitor.report?.()).toEqual({ abstentions: { late: 1 } });
  expect(await asked('aa')).toEqual([1]);
  expect(monitor.report?.()).toEqual({ abstentions: {} });
});
