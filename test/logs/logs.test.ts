/** Logs for other viewers, read back: from a stored run, and from sinks of a run that was resumed. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { LogSink, type MetricLog } from '../../src/export/index.ts';
import type { StepEvent } from '../../src/grpo/events.ts';
import { readTranscripts } from '../../src/monitors/transcripts.ts';
import { type RunDirectory, readEvents } from '../../src/run/index.ts';
import { temporaryFolder, writeEvaluations, writeRun } from '../lab/hand-made.ts';
import { gq } from '../run-gq.ts';
import { bytesOf, castagnoli, fieldsOf, numberOf, tensorboardRecords, wandbRecords } from './read-back.ts';

type Series = Map<string, Map<number, number>>;

let run: RunDirectory;
let steps: StepEvent[];

beforeAll(async () => {
  const rollouts = [1, 2, 3].flatMap((update) =>
    [0, 1, 2, 3].map((member) => ({
      update,
      id: `${update}-0-${member}`,
      member,
      problem: 'a/b ü',
      hack: member < update,
      solve: member === 3,
    })),
  );
  const made = {
    rollouts,
    steps: [1, 2, 3].map((update) => ({
      update,
      meanReward: update / 2,
      blockNorms: { deployed: 1, quarantine: 2 },
      ratio: {},
    })),
  };
  run = await writeRun(join(temporaryFolder(), 'one'), made);
  await writeEvaluations(run.path, [{ update: 3, set: 'test-original', state: 'deployed', outcomes: 'hs' }]);
  steps = [];
  for await (const event of readEvents(run)) if (event.kind === 'step') steps.push(event);
});

function put(series: Series, name: string, step: number, value: number): void {
  const own = series.get(name) ?? new Map<number, number>();
  series.set(name, own);
  own.set(step, value);
}

/** As TensorBoard reads a folder: files in the order of their names; a start forgets what comes at or after its step. */
function readTensorboard(folder: string): Series {
  const series: Series = new Map();
  for (const name of readdirSync(folder).sort()) {
    const [version, ...events] = tensorboardRecords(readFileSync(join(folder, name))).map(fieldsOf);
    expect(bytesOf(version, 3).map(String)).toEqual(['brain.Event:2']);
    for (const event of events) {
      const step = numberOf(event, 2) ?? 0;
      if (bytesOf(event, 7).length > 0) {
        for (const own of series.values()) for (const each of own.keys()) if (each >= step) own.delete(each);
      }
      for (const value of bytesOf(event, 5).flatMap((body) => bytesOf(fieldsOf(body), 1).map(fieldsOf))) {
        put(series, String(bytesOf(value, 1)[0]), step, numberOf(value, 2) ?? Number.NaN);
      }
    }
  }
  return series;
}

/** As a project of W&B sees offline runs with one id: a later one takes the place of what it says once more. */
function readWandb(folder: string): Series {
  const series: Series = new Map();
  const files = readdirSync(folder)
    .sort()
    .flatMap((own) =>
      readdirSync(join(folder, own))
        .filter((name) => name.endsWith('.wandb'))
        .map((name) => join(folder, own, name)),
    );
  expect(new Set(files.map((path) => path.split('/').at(-1))).size).toBe(1);
  for (const path of files) {
    for (const record of wandbRecords(readFileSync(path)).map(fieldsOf)) {
      for (const history of bytesOf(record, 2).map(fieldsOf)) {
        const step = numberOf(fieldsOf(bytesOf(history, 2)[0]), 1) ?? 0;
        for (const item of bytesOf(history, 1).map(fieldsOf)) {
          put(series, String(bytesOf(item, 1)[0]), step, JSON.parse(String(bytesOf(item, 16)[0])));
        }
      }
    }
  }
  return series;
}

function readTrackio(folder: string): Series {
  const series: Series = new Map();
  const [head, ...lines] = readFileSync(join(folder, 'trackio.csv'), 'utf8').trim().split('\n');
  const names = head.split(',');
  for (const line of lines) {
    const cells = line.split(',');
    for (const [i, cell] of cells.entries())
      if (i > 1 && cell !== '') put(series, names[i], Number(cells[0]), Number(cell));
  }
  return series;
}

const readers: Readonly<Record<MetricLog, (folder: string) => Series>> = {
  tensorboard: readTensorboard,
  wandb: readWandb,
  trackio: readTrackio,
};
const formats = Object.keys(readers) as MetricLog[];

it('reads with a checksum that is the right one', () => {
  expect(castagnoli(Buffer.from('123456789'))).toBe(0xe3069283);
});

describe('gq export --log', () => {
  it.each(formats)('writes the numbers of a run for %s, with hacks and evaluations', async (format) => {
    const to = join(temporaryFolder(), format);
    const { code, out, err } = await gq('export', run.path, '--log', format, '--to', to);
    expect({ code, out }).toEqual({ code: 0, out: `${to}\n` });
    expect(err).toContain('3 points');
    const series = readers[format](to);
    expect([...(series.get('train/reward') ?? [])]).toEqual([
      [1, 0.5],
      [2, 1],
      [3, 1.5],
    ]);
    expect(
      [...series.keys()].filter((name) => name.endsWith('/hack') && !series.has(name.replace(/hack$/, 'attempt'))),
    ).toEqual([]);
    expect([...(series.get('train/hack') ?? [])]).toEqual([
      [1, 0.25],
      [2, 0.5],
      [3, 0.75],
    ]);
    expect(series.get('eval/test-original/deployed/hack')?.get(3)).toBe(0.5);
    const again = await gq('export', run.path, '--log', format, '--to', to);
    expect(again).toMatchObject({ code: 2, err: expect.stringContaining('does not exist yet') });
  });

  it('writes evaluations and rollouts for Inspect, in archives that Python opens', async () => {
    const to = join(temporaryFolder(), 'inspect');
    expect((await gq('export', run.path, '--log', 'inspect', '--updates', '1,3', '--to', to)).code).toBe(0);
    const script = `import glob, json, sys, zipfile
for path in sorted(glob.glob(sys.argv[1] + '/*.eval')):
    archive = zipfile.ZipFile(path)
    assert archive.testzip() is None
    names = archive.namelist()
    header, summaries = json.loads(archive.read('header.json')), json.loads(archive.read('summaries.json'))
    samples = [json.loads(archive.read(f"samples/{s['id']}_epoch_{s['epoch']}.json")) for s in summaries]
    print(json.dumps({'names': names, 'header': header, 'samples': samples}))`;
    const lines = execFileSync('python3', ['-c', script, to], { encoding: 'utf8' }).trim().split('\n');
    const logs = lines.map((line) => JSON.parse(line));
    expect(logs.map(({ header }) => header.eval.task.split('/').at(-1)).sort()).toEqual([
      'rollouts-1',
      'rollouts-3',
      'test-original',
    ]);
    for (const { names, header, samples } of logs) {
      expect([names[0], names.at(-1)]).toEqual(['_journal/start.json', 'header.json']);
      const required = [
        'eval_id',
        'run_id',
        'created',
        'task',
        'task_id',
        'task_version',
        'task_attribs',
        'task_args',
        'task_args_passed',
        'dataset',
        'model',
        'model_generate_config',
        'model_args',
        'config',
        'packages',
      ];
      expect(Object.keys(header.eval)).toEqual(expect.arrayContaining(required));
      expect(header).toMatchObject({ version: 2, status: 'success', results: { total_samples: samples.length } });
      const keys = [
        'id',
        'epoch',
        'input',
        'target',
        'messages',
        'output',
        'metadata',
        'store',
        'events',
        'model_usage',
        'role_usage',
        'attachments',
      ];
      for (const sample of samples) expect(Object.keys(sample)).toEqual(expect.arrayContaining(keys));
    }
    const last = logs.find(({ header }) => header.eval.task.endsWith('rollouts-3'));
    expect(last.samples.map(({ epoch, scores }: never) => [epoch, scores])).toHaveLength(4);
    expect(last.samples[3]).toMatchObject({
      id: '0-a_b_',
      epoch: 4,
      scores: { attempt: { value: 0 }, hack: { value: 0 }, solve: { value: 1 } },
      metadata: { route: 'absorb' },
    });
    // Our own reader of such logs finds the same labels, for `gq monitors bench`.
    const path = readdirSync(to).find((name) => name.includes('rollouts-3')) ?? '';
    const read = await readTranscripts(join(to, path), 'hack');
    expect(read.map(({ isPositive }) => Number(isPositive))).toEqual(
      last.samples.map(({ scores }: { scores: { hack: { value: number } } }) => scores.hack.value),
    );
    expect(read.map(({ completion }) => completion)).toEqual(
      last.samples.map(({ output }: { output: { completion: string } }) => output.completion),
    );
    const none = await gq('export', run.path, '--log', 'inspect', '--updates', '9', '--to', `${to}-none`);
    expect(none).toMatchObject({ code: 2, err: expect.stringContaining('found 9') });
  });
});

it('leaves nothing behind where it fails', async () => {
  const home = temporaryFolder();
  const made = await writeRun(join(home, 'run'), {
    steps: [{ update: 1, meanReward: 1, blockNorms: { deployed: 1, quarantine: 2 }, ratio: {} }],
  });
  await made.writeManifest({ ...made.readManifest(), created: 'never' });
  expect((await gq('export', made.path, '--log', 'trackio', '--to', join(home, 'out'))).code).not.toBe(0);
  expect(readdirSync(home)).toEqual(['run']);
});

it('names a log of Inspect so that it fits into a name of a file', async () => {
  const [to, made] = [join(temporaryFolder(), 'long'), await writeRun(join(temporaryFolder(), 'long'), {})];
  await made.writeManifest({ ...made.readManifest(), name: 'n'.repeat(240) });
  await writeEvaluations(made.path, [{ update: 0, set: 'test-original', state: 'base', outcomes: 'hs' }]);
  expect(await gq('export', made.path, '--log', 'inspect', '--to', to)).toMatchObject({ code: 0 });
  expect(readdirSync(to)).toHaveLength(1);
});

describe('a sink', () => {
  it.each(formats)('of %s has every update once after a resume, and only what the trainer said', async (name) => {
    const own = await writeRun(join(temporaryFolder(), 'live'), {});
    const told = [
      [steps[0], steps[1]],
      [{ ...steps[1], meanReward: 9 }, steps[2]],
    ];
    for (const part of told) {
      const sink = new LogSink(name, own);
      for (const step of part) sink.event(step, { sample: 0.5 });
      sink.flush();
      sink.close(part === told[0] ? 'interrupted' : 'finished');
    }
    const series = readers[name](join(own.path, 'logs', name));
    expect([...(series.get('train/reward') ?? [])]).toEqual([
      [1, 0.5],
      [2, 9],
      [3, 1.5],
    ]);
    expect([...(series.get('seconds/sample')?.values() ?? [])]).toEqual([0.5, 0.5, 0.5]);
    expect([...series.keys()].some((key) => /hack|solve/.test(key))).toBe(false);
  });

  it('of trackio goes on behind a line that a crash left half written, or a table without its first line', async () => {
    for (const kept of ['all but the last line', 'nothing whole']) {
      const own = await writeRun(join(temporaryFolder(), 'torn'), {});
      const tell = (step: StepEvent): void => {
        const sink = new LogSink('trackio', own);
        sink.event(step, {});
        sink.close('interrupted');
      };
      tell(steps[0]);
      tell(steps[1]);
      const path = join(own.path, 'logs', 'trackio', 'trackio.csv');
      const text = readFileSync(path, 'utf8');
      writeFileSync(path, text.slice(0, kept === 'nothing whole' ? 10 : text.lastIndexOf('\n', text.length - 2) + 2));
      tell(steps[2]);
      expect([
        ...(readTrackio(join(own.path, 'logs', 'trackio'))
          .get('train/reward')
          ?.keys() ?? []),
      ]).toEqual(kept === 'nothing whole' ? [3] : [1, 3]);
    }
  });

  it('leaves nothing where no update was made', async () => {
    const own = await writeRun(join(temporaryFolder(), 'none'), {});
    const sink = new LogSink('tensorboard', own);
    sink.close('failed');
    expect(existsSync(join(own.path, 'logs'))).toBe(false);
    expect(await gq('train', '--sink', 'excel')).toMatchObject({
      code: 2,
      err: expect.stringContaining('tensorboard, wandb, trackio'),
    });
  });
});

it('breaks records of W&B at the ends of blocks', async () => {
  const own = await writeRun(join(temporaryFolder(), 'long'), {});
  const sink = new LogSink('wandb', own);
  for (let update = 1; update <= 200; update++) sink.event({ ...steps[0], update }, {});
  sink.close('finished');
  expect(readWandb(join(own.path, 'logs', 'wandb')).get('train/reward')?.size).toBe(200);
});
