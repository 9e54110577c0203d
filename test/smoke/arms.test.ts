/** Six updates of every arm on the tiny lab; test/bytes has three of every value of the config that changes an update. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readVerdicts } from '../../src/oracle/index.ts';
import { blindArms, oracleArm } from './arms.ts';
import { Lab } from './lab.ts';
import { expectSound } from './sound.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.open();
}, 120_000);
afterAll(() => lab[Symbol.asyncDispose]());

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
