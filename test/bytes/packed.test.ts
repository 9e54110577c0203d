/** Runs in a pack: what they share (programs are graded once, policies evaluated together) and how they end. Their bytes: arms.test.ts. */
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../src/base/node/hash.ts';
import { finalNames, statesOf } from '../../src/evaluate/index.ts';
import { evaluateAll } from '../../src/evaluate/run-evaluator.ts';
import {
  evaluateRun,
  openEvaluator,
  openLab,
  parseRunConfig,
  RunPack,
  type TrainOptions,
  train,
} from '../../src/lab/index.ts';
import { readVerdicts } from '../../src/oracle/index.ts';
import { RunDirectory } from '../../src/run/directory.ts';
import { stampedJson } from '../../src/run/index.ts';
import type { Sink } from '../../src/run/sink.ts';
import type { PlannedRun } from '../../src/study/experiment.ts';
import { runsTogether } from '../../src/study/forecast.ts';
import { temporaryFolder } from '../lab/hand-made.ts';
import { everyArm } from '../smoke/arms.ts';
import { Lab } from '../smoke/lab.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.open('plain');
});
afterAll(() => lab[Symbol.asyncDispose]());
const home = temporaryFolder();

const short = ['updates=3', 'device.variant=plain', 'output.checkpointEvery=1', 'output.keepState=all'];

/** Every file whose bytes follow from the config. */
function prints(run: RunDirectory): Record<string, string> {
  const checkpoints = run
    .listCheckpoints()
    .flatMap((update) => readdirSync(run.checkpoint(update)).map((name) => join(run.checkpoint(update), name)));
  const files = [...checkpoints, join(run.path, 'events.jsonl'), join(run.path, 'rollouts.parquet')];
  return Object.fromEntries(files.map((file) => [file.slice(run.path.length), sha256(readFileSync(file))]));
}

const folderOf = (name: string, where: string): string => join(home, where, name.replaceAll(/\W+/g, '-'));

async function trainOne(
  name: string,
  where: string,
  pack: RunPack | null,
  { settings = [], ...options }: Pick<TrainOptions, 'signal' | 'sinks'> & { settings?: readonly string[] } = {},
): Promise<RunDirectory> {
  const config = lab.config([...short, 'device.arenaMiB=512', ...everyArm[name], ...settings]);
  const path = folderOf(name, where);
  using place = pack?.join();
  await train(config, path, { place, ...options });
  return RunDirectory.open(path);
}

describe('runs in a pack', () => {
  it('are not begun in one that is closed, whose parts nobody would close', async () => {
    const pack = new RunPack();
    await pack[Symbol.asyncDispose]();
    await expect(trainOne('vanilla', 'closed', pack)).rejects.toThrow('a pack that is closed opens nothing for a run');
  });

  it('that compute together and are interrupted save each its own; each goes on alone or with others to the bytes of the run alone', async () => {
    const names = ['vanilla', 'activation', 'gradient'];
    const alone = await Promise.all(names.map((name) => trainOne(name, 'whole', null)));
    const stop = new AbortController();
    const event: Sink['event'] = ({ kind }) => {
      if (kind === 'step') stop.abort();
    };
    const stopping = { signal: stop.signal, sinks: [{ name: 'stop', event }] };
    {
      await using pack = new RunPack({ joint: true });
      await Promise.all(names.map((name) => trainOne(name, 'stopped', pack, stopping)));
    }
    const stopped = names.map((name) => RunDirectory.open(folderOf(name, 'stopped')).listCheckpoints().at(-1));
    expect(stopped).toEqual([1, 1, 1]);
    const [first, ...others] = names;
    await using pack = new RunPack({ joint: true });
    await Promise.all([trainOne(first, 'stopped', null), ...others.map((name) => trainOne(name, 'stopped', pack))]);
    const ended = names.map((name) => prints(RunDirectory.open(folderOf(name, 'stopped'))));
    expect(ended).toEqual(alone.map(prints));
  });

  it('that began alone on a GPU go on so, and share nothing with those that compute together', async () => {
    const config = lab.config([
      ...short.filter((setting) => !setting.startsWith('device.')),
      'device.kind=cuda',
      ...everyArm['vanilla'],
    ]);
    const manifest = (await trainOne('vanilla', 'began', null)).readManifest();
    // Told that runs compute together, a pack asks no device: there may be none here.
    await using pack = new RunPack({ joint: true });
    using place = pack.join();
    const modelOf = async (device: string | null, own = config) => {
      const begun = device === null ? null : { ...manifest, device };
      return (await place.given(own, () => undefined, begun)).model;
    };
    const fresh = await modelOf(null);
    expect(await modelOf('cuda NVIDIA H200 bf16 lanes')).toBe(fresh);
    expect(await modelOf('wasm plain 1')).toBe(fresh);
    const apart = await modelOf('cuda NVIDIA H200 bf16');
    expect(apart).not.toBe(fresh);
    expect(await modelOf('cuda NVIDIA H200 f32')).toBe(apart);
    // Without being asked, an experiment packs no runs of which one began alone.
    const [path, runs] = [join(home, 'began'), [{ folder: 'vanilla', config }] as unknown as PlannedRun[]];
    const packs: boolean[] = [];
    for (const device of ['cuda NVIDIA H200 bf16 lanes', 'cuda NVIDIA H200 bf16']) {
      writeFileSync(join(path, 'vanilla', 'manifest.json'), stampedJson({ ...manifest, device }));
      packs.push(await runsTogether(runs, path));
    }
    expect(packs).toEqual([true, false]);
    const onWasm = lab.config([...short, ...everyArm['vanilla']]);
    expect(await modelOf('cuda NVIDIA H200 bf16', onWasm)).toBe(await modelOf(null, onWasm));
  });

  it('are refused before they train where less memory is left than was planned for them', async () => {
    await using pack = new RunPack({ neededMiB: 700 });
    await expect(trainOne('vanilla', 'crowded', pack)).rejects.toThrow(
      /memory of wasm: expected 700 MiB, as planned when the experiment began, found 5\d\d MiB that are left to it now.*call it again/,
    );
    expect(existsSync(join(folderOf('vanilla', 'crowded'), 'manifest.json'))).toBe(false);
    await using roomy = new RunPack({ neededMiB: 400 });
    await trainOne('vanilla', 'roomy', roomy);
  });

  it('grade identical programs once', async () => {
    await using pack = new RunPack();
    const executed = { settings: ['environment.interpreter=false'] };
    const [first, second] = await Promise.all(
      ['one', 'two'].map((where) => trainOne('vanilla', where, pack, executed)),
    );
    expect(prints(second)).toEqual(prints(first));
    const verdicts = await Promise.all(
      [first, second].map(async (run) => [...(await readVerdicts(run.file('verdicts'))).values()]),
    );
    const executions = verdicts.flat().reduce((sum, verdict) => sum + verdict.executions, 0);
    const alone = [
      ...(await readVerdicts((await trainOne('vanilla', 'three', null, executed)).file('verdicts'))).values(),
    ];
    expect(alone.some(({ executions: own }) => own > 0)).toBe(true);
    expect(executions).toBe(alone.reduce((sum, verdict) => sum + verdict.executions, 0));
  });

  it('are evaluated together: the evaluations of each alone, the base among them', async () => {
    const names = ['vanilla', 'activation'];
    const asked = { sets: ['test-original'], limit: 5 } as const;
    const alone = await Promise.all(names.map((name) => trainOne(name, 'evaluated', null)));
    const copies = alone.map(({ path }) => {
      cpSync(path, `${path}-packed`, { recursive: true });
      return `${path}-packed`;
    });
    for (const { path } of alone) await evaluateRun(path, asked);
    await using pack = new RunPack({ joint: true });
    await Promise.all(
      copies.map(async (path) => {
        using place = pack.join();
        const config = await parseRunConfig(RunDirectory.open(path).readManifest().config);
        const given = await place.given(config, () => undefined, null);
        await using opened = await openLab({ run: path }, { given, policyWork: place.work });
        const evaluator = await openEvaluator(
          opened,
          copies.filter((other) => other !== path),
        );
        const update = 3;
        await evaluateAll(evaluator, finalNames(statesOf(opened), { update, scales: [], ...asked }));
      }),
    );
    const stored = (path: string) =>
      readdirSync(join(path, 'evaluations')).map((name) => readFileSync(join(path, 'evaluations', name), 'utf8'));
    expect(copies.map(stored)).toEqual(alone.map(({ path }) => stored(path)));
    expect(copies.map((path) => stored(path).length)).toEqual([2, 3]);
  });
});
