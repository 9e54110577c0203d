/**
 * Runs whose arm asks a judge, through the real composition root: behind an endpoint that gives away what it is told, with a run that
 * breaks off between checkpoints and goes on; and a model folder beside the policy.
 */
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findStart } from '../../src/adapters/index.ts';
import { armOf, builtinParts, openLab, train } from '../../src/lab/index.ts';
import { planMemory } from '../../src/lab/memory/plan.ts';
import { VerdictLedger } from '../../src/oracle/index.ts';
import type { RunConfig } from '../../src/run/config/schema.ts';
import type { Sink } from '../../src/run/sink.ts';
import { type AnsweringServer, answeringServer, say } from '../answering-server.ts';
import { judgeKeys } from '../smoke/arms.ts';
import { Lab, stoppedAfterFirst } from '../smoke/lab.ts';
import { writeRun } from './hand-made.ts';

const variable = 'GQ_TEST_RUN_KEY';
const key = 'sk-never-to-be-stored-0123456789';

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.open();
  process.env[variable] = key;
});
afterAll(() => {
  delete process.env[variable];
  return lab[Symbol.asyncDispose]();
});

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

function endpointConfig({ endpoint }: AnsweringServer, more: readonly string[] = []): RunConfig {
  const judge = [
    `arm.monitor.endpoint="${endpoint}"`,
    'arm.monitor.modelName=m',
    `arm.monitor.keyVariable=${variable}`,
  ];
  const short = ['updates=3', 'output.checkpointEvery=2', 'arm.kind=routed', 'arm.monitor.kind=judge'];
  return lab.config([...short, ...judge, 'arm.abstain=flag', 'arm.monitor.retries=0', ...more]);
}

/** Ends the run with an error once the third update is learned from, which no checkpoint has. */
const breaksOff: Sink = {
  name: 'a broken disk',
  event(event) {
    if (event.kind === 'step' && event.update === 3) throw new Error('no space left');
  },
};

const stepsIn = (path: string) =>
  readFileSync(join(path, 'events.jsonl'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('{"kind":"step"'))
    .map((line) => JSON.parse(line));

describe('a judge behind an endpoint', () => {
  it('is asked nothing twice by a run that is resumed, and its key is in no file', async () => {
    // The answers are in turns, so that only those that were kept make the same bytes again.
    await using server = await answeringServer((response, { authorization }, count) => {
      if (count % 5 === 4) response.writeHead(400).end(authorization);
      else say(response, `${count % 2 === 0 ? 'Yes' : 'No'} ${authorization}`);
    });
    const config = endpointConfig(server);
    const path = lab.path('endpoint');
    await expect(train(config, path, { sinks: [breaksOff] })).rejects.toThrow(/no space left/);
    const asked = server.requests.length;
    expect(asked).toBeGreaterThan(3);
    expect(server.requests.every(({ authorization }) => authorization === `Bearer ${key}`)).toBe(true);
    const before = stepsIn(path);
    expect((await train(config, path)).end).toBe('finished');
    expect(server.requests).toHaveLength(asked);
    // The third update was done twice.
    expect(before).toHaveLength(3);
    expect(stepsIn(path)).toEqual(before);
    expect(before.reduce((total, { watched: { costs } }) => total + costs.requests, 0)).toBe(asked);
    expect(before.some(({ watched: { abstentions } }) => abstentions.refused > 0)).toBe(true);
    const files = filesBelow(path);
    expect(files.map((file) => file.slice(path.length + 1))).toContain('judge-answers.jsonl');
    expect(files.filter((file) => readFileSync(file).includes(key))).toEqual([]);
    expect(readFileSync(join(path, 'judge-answers.jsonl'), 'utf8')).toContain('Bearer [key]');
    expect(JSON.parse(readFileSync(join(path, 'seal.json'), 'utf8')).files).toHaveProperty('judge-answers.jsonl');
  });

  it('that nobody answers at stops the run, with an error that has no key in it', async () => {
    await using server = await answeringServer((response) => void response.destroy());
    const failed = await train(endpointConfig(server), lab.path('down')).catch((error: unknown) => error);
    expect(String(failed)).toMatch(/judge m at http.*found unreachable.*--resume/s);
    expect(filesBelow(lab.path('down')).filter((file) => readFileSync(file).includes(key))).toEqual([]);
  });
});

describe('a judge beside the policy', () => {
  const settings = ['updates=2', 'arm.kind=penalty', ...judgeKeys];

  it('from another folder has the scores of the base, if its files are the same, and is part of the run', async () => {
    const folder = lab.path('judge-model');
    cpSync(lab.model, folder, { recursive: true });
    const base = lab.config(settings);
    const other = lab.config([...settings, `arm.monitor.model=${folder}`]);
    await train(base, lab.path('base'));
    await train(other, lab.path('other'), stoppedAfterFirst());
    const described = join(folder, 'generation_config.json');
    const was = readFileSync(described);
    writeFileSync(described, `${was} `);
    await expect(train(other, lab.path('other'))).rejects.toThrow(
      /the models of the arm.* other content in .*judge-model/,
    );
    writeFileSync(described, was);
    await train(other, lab.path('other'));
    expect(stepsIn(lab.path('other'))).toEqual(stepsIn(lab.path('base')));
    const [one, two] = ['base', 'other'].map((name) =>
      JSON.parse(readFileSync(join(lab.path(name), 'manifest.json'), 'utf8')),
    );
    expect([one.arm, one.identity.armModels]).toEqual(['penalty by judge base Otsu', {}]);
    expect([two.arm, two.usesOracle]).toEqual(['penalty by judge judge-model Otsu', false]);
    expect(two.identity.armModels).toEqual({ [folder]: two.identity.model });
  });

  it('or a labelled run is what it was when the run began, or the run does not go on', async () => {
    const earlier = lab.path('labelled');
    const [{ id: problem }] = lab.inputs.problems.train;
    const modelHash = await lab.inputs.files.hash;
    const write = (hacks: readonly boolean[]) =>
      writeRun(earlier, {
        rollouts: hacks.map((hack, i) => ({ update: 1, problem, hack, tokenIds: [5 + i] })),
        modelHash,
      });
    await write([true, false]);
    const probe = ['arm.kind=penalty', 'arm.monitor.kind=probe', 'arm.monitor.steps=5'];
    const config = lab.config(['updates=2', ...probe, `arm.monitor.labelledRun=${earlier}`]);
    const run = lab.path('learns-from-labels');
    await train(config, run, stoppedAfterFirst());
    const { identity } = JSON.parse(readFileSync(join(run, 'manifest.json'), 'utf8'));
    expect(identity.armRuns).toEqual({ [earlier]: expect.stringMatching(/^[0-9a-f]{64}$/) });
    rmSync(earlier, { recursive: true });
    await write([false, true]);
    await expect(train(config, run)).rejects.toThrow(/learns from .* other rollouts or labels in .*labelled/);
    rmSync(earlier, { recursive: true });
    await write([true, false]);
    await train(config, run);
  });

  it('is in the plan of the memory, and a run uses no more than that', async () => {
    const config = lab.config([...settings, `arm.monitor.model=${lab.model}`, 'arm.monitor.maxQuestionTokens=250']);
    await using opened = await openLab({ config }, { ledger: () => new VerdictLedger(lab.path('planned.jsonl')) });
    const [{ trainer, ledger }, device, { folder, text }] = await Promise.all([
      opened.trainer,
      opened.device,
      opened.model,
    ]);
    for await (const event of trainer.train()) if (event.kind === 'step') ledger.forget();
    const plan = await planMemory({
      config,
      arm: armOf(config, builtinParts),
      start: findStart(config.adapter.family, builtinParts.starts),
      decoder: folder.config,
      models: new Map([[lab.model, { decoder: folder.config, text }]]),
      tasks: await opened.tasks,
      floats: device.floats,
      has: (kernel) => kernel in device.kernels,
    });
    const bytes = Object.fromEntries([...plan.standing, ...plan.phases].map((part) => [part.name, part.bytes]));
    expect(bytes['models of the arm']).toBeGreaterThan(0.9 * bytes['weights']);
    expect(bytes['watching']).toBeGreaterThan(0);
    // What stays in memory is counted once, and not again in every phase.
    const sum = plan.standing.reduce((total, part) => total + part.bytes, 0);
    const largest = Math.max(...plan.phases.map((part) => part.bytes));
    expect(sum + largest).toBeLessThan(plan.totalBytes - plan.marginBytes + bytes['models of the arm'] / 2);
    expect(device.arena.peak).toBeLessThanOrEqual(1.03 * (plan.totalBytes - plan.marginBytes));
  });
});
