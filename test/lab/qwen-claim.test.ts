/**
 * The whole study of recipes/qwen3-4b-claim.toml, from its file to its tables, with a random model that reads and writes the first of Qwen3's own
 * tokens: every arm, one seed, one update, but two in the arm that is stopped in its middle.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import type { FinalSet } from '../../src/evaluate/sets.ts';
import { EvaluationStore } from '../../src/evaluate/store.ts';
import { train } from '../../src/lab/index.ts';
import { RunDirectory } from '../../src/run/directory.ts';
import { readRollouts } from '../../src/run/read.ts';
import type { RunEnd, Sink } from '../../src/run/sink.ts';
import { writeExperiment } from '../../src/study/directory.ts';
import { type ExperimentPlan, type PlannedRun, planExperiment, readExperiment } from '../../src/study/experiment.ts';
import { type ExperimentEnd, runPlan } from '../../src/study/run.ts';
import { LabWorker } from '../../src/study/worker.ts';
import { fingerprint } from '../resume/kill.ts';
import { temporaryFolder } from './hand-made.ts';
import { writeMultiples, writeTinyQwen } from './qwen-lab.ts';

const recipe = 'recipes/qwen3-4b-claim.toml';
const stoppedArm = 'symmetric';
const sets: FinalSet[] = ['test-original', 'test-unhinted'];
const silent = (): void => undefined;

/** Stops in the middle of one arm, as Ctrl-C does. */
class StoppedWorker extends LabWorker {
  override async train(run: PlannedRun, path: string): Promise<RunEnd> {
    if (run.arm !== stoppedArm) return super.train(run, path);
    const stop = new AbortController();
    const sink: Sink = {
      name: 'stop',
      event: ({ kind }) => {
        if (kind === 'step') stop.abort();
      },
    };
    return (await train(run.config, path, { sinks: [sink], signal: stop.signal })).end;
  }
}

const alone = { size: 1, signal: new AbortController().signal };
const home = temporaryFolder();
const directory = join(home, 'claim');
let plan: ExperimentPlan;
let stopped: ExperimentEnd;
let startedBefore: readonly string[];
let ended: ExperimentEnd;

beforeAll(async () => {
  await writeTinyQwen(join(home, 'model'));
  writeMultiples(join(home, 'train.jsonl'), [2, 3, 4, 5]);
  writeMultiples(join(home, 'validation.jsonl'), [11]);
  writeMultiples(join(home, 'test.jsonl'), [21, 22]);
  const written = readExperiment(recipe);
  const evaluation = { ...written.evaluation, sets, curveEvery: 0, limit: 1 };
  const updatesOf = (name: string): number => (name === stoppedArm ? 2 : 1);
  const arms = written.arms.map((arm) => ({ ...arm, set: [...arm.set, `updates=${updatesOf(arm.name)}`] }));
  plan = await planExperiment({ ...written, seeds: [41], evaluation, arms }, recipe, [
    `model=${join(home, 'model')}`,
    `data.path=${join(home, 'train.jsonl')}`,
    `data.validationPath=${join(home, 'validation.jsonl')}`,
    `data.testPath=${join(home, 'test.jsonl')}`,
    'pairs.select=["heading:Survey,Repair"]',
    'output.checkpointEvery=1',
    'adapter.rank=2',
    'sampling.maxNewTokens=4',
    'sampling.promptsPerStep=1',
    'sampling.group=4',
    'safety.tripwirePrompts=1',
    'device.kind=wasm',
    'device.threads=1',
    'device.arenaMiB=128',
  ]);
  await writeExperiment(directory, plan);
  stopped = await runPlan(plan, directory, { ...alone, workerOf: () => new StoppedWorker(silent, alone.signal) });
  startedBefore = plan.runs.map(({ folder }) => folder).filter((folder) => isStarted(folder));
  ended = await runPlan(plan, directory, { ...alone, workerOf: () => new LabWorker(silent, alone.signal) });
});

const isStarted = (folder: string): boolean => existsSync(join(directory, folder, 'manifest.json'));

describe('the claim on Qwen3', () => {
  it('stops in the middle of an arm, and goes on to the end of every arm', () => {
    expect(stopped.end).toBe('interrupted');
    expect(startedBefore.at(-1)).toBe(`${stoppedArm}-41`);
    expect(startedBefore.length).toBeLessThan(plan.runs.length);
    expect(ended).toEqual({ end: 'finished', tripped: [], failed: [], held: [] });
  });

  it('has what an unbroken run has, byte for byte, in the arm that was stopped', async () => {
    const [{ config }] = plan.runs.filter(({ arm }) => arm === stoppedArm);
    const whole = join(home, 'whole');
    await train(config, whole);
    const found = await fingerprint(join(directory, `${stoppedArm}-41`));
    const adapters = [1, 2].map((update) => found.get(`checkpoints/0000${update}/adapter.safetensors`));
    expect(new Set(adapters).size).toBe(2);
    expect(found).toEqual(await fingerprint(whole));
  });

  it("is trained with all of Qwen3's tokens as with the first of them", async () => {
    const [{ config }] = plan.runs.filter(({ arm }) => arm === stoppedArm);
    const model = join(home, 'all-tokens');
    await writeTinyQwen(model, null);
    const path = join(home, 'of-all-tokens');
    expect(await train({ ...config, model }, path)).toMatchObject({ end: 'finished' });
    const completions: string[] = [];
    for await (const { completion } of readRollouts(RunDirectory.open(path))) completions.push(completion);
    expect(completions.filter((text) => text.includes('```'))).not.toEqual([]);
  });

  it.each(readExperiment(recipe).arms)(
    'evaluates $name as trained and deployed, with the loophole open and without',
    ({ name }) => {
      const states = ['vanilla', 'no-loophole'].includes(name) ? ['base', 'full'] : ['base', 'deployed', 'full'];
      const made = new EvaluationStore(join(directory, `${name}-41`)).all();
      for (const set of sets) {
        const own = made.filter((each) => each.set === set);
        expect(own.map(({ state }) => state).sort()).toEqual(states);
        expect(own.map(({ rows }) => rows.length)).toEqual(states.map(() => 1));
      }
    },
  );

  it('has tables with each gate beside its own placebos', async () => {
    let out = '';
    const write = (text: string): void => {
      out += text;
    };
    const code = await runCli(['results', directory, '--all'], {
      stdout: { write },
      stderr: { write: () => undefined },
    });
    expect(code).toBe(0);
    for (const { name, placebos } of plan.experiment.arms) {
      for (const placebo of placebos ?? []) expect(out).toContain(`${name} − ${placebo} `);
    }
    expect(out).toContain('held-out problems, no loophole open');
    expect(out).toContain('oracle − vanilla');
  });
});
