/** Every arm, and every value of the config that changes the update, for a few updates on the tiny lab. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TrainEvent } from '../../src/grpo/events.ts';
import { readVerdicts } from '../../src/oracle/index.ts';
import { blindArms, configValues, oracleArm } from './arms.ts';
import { Lab, type LabRun } from './lab.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.open();
}, 120_000);
afterAll(() => lab[Symbol.asyncDispose]());

function numbersIn(value: unknown): number[] {
  if (typeof value === 'number') return [value];
  if (ArrayBuffer.isView(value)) return Array.from(value as Float32Array);
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbersIn) : [];
}

/** Expects finite numbers, expectations that hold, and that something was learned. */
function expectSound({ events, steps, end, holds }: LabRun, updates: number): void {
  expect({ end, holds }).toEqual({ end: 'finished', holds: true });
  expect(steps).toHaveLength(updates);
  const plain = events.filter((event: TrainEvent) => event.kind !== 'rollouts');
  expect(numbersIn(plain).filter((value) => !Number.isFinite(value))).toEqual([]);
  expect(steps.some(({ gradientNorm }) => gradientNorm > 0)).toBe(true);
  for (const { zeroSignal, gradientNorm } of steps) if (gradientNorm === 0) expect(zeroSignal).not.toBeNull();
}

describe('six updates of every arm', () => {
  it.each([...Object.entries(blindArms), ['oracle', oracleArm] as const])('%s', async (name, settings) => {
    const trained = await lab.train([...settings, 'updates=6', 'output.checkpointEvery=3']);
    expectSound(trained, 6);
    expect(trained.run.listCheckpoints()).toEqual([0, 3, 6]);
    const rows = await lab.rollouts(trained.run);
    expect(rows).toHaveLength(6 * 3 * 4);
    expect([...(await readVerdicts(trained.run.file('verdicts'))).keys()]).toEqual(rows.map(({ id }) => id));
    const loopholes = new Set(rows.map(({ sampled }) => sampled));
    expect([...loopholes].sort()).toEqual(['deployed', 'full']);
    const routes = new Set(rows.flatMap(({ route }) => (route === null ? [] : [route])));
    if (/activation|gradient|haar|mass/.test(name)) expect([...routes].sort()).toEqual(['absorb', 'keep', 'route']);
    else if (name === 'oracle') expect(routes.has('route')).toBe(true);
    else expect([...routes]).toEqual(['absorb']);
    expect(rows.every(({ hackable }) => !hackable)).toBe(name === 'no-loophole');
  });
});

describe('values of the config', () => {
  it.each(Object.entries(configValues))('%s', async (_, settings) => {
    const trained = await lab.train([...settings, 'updates=3']);
    expectSound(trained, 3);
    const heal = trained.events.filter(({ kind }) => kind === 'heal');
    expect(heal.length).toBe(settings.some((setting) => setting.startsWith('safety.heal')) ? 1 : 0);
  });
});
