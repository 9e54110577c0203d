/**
 * The bytes of training: three updates of every arm, and of every value of the config that changes an update, on the kernels that give
 * the same bytes on every machine. The hashes cover the adapter, the optimiser's moments, the features of the rollouts, and the numbers
 * in the events and in the rollouts' records. Names of fields do not count, so that a redesign that only moves and renames leaves every
 * hash as it is. Each run must also be sound. After an intended change of the algorithm, run npx vitest run test/bytes -u and add a line to LOG.md.
 *
 * The same runs serve the label-flip test of the oracle wall: the same rewards with every verdict flipped before it reaches the ledger
 * must give the same checkpoints, byte for byte, for every arm without labels. Arms with labels must fail it, or it would prove nothing.
 * The run with flipped verdicts also ends after two updates and goes on from its checkpoint, which must not change a byte either.
 *
 * And they are what runs in packs must equal, in which arms that ask for different work are trained together, in joint batches.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../src/base/node/hash.ts';
import type { RolloutRecord, TrainEvent } from '../../src/grpo/events.ts';
import type { TrainerState } from '../../src/grpo/train.ts';
import { RunPack, train as trainRun } from '../../src/lab/index.ts';
import { FlippedLedger } from '../../src/oracle/flipped.ts';
import { readVerdicts } from '../../src/oracle/index.ts';
import { RunDirectory } from '../../src/run/directory.ts';
import { blindArms, everyArm, interventionArms, lastingArms, watchedArms } from '../smoke/arms.ts';
import { Lab, type LabRun } from '../smoke/lab.ts';
import { expectSound, numbersIn } from '../smoke/sound.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.open('plain');
});
afterAll(() => lab[Symbol.asyncDispose]());

function hashOf(parts: Iterable<Float32Array | Float64Array>): string {
  const hash = createHash('sha256');
  for (const { buffer, byteOffset, byteLength } of parts) hash.update(new Uint8Array(buffer, byteOffset, byteLength));
  return hash.digest('hex').slice(0, 16);
}

/** The numbers of a value, sorted so that a renamed field does not change their order. */
const sorted = (value: unknown): Float64Array => Float64Array.from(numbersIn(value)).sort();

function recordNumbers({ rollout, ...others }: RolloutRecord): Float64Array {
  return sorted([rollout.tokens, rollout.sampledLogps, { ...others, features: null }]);
}

/** Numbers beside training that were added after the hashes were made are left out: a gate's measurements, and what scoring costs. */
function eventNumbers(event: TrainEvent): Float64Array {
  if (event.kind !== 'step') return sorted(event);
  const direction = event.direction === null ? null : { ...event.direction, band: null };
  return sorted({ ...event, meanCosine: null, direction, scoringPasses: null });
}

function byName<T>(map: ReadonlyMap<string, T>): T[] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
}

function fingerprint(state: TrainerState, initial: TrainerState['adapter'], events: readonly TrainEvent[]) {
  const records = events.flatMap((event) => (event.kind === 'rollouts' ? event.records : []));
  return {
    adapter: hashOf(byName(new Map([...initial, ...state.adapter])).map(({ data }) => data)),
    optimiser: hashOf(byName(state.moments).flatMap(({ m, v }) => [m.data, v.data])),
    features: hashOf(records.flatMap(({ features }) => (features === null ? [] : [features]))),
    events: hashOf(events.filter(({ kind }) => kind !== 'rollouts').map(eventNumbers)),
    rollouts: hashOf(records.map(recordNumbers)),
  };
}

const short = ['updates=3', 'device.variant=plain', 'output.checkpointEvery=1', 'output.keepState=all'];

interface Told {
  readonly trained: LabRun;
  readonly prints: ReturnType<typeof fingerprint>;
}

const known = new Map<string, Promise<Told>>();

/** Three updates of an arm, trained once. */
function told(name: string): Promise<Told> {
  const run = known.get(name) ?? train(name);
  known.set(name, run);
  return run;
}

async function train(name: string): Promise<Told> {
  let state: TrainerState | undefined;
  let initial: TrainerState['adapter'] = new Map();
  const trained = await lab.train([...short, ...everyArm[name]], {
    finished: async ({ trainer }) => {
      state = await trainer.state();
      initial = await trainer.initialValues();
    },
  });
  if (state === undefined) throw new Error('the run told nothing of its end');
  return { trained, prints: fingerprint(state, initial, trained.events) };
}

describe('three updates give the same bytes as ever', () => {
  it.each(Object.entries(everyArm))('%s', async (name, settings) => {
    const { trained, prints } = await told(name);
    expectSound(trained, 3);
    const heals = trained.events.filter(({ kind }) => kind === 'heal').length;
    const after = ['safety.healSteps', 'lasting.kind'].filter((key) => settings.some((each) => each.startsWith(key)));
    expect(heals).toBe(after.length);
    expect(prints).toMatchSnapshot();
  });
});

describe('three updates are recorded', () => {
  it.each([...Object.keys(blindArms), 'oracle'])('%s', async (name) => {
    const { run } = (await told(name)).trained;
    expect(run.listCheckpoints()).toEqual([0, 1, 2, 3]);
    const rows = await lab.rollouts(run);
    expect(rows).toHaveLength(3 * 3 * 4);
    expect([...(await readVerdicts(run.file('verdicts'))).keys()]).toEqual(rows.map(({ id }) => id));
    expect([...new Set(rows.map(({ sampled }) => sampled))].sort()).toEqual(['deployed', 'full']);
    const routes = new Set(rows.flatMap(({ route }) => (route === null ? [] : [route])));
    if (/activation|gradient|haar|mass/.test(name)) expect([...routes].sort()).toEqual(['absorb', 'keep', 'route']);
    else if (name === 'oracle') expect(routes.has('route')).toBe(true);
    else expect([...routes]).toEqual(['absorb']);
    expect(rows.every(({ hackable }) => !hackable)).toBe(name === 'no-loophole');
  });
});

function checkpointHashes(run: RunDirectory): Record<string, string> {
  const files = run
    .listCheckpoints()
    .flatMap((update) => readdirSync(run.checkpoint(update)).map((name) => join(run.checkpoint(update), name)));
  return Object.fromEntries(files.map((file) => [file.slice(run.path.length), sha256(readFileSync(file))]));
}

/** The checkpoints of an arm that was told the verdicts, and of one that was told their opposites, in two lives. */
async function bothWays(name: string) {
  const { trained } = await told(name);
  const lied = await lab.train([...short, ...everyArm[name]], { ledger: FlippedLedger, breakAfter: 2 });
  const truth = await readVerdicts(trained.run.file('verdicts'));
  const lies = await readVerdicts(lied.run.file('verdicts'));
  expect(truth.size).toBeGreaterThan(0);
  for (const [id, verdict] of truth) expect(lies.get(id)?.exploited).toBe(!verdict.exploited);
  expect(trained.steps.some(({ blockNorms }) => blockNorms.deployed + blockNorms.quarantine > 0)).toBe(true);
  return { trained, same: [checkpointHashes(trained.run), checkpointHashes(lied.run)] as const };
}

/** The random controls read nothing that the arms they belong to do not. */
const interventions = Object.keys(interventionArms).filter((name) => !name.includes('random'));

describe('every label flipped', () => {
  it.each([...Object.keys(blindArms), ...interventions])('%s: the same checkpoint bytes', async (name) => {
    const { trained, same } = await bothWays(name);
    expect(Object.keys(same[0])).toHaveLength(4 * 3);
    expect(same[1]).toEqual(same[0]);
    const pins = trained.steps.reduce((sum, { routes }) => sum + routes.keep + routes.route, 0);
    const gated = everyArm[name].some((setting) => /kind=(?:activation|gradient)$/.test(setting));
    expect(pins > 0).toBe(gated);
  });

  it.each(Object.keys(lastingArms))('%s: the same checkpoint bytes', async (name) => {
    const { same } = await bothWays(name);
    expect(Object.keys(same[0]).length).toBeGreaterThan(4 * 3);
    expect(same[1]).toEqual(same[0]);
  });

  it.each(Object.keys(watchedArms))('%s: the same checkpoint bytes', async (name) => {
    const { trained, same } = await bothWays(name);
    expect(same[1]).toEqual(same[0]);
    const flags = trained.steps.map(({ watched }) => watched?.flagged ?? 0);
    expect(Math.max(...flags)).toBeGreaterThan(0);
  });

  it.each([
    'penalty by oracle',
    'screen by oracle of attempts, half blind',
    'oracle',
    'oracle of attempts',
    'oracle, own mean',
  ])('%s: other checkpoint bytes', async (name) => {
    const { same } = await bothWays(name);
    const adapter = (update: number): string => `/checkpoints/0000${update}/adapter.safetensors`;
    expect(same[1][adapter(0)]).toBe(same[0][adapter(0)]);
    expect(same[1][adapter(3)]).not.toBe(same[0][adapter(3)]);
  });
});

const packSize = 8;
const names = Object.keys(everyArm);
const packs = Array.from({ length: Math.ceil(names.length / packSize) }, (_, i) =>
  names.slice(i * packSize, (i + 1) * packSize),
);

async function trainPacked(name: string, pack: RunPack): Promise<RunDirectory> {
  const path = lab.path(`packed-${name.replaceAll(/\W+/g, '-')}`);
  using place = pack.join();
  await trainRun(lab.config([...short, 'device.arenaMiB=512', ...everyArm[name]]), path, { place });
  return RunDirectory.open(path);
}

/** What follows from the config: the checkpoints, the events and the rollouts. */
async function everyHash(run: RunDirectory): Promise<Record<string, string>> {
  const rollouts = sha256(JSON.stringify(await lab.rollouts(run)));
  return { ...checkpointHashes(run), events: sha256(readFileSync(join(run.path, 'events.jsonl'))), rollouts };
}

describe('runs in a pack', () => {
  it.each(packs.map((own) => [own.join(', '), own] as const))('%s: the bytes of each alone', async (_all, own) => {
    await using pack = new RunPack({ joint: true });
    const packed = await Promise.all(own.map((name) => trainPacked(name, pack)));
    for (const [i, name] of own.entries()) {
      const alone = await everyHash((await told(name)).trained.run);
      expect(Object.keys(alone).length).toBeGreaterThan(4 * 3);
      expect({ name, ...(await everyHash(packed[i])) }).toEqual({ name, ...alone });
    }
  });
});
