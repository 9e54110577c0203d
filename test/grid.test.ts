/**
 * The grid of monitors, cuts and remedies: every combination is refused with the reason before anything begins, or opens an arm that makes
 * two updates of the tiny policy. What is refused follows from the parts, and the counts below say how much of the product is left. Here
 * two updates are made of enough combinations that any two parts meet; npm run check:grid makes them of all.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TokenPair } from '../src/adapters/index.ts';
import { Scope } from '../src/engine/index.ts';
import { createReferenceDevice } from '../src/engine/reference/index.ts';
import { type ArmTools, type FrozenModel, openArm, type Policy } from '../src/grpo/index.ts';
import { builtinParts } from '../src/lab/index.ts';
import { byteTokenizer, chatMarkupChoices } from '../src/model/index.ts';
import { makePolicy, tokens } from './grpo/tiny-policy.ts';
import { trainTiny } from './grpo/tiny-trainer.ts';
import { openFrozen } from './training/frozen-model.ts';

const home = mkdtempSync(join(tmpdir(), 'gq-grid-'));
const scope = new Scope(createReferenceDevice());
let judge: FrozenModel;
beforeAll(async () => {
  judge = await openFrozen(join(home, 'judge'), byteTokenizer(chatMarkupChoices), 259, scope);
});
afterAll(() => {
  scope[Symbol.dispose]();
  rmSync(home, { recursive: true });
});

const pairs: TokenPair[] = Array.from({ length: 4 }, (_, i) => ({
  prompt: tokens(`prompt ${i}`, 4),
  hack: tokens(`hack ${i}`, 5),
  clean: tokens(`clean ${i}`, 6),
}));

const toolsOf = (policy: Policy): ArmTools => ({
  seed: 1,
  policy,
  tokensPerPass: 512,
  pairs,
  demonstrations: { pool: [], pairs: [] },
  scope,
  countBait: async () => ({ took: 0, of: 0 }),
  soundReward: async () => 0,
  tell: async () => undefined,
  instruct: () => () => new Int32Array(1),
  writePairs: async () => pairs,
  tokenize: () => new Int32Array(1),
  labels: (id) => {
    const attempt = id.endsWith('0');
    return { attempt, exploited: attempt, correct: false, problem: 'a', loopholes: ['exit_code'], markers: [] };
  },
  labelled: null,
  openModel: async () => judge,
  folder: null,
});

type Table = { readonly kind: string; readonly [key: string]: unknown };

/** The table of a monitor in every granularity and kind of features that it has. */
const monitors: Readonly<Record<string, Table>> = {
  ...Object.fromEntries(
    ['activation', 'gradient'].flatMap((features) =>
      ['rollout', 'token'].map((granularity) => [
        `${features} direction by ${granularity}`,
        { kind: 'direction', features, granularity, refreshEvery: 1 },
      ]),
    ),
  ),
  probe: { kind: 'probe', steps: 20 },
  fingerprint: { kind: 'fingerprint', refreshEvery: 1 },
  regex: { kind: 'regex', pattern: '1' },
  judge: { kind: 'judge', model: 'base', question: '{task}\n{response}\n{yes} or {no}?' },
  chance: { kind: 'chance' },
  untrusted: { kind: 'untrusted' },
  'oracle of attempts': { kind: 'oracle', target: 'attempt' },
  'oracle of outcomes': { kind: 'oracle' },
};
const memories = ['scores', 'features'].flatMap((memory) =>
  ['quantile', 'otsu', 'mixture'].map((kind) => [`${kind} of ${memory}`, { kind, memory, warmupRows: 2 }] as const),
);
const cuts: Readonly<Record<string, Table>> = {
  ...Object.fromEntries(['fixed', 'fpr', 'pairs', 'own'].map((kind) => [kind, { kind }])),
  ...Object.fromEntries(memories),
};
const remedies = Object.fromEntries(builtinParts.remedies.map(({ kind }) => [kind, { kind }]));

const definition = builtinParts.arms.find(({ kind }) => kind === 'watched');
if (definition === undefined) throw new Error('no arm that watches');

interface Cell {
  readonly name: string;
  readonly settings: Readonly<Record<'monitor' | 'cut' | 'remedy', Table>>;
  /** Why it is refused; null for one that runs. */
  readonly refused: string | null;
}

const cells = Object.entries(monitors).flatMap(([watcher, monitor]) =>
  Object.entries(cuts).flatMap(([where, cut]) =>
    Object.entries(remedies).map(([what, remedy]): Cell => {
      const settings = { monitor, cut, remedy };
      const issues = definition.settings.safeParse(settings).error?.issues ?? [];
      const refused = issues.length === 0 ? null : issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
      return { name: `${what} by ${watcher}, ${where}`, settings, refused: refused?.join('; ') ?? null };
    }),
  ),
);

it('every part of the package is in the product', () => {
  expect(new Set(Object.values(monitors).map(({ kind }) => kind))).toEqual(
    new Set(builtinParts.monitors.map(({ kind }) => kind)),
  );
  expect(new Set(Object.values(cuts).map(({ kind }) => kind))).toEqual(
    new Set(builtinParts.cuts.map(({ kind }) => kind)),
  );
  expect(cells).toHaveLength(12 * 10 * 8);
});

describe('what is refused', () => {
  it('is told with the key, what would fit and why', () => {
    const reasons = cells.flatMap(({ refused }) => (refused === null ? [] : [refused]));
    const told = /^(?:(?:^|; )(?:cut|remedy)\.(?:kind|memory): expected .+ with .+[:,] .+, found ".+")+$/;
    expect(reasons.filter((reason) => !told.test(reason))).toEqual([]);
  });

  it('leaves these', () => {
    const runs = (wanted: (cell: Cell) => boolean): number =>
      cells.filter((cell) => cell.refused === null && wanted(cell)).length;
    const by = (kind: string, granularity?: string) =>
      runs(({ settings: { monitor } }) => monitor.kind === kind && monitor['granularity'] === granularity);
    // Directions: nine cuts, and all remedies but the two that need probabilities. By token: four cuts, and routes only.
    expect([by('direction', 'rollout'), by('direction', 'token')]).toEqual([2 * 9 * 6, 2 * 4]);
    // A probe: five cuts and every remedy. A judge: no clean scores and no slopes.
    expect([by('probe'), by('judge')]).toEqual([5 * 8, 4 * 7]);
    // A fingerprint: the cuts of the probe, and no slopes.
    expect(by('fingerprint')).toBe(5 * 7);
    // Scores of 0 and 1: one cut.
    expect([by('regex'), by('chance'), by('untrusted'), by('oracle')]).toEqual([7, 7, 7, 2 * 7]);
  });
});

const running = cells.filter(({ refused }) => refused === null);

/** Combinations in which any two parts that fit together meet: each is the one in which most meet for the first time. */
function meetings(all: readonly Cell[]): Cell[] {
  const left = new Map(all.map((cell) => [cell, meetingsOf(cell)]));
  const chosen: Cell[] = [];
  for (const met = new Set<string>(); left.size > 0; ) {
    for (const [cell, twos] of left)
      left.set(
        cell,
        twos.filter((two) => !met.has(two)),
      );
    const [cell, twos] = [...left].reduce((best, each) => (each[1].length > best[1].length ? each : best));
    if (twos.length === 0) break;
    for (const two of twos) met.add(two);
    chosen.push(cell);
  }
  return chosen;
}

const meetingsOf = ({ settings: { monitor, cut, remedy } }: Cell): string[] => [
  `${names.get(monitor)} ${names.get(cut)}`,
  `${names.get(monitor)} ${remedy.kind}`,
  `${names.get(cut)} ${remedy.kind}`,
];

const names = new Map([...Object.entries(monitors), ...Object.entries(cuts)].map(([name, table]) => [table, name]));

it('whatever fits opens', async () => {
  const { scope: own, policy } = await makePolicy();
  const closed: string[] = [];
  for (const { name, settings } of running) {
    await openArm(definition, settings, toolsOf(policy)).catch((error) => closed.push(`${name}: ${error.message}`));
  }
  own[Symbol.dispose]();
  expect(closed).toEqual([]);
});

describe('two updates of whatever fits', () => {
  const flagged = new Set<string>();
  const trained = process.env['GQ_GRID'] === 'whole' ? running : meetings(running);
  const byMonitor = Object.entries(monitors).map(
    ([name, monitor]) => [name, trained.filter(({ settings }) => settings.monitor === monitor)] as const,
  );

  it.each(byMonitor)('by %s', async (_name, own) => {
    for (const { name, settings } of own) {
      const { events } = await trainTiny((policy) => openArm(definition, settings, toolsOf(policy)), 2);
      const steps = events.flatMap((event) => (event.kind === 'step' ? [event] : []));
      expect([name, steps.map(({ update }) => update)]).toEqual([name, [1, 2]]);
      const acted = steps.some(({ watched, routes }) => (watched?.flagged ?? 0) > 0 || routes.route > 0);
      if (acted) for (const part of Object.values(settings)) flagged.add(part.kind);
    }
  });

  it('every part has had something to act on', () => {
    const kinds = running.flatMap(({ settings }) => Object.values(settings).map(({ kind }) => kind));
    expect([...flagged].sort()).toEqual([...new Set(kinds)].sort());
  });
});

describe('a kind of arm and what it means', () => {
  const armOf = (kind: string) => {
    const found = builtinParts.arms.find((arm) => arm.kind === kind);
    if (found === undefined) throw new Error(kind);
    return found;
  };
  const tables = (kind: string, settings: object) => {
    const { monitor, cut, remedy } = armOf(kind).means(settings) ?? {};
    return { monitor, cut, remedy };
  };

  it.each([
    ['activation', { warmupRows: 2, calibration: 'otsu', keepTail: 0.3, keepOnly: 'praised' }],
    ['activation', { warmupRows: 2, placebo: 'mass-matched', tail: 0.2 }],
    ['gradient', { warmupRows: 2, granularity: 'token', mean: 'own', keepTail: 0 }],
    ['gradient', { calibration: 'pairs', placebo: 'shuffled', placeboSeed: 3 }],
    ['routed', { monitor: { kind: 'direction', warmupRows: 2 }, others: 'keep', mean: 'own' }],
    ['screen', { monitor: { kind: 'probe', steps: 20, cut: 'fixed', threshold: 0.4 } }],
    ['penalty', { monitor: { kind: 'regex', pattern: '1' }, penalty: 2 }],
    ['advantage-modification', { monitor: { kind: 'chance' }, form: 'additive' }],
  ])('leave the same policy and remember the same: %s %j', async (kind, settings) => {
    const named = await trainTiny((policy) => openArm(armOf(kind), settings, toolsOf(policy)), 3);
    const said = await trainTiny((policy) => openArm(definition, tables(kind, settings), toolsOf(policy)), 3);
    expect(said.events).toEqual(named.events);
    expect(said.state).toEqual(named.state);
  });

  it('the oracle arm and its tables draw the same errors and route the same', async () => {
    const settings = { target: 'attempt', recall: 0.6, falsePositiveRate: 0.3 };
    const named = await trainTiny((policy) => openArm(armOf('oracle'), settings, toolsOf(policy)), 2);
    const said = await trainTiny((policy) => openArm(definition, tables('oracle', settings), toolsOf(policy)), 2);
    expect(said.state.adapter).toEqual(named.state.adapter);
  });

  it('is called what it does, costs what its parts cost, and has their placebos', () => {
    const direction = { kind: 'direction', features: 'gradient', placebo: 'haar', placeboSeed: 3 };
    const two = { kind: 'quantile', tail: 0.2, keepTail: 0.3, memory: 'features' };
    const routed = { monitor: direction, cut: two, remedy: { kind: 'route', mean: 'own' } };
    expect(definition.label(routed)).toBe(
      'routed, own mean, by haar gradient direction draw 3 upper 0.2 keeping 0.3 rescored',
    );
    expect(definition.means(routed)).toMatchObject({
      costs: ['readings of the pairs', 'a reading and a gradient of every rollout in deployed state'],
      placebos: ['haar', 'reversed', 'shuffled'].map((name) => `monitor.placebo=${name}`),
    });
    const ofGroups = { ...routed, remedy: { kind: 'route' } };
    const solving = { ...ofGroups, monitor: { kind: 'direction', features: 'gradient', orthogonalTo: 'solve' } };
    expect([ofGroups, solving].map((settings) => definition.means(settings)?.placebos)).toEqual([
      ['monitor.placebo=haar', 'monitor.placebo=reversed', 'monitor.placebo=shuffled', 'remedy.placebo=mass-matched'],
      ['monitor.placebo=reversed', 'monitor.placebo=shuffled', 'remedy.placebo=mass-matched'],
    ]);
    const judged = {
      monitor: { kind: 'judge', endpoint: 'http://localhost/v1', modelName: 'm' },
      cut: { kind: 'fixed' },
      remedy: { kind: 'screen' },
    };
    expect(definition.label(judged)).toBe('screen by judge m');
    expect(definition.means(judged)).toMatchObject({
      costs: ["a request to the judge's endpoint for every rollout"],
      placebos: ['monitor.kind=chance monitor.rate=SHARE'],
    });
    const calibrated = { ...judged, cut: { kind: 'quantile', keepTail: 0 } };
    expect(definition.means(calibrated)?.placebos).toEqual(['monitor.kind=chance monitor.rate=SHARE cut.kind=fixed']);
    expect(
      [routed, judged].map((settings) => [definition.usesLabels(settings), definition.quarantine(settings)]),
    ).toEqual([
      [false, true],
      [false, false],
    ]);
  });

  it('labels follow from the monitor, whatever the remedy', () => {
    const by = (monitor: object) => ({ monitor, cut: { kind: 'fixed' }, remedy: { kind: 'filter' } });
    const uses = [{ kind: 'oracle' }, { kind: 'probe', labelledRun: 'runs/x' }, { kind: 'probe' }].map((monitor) =>
      definition.usesLabels(by(monitor)),
    );
    expect(uses).toEqual([true, true, false]);
  });
});
