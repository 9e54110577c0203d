/**
 * The label-flip test of the oracle wall: the same rewards with every verdict flipped before it reaches the ledger must give
 * the same checkpoints, byte for byte, for every arm without labels. The oracle arm must fail it, or the test would prove nothing.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../src/base/node/hash.ts';
import { FlippedLedger, readVerdicts } from '../../src/oracle/index.ts';
import type { RunDirectory } from '../../src/run/directory.ts';
import { blindArms, interventionArms, oracleArm, watchedArms, watchedByOracle } from '../smoke/arms.ts';
import { Lab } from '../smoke/lab.ts';

function checkpointHashes(run: RunDirectory): Record<string, string> {
  const files = run
    .listCheckpoints()
    .flatMap((update) => readdirSync(run.checkpoint(update)).map((name) => join(run.checkpoint(update), name)));
  return Object.fromEntries(files.map((file) => [file.slice(run.path.length), sha256(readFileSync(file))]));
}

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.open();
}, 120_000);
afterAll(() => lab[Symbol.asyncDispose]());

const short = ['updates=3', 'output.checkpointEvery=1', 'output.keepState=all'];

/** A monitor has judged rollouts, and its judgement has been learned from, after two updates. */
const shorter = ['updates=2', 'output.checkpointEvery=2'];

async function bothWays(settings: readonly string[]) {
  const told = await lab.train([...short, ...settings]);
  const lied = await lab.train([...short, ...settings], { ledger: FlippedLedger });
  const [truth, lies] = [await readVerdicts(told.run.file('verdicts')), await readVerdicts(lied.run.file('verdicts'))];
  for (const [id, verdict] of truth) expect(lies.get(id)?.exploited).toBe(!verdict.exploited);
  expect(told.steps.some(({ blockNorms }) => blockNorms.deployed + blockNorms.quarantine > 0)).toBe(true);
  return { told, lied, same: [checkpointHashes(told.run), checkpointHashes(lied.run)] as const };
}

/** The random controls read nothing that the arms they belong to do not. */
const interventions = Object.entries(interventionArms).filter(([name]) => !name.includes('random'));

describe('every label flipped', () => {
  it.each([...Object.entries(blindArms), ...interventions])('%s: the same checkpoint bytes', async (_, settings) => {
    const { told, same } = await bothWays(settings);
    expect(Object.keys(same[0])).toHaveLength(4 * 3);
    expect(same[1]).toEqual(same[0]);
    const pins = told.steps.reduce((sum, { routes }) => sum + routes.keep + routes.route, 0);
    const gated = settings.some((setting) => /kind=(?:activation|gradient)$/.test(setting));
    expect(pins > 0).toBe(gated);
  });

  it.each(Object.entries(watchedArms))('%s: the same checkpoint bytes', async (_, settings) => {
    const { told, same } = await bothWays([...settings, ...shorter]);
    expect(same[1]).toEqual(same[0]);
    const flags = told.steps.map(({ watched }) => watched?.flagged ?? 0);
    expect(Math.max(...flags)).toBeGreaterThan(0);
  });

  it('penalty by oracle: other checkpoint bytes', async () => {
    const { same } = await bothWays([...watchedByOracle, ...shorter]);
    const last = '/checkpoints/00002/adapter.safetensors';
    expect(same[1][last]).not.toBe(same[0][last]);
  });

  it('oracle: other checkpoint bytes, from the first update on', async () => {
    const { same } = await bothWays(oracleArm);
    expect(same[1]['/checkpoints/00000/adapter.safetensors']).toBe(same[0]['/checkpoints/00000/adapter.safetensors']);
    expect(same[1]['/checkpoints/00003/adapter.safetensors']).not.toBe(
      same[0]['/checkpoints/00003/adapter.safetensors'],
    );
  });
});
