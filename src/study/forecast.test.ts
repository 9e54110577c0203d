/** What an experiment will cost: known from configs, from earlier runs of the same shape, or not at all. */
import { cpSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import { gq } from '../../test/run-gq.ts';
import { forecastLines } from '../cli/terminal/experiment-picture.ts';
import { planCheckpoints } from '../lab/index.ts';
import { type ExperimentPlan, planExperiment, readExperiment } from './experiment.ts';
import {
  expectDiskRoom,
  expectGpuRoom,
  forecastDisk,
  forecastExperiment,
  howManyFit,
  joinForecasts,
  packThatFits,
  runsTogether,
  sparerSettings,
} from './forecast.ts';
import { measuring, readRate } from './rates.ts';
import { plannedGpus, planSlots } from './slots.ts';

const home = temporaryFolder();
const path = join(home, 'two.toml');
const armOf = (name: string) => `[[arms]]\nname = "${name}"\nrecipe = "${resolve('recipes', `micro-${name}.toml`)}"\n`;
writeFileSync(path, `name = "two"\nseeds = [1, 2, 3]\nset = ["updates=20"]\n[evaluation]\ncurveEvery = 0\nsets = ["test-original"]\n${armOf('vanilla')}${armOf('activation')}`); // biome-ignore format: one line

let plan: ExperimentPlan;
beforeEach(async () => {
  vi.stubEnv('GQ_STATE', join(temporaryFolder(), 'state'));
  plan = await planExperiment(readExperiment(path), path);
});

const shape = (jobs: number, pack: number) => ({ slots: planSlots(jobs, 6, []), pack });

function expectRun(arm: string) {
  const run = plan.runs.find((each) => each.arm === arm);
  if (run === undefined) throw new Error(arm);
  return run;
}

/** A run of this arm that took 3 s for its first update and 2 s for each other, and 5 s for each of 4 evaluations. */
async function measure(arm: string, atATime: number, pack: number, config = expectRun(arm).config): Promise<void> {
  const folder = join(temporaryFolder(), 'measured');
  mkdirSync(join(folder, 'checkpoints', '00020'), { recursive: true });
  writeFileSync(join(folder, 'checkpoints', '00020', 'adapter.safetensors'), Buffer.alloc(9999));
  writeFileSync(join(folder, 'events.jsonl'), Buffer.alloc(100 * config.updates));
  mkdirSync(join(folder, 'evaluations'));
  writeFileSync(join(folder, 'evaluations', '00000-train-base.json'), Buffer.alloc(500));
  const passed: string[] = [];
  const report = measuring({ config, path: folder, atATime, pack }, ({ kind }) => passed.push(kind));
  for (let update = 1; update <= 20; update++) report({ kind: 'step', update, seconds: update === 1 ? 3 : 2 });
  report({ kind: 'evaluated', seconds: 20, made: 4, processBytes: 1e9 });
  expect(passed).toHaveLength(21);
  await expect.poll(() => readRate(config, pack)).not.toBeNull();
}

describe('an experiment costs', () => {
  it('by arm what one with the same features took: those of each token take longer than those of a rollout', async () => {
    await measure('activation', 1, 1);
    const { config } = expectRun('activation');
    expect(readRate(config, 1)).toMatchObject({ updateSeconds: 2 });
    expect(readRate({ ...config, arm: { ...config.arm, granularity: 'token' } }, 1)).toBeNull();
    const by = (kind: string) => ({ ...config, arm: { kind: 'routed', monitor: { kind } } });
    await measure('activation', 1, 1, by('judge'));
    expect(readRate(by('judge'), 1)).not.toBeNull();
    expect(readRate(by('probe'), 1)).toBeNull();
  });

  it('checkpoints on disk, known from its configs; time and memory are not known before a run was measured', async () => {
    const forecast = await forecastExperiment(plan, join(home, 'new'), shape(1, 1));
    expect(forecast).toMatchObject({
      seconds: null,
      unmeasured: ['vanilla', 'activation'],
      hostBytes: null,
      atATime: 1,
    });
    expect(forecastLines(forecast, 2)[1]).toBe(
      'time     not known until an experiment on this machine has finished a run like vanilla, activation, however few its updates',
    );
    expect(forecast.disk.checkpointBytes).toBeGreaterThan(6 * 20_000);
    expect(forecast.disk.ledgerBytes).toBeNull();
    const one = await forecastExperiment({ ...plan, runs: plan.runs.slice(0, 1) }, join(home, 'new'), shape(1, 1));
    expect(forecast.disk.checkpointBytes).toBeGreaterThan(4 * one.disk.checkpointBytes);
  });

  it('checkpoints on disk, known from config.json of the model alone: its other files take long to read, and a study asks for every arm', async () => {
    const model = join(temporaryFolder(), 'model');
    mkdirSync(model);
    cpSync(join('models', 'micro', 'config.json'), join(model, 'config.json'));
    const runs = plan.runs.map((run) => ({ ...run, config: { ...run.config, model } }));
    const of = async (made: ExperimentPlan) => (await forecastDisk(made, join(home, 'new'), 1, 1)).checkpointBytes;
    expect(await of({ ...plan, runs })).toBe(await of(plan));
  });

  it('what runs of the same shape took, shared among those that were measured side by side', async () => {
    await measure('vanilla', 1, 1);
    const half = await forecastExperiment(plan, join(home, 'new'), shape(1, 1));
    expect(half).toMatchObject({ seconds: null, unmeasured: ['activation'] });
    // Three runs of 20 updates at 2 s and 2 evaluations at 5 s.
    expect(forecastLines(half, 6)[1]).toBe(
      'time     2 min 30 s for the arms measured here; of the others not known until an experiment on this machine has finished a run like activation, however few its updates',
    );
    await measure('activation', 2, 1);
    const { seconds, disk, hostBytes } = await forecastExperiment(plan, join(home, 'new'), shape(2, 1));
    // An update takes 2 s, an evaluation 5 s: of the base and of one state of vanilla, of the base and of two of activation.
    const [vanilla, activation] = [20 * 2 + 2 * 5, (20 * 2 + 3 * 5) / 2];
    expect(seconds).toBeCloseTo(3 * vanilla + 3 * activation, 9);
    expect(disk.ledgerBytes).toBe(6 * 2500);
    expect(hostBytes).toBe(2e9);
    expect(await forecastExperiment(plan, join(home, 'new'), shape(1, 3))).toMatchObject({ seconds: null });
  });

  it('evaluations on disk once, where a shorter run was measured', async () => {
    for (const arm of ['vanilla', 'activation']) await measure(arm, 1, 1, { ...expectRun(arm).config, updates: 2 });
    expect((await forecastDisk(plan, join(home, 'new'), 1, 1)).ledgerBytes).toBe(6 * (20 * 100 + 500));
  });

  it('its attacks too: a deployed model, and an attack as long as it says', async () => {
    await measure('vanilla', 1, 1);
    await measure('activation', 1, 1);
    const relearn = { arms: ['activation'], updates: 7 };
    const attacked = { ...plan, experiment: { ...plan.experiment, relearn } };
    const [without, whole] = [
      await forecastExperiment(plan, join(home, 'new'), shape(1, 1)),
      await forecastExperiment(attacked, join(home, 'new'), shape(1, 1)),
    ];
    expect((whole.seconds ?? 0) - (without.seconds ?? 0)).toBeCloseTo(3 * 7 * 2, 9);
    const weights = statSync(join('models', 'micro', 'model.safetensors')).size;
    expect(whole.disk.checkpointBytes - without.disk.checkpointBytes).toBeGreaterThan(3 * weights);
  });

  it('more than a disk holds: refused, with what is missing', () => {
    const disk = { checkpointBytes: 8e9, ledgerBytes: null, freeBytes: 5e9 };
    const expectRoom = (more: object = {}, spared: string[] = []) =>
      expectDiskRoom('runs/two', { ...disk, ...more }, spared);
    expect(expectRoom).toThrow(/8\.0 GB of room on its disk.*found 5\.0 GB free.* keep less: fewer seeds or arms\./);
    expect(() => expectRoom({}, ['--set a=1'])).toThrow('keep less: --set a=1, fewer seeds or arms.');
    expectRoom({ freeBytes: 8e9 });
    expect(() => expectRoom({ ledgerBytes: 1, freeBytes: 8e9 })).toThrow('GB free');
  });

  it('on disk less what lies there, and the newest state of as many runs as work at a time', async () => {
    const directory = join(temporaryFolder(), 'two');
    const bytesOf = async (atATime: number) => (await forecastDisk(plan, directory, atATime, 1)).checkpointBytes;
    const [one, three] = [await bytesOf(1), await bytesOf(3)];
    const states = await Promise.all(plan.runs.map(async ({ config }) => (await planCheckpoints(config)).stateBytes));
    expect(three - one).toBe(2 * Math.max(...states));
    mkdirSync(join(directory, 'vanilla-1'), { recursive: true });
    writeFileSync(join(directory, 'vanilla-1', 'part'), Buffer.alloc(1000));
    expect(await bytesOf(1)).toBe(one - 1000);
  });

  it('with others that are done one after another the sum of disk and hours, and the most memory of any', async () => {
    const made = await forecastExperiment(plan, join(home, 'new'), shape(1, 1));
    const of = (checkpointBytes: number, neededBytes: number, seconds: number | null) => ({
      ...{ ...made, seconds },
      disk: { checkpointBytes, ledgerBytes: 1, freeBytes: 10 },
      gpus: [{ name: '0', freeBytes: null, neededBytes }],
    });
    const steps = [of(4, 5, 60), of(4, 8, 30), of(1, 3, 10)];
    expect(joinForecasts(steps)).toMatchObject({
      seconds: 100,
      disk: { checkpointBytes: 9, ledgerBytes: 3, freeBytes: 10 },
      gpus: [{ name: '0', neededBytes: 8 }],
    });
    expect(joinForecasts([...steps, of(1, 1, null)]).seconds).toBeNull();
    expect([steps, steps.slice(0, 2), [of(10, 1, 1), of(1, 1, 1)]].map(howManyFit)).toEqual([2, null, 0]);
  });

  it('less with checkpoints as far apart as the curves allow, and the newest state, as long as no run has begun', async () => {
    const directory = join(temporaryFolder(), 'two');
    const settings = ['output.checkpointEvery=5', 'output.keepState=all'];
    const large = await planExperiment(readExperiment(path), path, settings, { seeds: [1], arms: ['vanilla'] });
    const curved = (curveEvery: number) => {
      const { experiment } = large;
      const evaluation = { ...experiment.evaluation, curveEvery };
      return { plan: { ...large, experiment: { ...experiment, evaluation } }, directory };
    };
    const newest = '--set output.keepState=newest';
    expect(sparerSettings([curved(0)])).toEqual(['--set output.checkpointEvery=20', newest]);
    expect(sparerSettings([curved(0), curved(20), curved(30)])).toEqual(['--set output.checkpointEvery=10', newest]);
    expect(sparerSettings([curved(5)])).toEqual([newest]);
    await writeRun(join(directory, 'vanilla-1'), {});
    expect(sparerSettings([curved(0)])).toEqual([]);
  });

  it('more than a disk holds: refused by the command, after the plan where that is asked for, and nothing is begun', async () => {
    const out = join(home, 'too-large');
    const much = ['updates=100000', 'output.checkpointEvery=1', 'output.keepState=all'].flatMap((set) => [
      '--set',
      set,
    ]);
    const seeds = Array.from({ length: 200 }, (_, i) => i).join();
    const call = ['experiment', path, '--out', out, '--seeds', seeds, '--pack', '4', ...much];
    const dry = await gq(...call, '--dry-run');
    const refused =
      /expected .* of room on its disk for what is left of it, found .* free.* keep less: --set output\.checkpointEvery=100000, --set output\.keepState=newest, fewer/;
    expect(dry).toMatchObject({ code: 2, err: expect.stringMatching(refused) });
    expect(dry.out).toMatch(/400 of 400 left[\s\S]*disk {5}/);
    expect(await gq(...call)).toMatchObject({ code: 2, err: expect.stringMatching(refused) });
    expect(existsSync(out)).toBe(false);
  });

  it('on each GPU what the arms need at most, whatever the machine has', async () => {
    const own = ['device.kind=cuda', 'sampling.promptsPerStep=2', 'sampling.group=2', 'compute.tokensPerPass=512'];
    const onGpus = await planExperiment(readExperiment(path), path, own, { seeds: [1], arms: ['vanilla'] });
    const gpus = ['0', '1'].map((name) => ({ name, freeMiB: 1000 }));
    const needed = async (jobs: number, pack: number) => {
      const forecast = await forecastExperiment(onGpus, join(home, 'new'), { slots: planSlots(jobs, 9, gpus), pack });
      return forecast.gpus.map(({ name, freeBytes, neededBytes }) => ({ name, freeBytes, neededBytes }));
    };
    const three = await needed(3, 1);
    const one = three[1].neededBytes;
    expect(one).toBeGreaterThan(2 ** 29);
    const freeBytes = 1000 * 2 ** 20;
    expect(three).toEqual([
      { name: '0', freeBytes, neededBytes: 2 * one },
      { name: '1', freeBytes, neededBytes: one },
    ]);
    // Where none is visible, the same is told of one that is not here.
    vi.stubEnv('CUDA_VISIBLE_DEVICES', '-1');
    const absent = { slots: planSlots(null, 9, plannedGpus(onGpus)), pack: 1 };
    const planned = await forecastExperiment(onGpus, join(home, 'new'), absent);
    expect(planned.gpus).toEqual([{ name: '', freeBytes: null, neededBytes: one }]);
    expect(forecastLines(planned, 1)).toContainEqual(
      expect.stringMatching(/^GPU {6}at most \d+\.\d GiB; none is visible here$/),
    );
    expect(plannedGpus(plan)).toEqual([]);
    const [{ neededBytes: packed }] = await needed(2, 4);
    expect(packed).toBeGreaterThan(one);
    expect(packed).toBeLessThan(4 * one);
    expect(await runsTogether(onGpus.runs, join(home, 'new'))).toBe(true);
    expect(await runsTogether(plan.runs, join(home, 'new'))).toBe(false);
    const fits = (freeMiB: number | null) => packThatFits(onGpus.runs, planSlots(1, 9, [{ name: '0', freeMiB }]));
    expect(await fits(null)).toBeNull();
    expect(await fits(1)).toBe(1);
    // A process takes nine tenths of what is free.
    const neededMiB = Math.ceil(packed / 2 ** 20);
    expect(await fits(Math.ceil((neededMiB + 1) / 0.9))).toBe(4);
    expect(await fits(neededMiB)).toBe(3);
    const slotsOf = (freeMiB: number | null) =>
      planSlots(2, 9, [
        { name: '0', freeMiB: 80_000 },
        { name: '1', freeMiB },
      ]);
    expect(await expectGpuRoom(onGpus.runs, slotsOf(80_000), 4)).toBe(neededMiB);
    expect(await expectGpuRoom(onGpus.runs, slotsOf(null), 4)).toBe(neededMiB);
    await expect(expectGpuRoom(onGpus.runs, slotsOf(neededMiB), 4)).rejects.toThrow(
      `GPU 1: expected ${neededMiB} MiB for a pack of 4 runs, found ${Math.floor(0.9 * neededMiB)} MiB that each process may take of the ${neededMiB} MiB that are free`,
    );
    // Single runs plan by themselves, and processors have no such plan.
    expect(await expectGpuRoom(onGpus.runs, slotsOf(1), 1)).toBeNull();
    expect(await expectGpuRoom(plan.runs, planSlots(2, 9, []), 4)).toBeNull();
  });
});
