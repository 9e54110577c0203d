/** Training as a library: a caller's sinks and signal, warnings that are in the run's events once, and nothing printed. */
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parseRunConfig, train, trainRun } from '../../src/lab/index.ts';
import { type RecordedEvent, RunDirectory, readEvents, type Sink } from '../../src/run/index.ts';
import { fingerprint } from '../resume/kill.ts';
import { Lab } from './lab.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.open();
  const demonstration = { problem: 'no such problem', loophole: 'run_tests', markers: 'original', label: 'solve' };
  writeFileSync(lab.path('pool.jsonl'), `${JSON.stringify({ ...demonstration, completion: 'x' })}\n`);
});
afterAll(() => lab[Symbol.asyncDispose]());

const short = ['device.variant=plain', 'updates=3', 'output.checkpointEvery=2'];

class Collector implements Sink {
  readonly name = 'own';
  readonly events: RecordedEvent[] = [];
  readonly ends: string[] = [];
  readonly #onStep: (update: number) => void;

  constructor(onStep: (update: number) => void = () => undefined) {
    this.#onStep = onStep;
  }

  event(event: RecordedEvent): void {
    this.events.push(event);
    if (event.kind === 'step') this.#onStep(event.update);
  }

  close(end: string): void {
    this.ends.push(end);
  }

  warnings(): string[] {
    return this.events.flatMap((event) => (event.kind === 'warning' ? [`${event.update} ${event.name}`] : []));
  }
}

async function storedWarnings(path: string): Promise<string[]> {
  const found: string[] = [];
  for await (const event of readEvents(RunDirectory.open(path))) {
    if (event.kind === 'warning') found.push(`${event.update} ${event.name}`);
  }
  return found;
}

describe('a run with sinks of its own', () => {
  it('tells them everything, prints nothing, and stores a warning once however often it is interrupted', async () => {
    // A pool that nothing reads: a person who sets it is refused, a stored config is taken as it is.
    const plain = lab.config(short);
    const config = await parseRunConfig({ ...plain, teacher: { ...plain.teacher, pool: lab.path('pool.jsonl') } });
    const printed = [vi.spyOn(process.stdout, 'write'), vi.spyOn(process.stderr, 'write')];
    const whole = new Collector();
    expect(await train(config, lab.path('whole'), { sinks: [whole] })).toMatchObject({ end: 'finished' });
    const stop = new AbortController();
    const first = new Collector(() => stop.abort());
    const path = lab.path('parts');
    expect(await train(config, path, { sinks: [first], signal: stop.signal })).toMatchObject({ end: 'interrupted' });
    const second = new Collector();
    expect(await train(config, path, { sinks: [second] })).toMatchObject({ end: 'finished' });
    const calls = printed.flatMap(({ mock }) => mock.calls.map(String));
    vi.restoreAllMocks();
    expect(calls).toEqual([]);

    expect(whole.warnings()[0]).toBe('0 demonstration-left-out');
    expect(whole.ends).toEqual(['finished']);
    expect(first.ends).toEqual(['interrupted']);
    expect(first.events.filter(({ kind }) => kind === 'step')).toHaveLength(1);
    expect(second.warnings()[0]).toBe('1 demonstration-left-out');
    expect(await storedWarnings(path)).toEqual(whole.warnings());
    const [found, expected] = [await fingerprint(path), await fingerprint(lab.path('whole'))];
    for (const [name, print] of expected) expect({ name, print: found.get(name) }).toEqual({ name, print });
    const again = new Collector();
    expect(await train(config, path, { sinks: [again] })).toMatchObject({ end: 'finished' });
    expect(again.events).toMatchObject([{ kind: 'info', name: 'already-finished' }]);
  });

  it('says and stores that it goes on with another device', async () => {
    const path = lab.path('moved');
    const stop = new AbortController();
    const config = lab.config(short);
    await train(config, path, { sinks: [new Collector(() => stop.abort())], signal: stop.signal });
    const run = RunDirectory.open(path);
    await run.writeManifest({ ...run.readManifest(), device: 'abacus 7' });
    const sink = new Collector();
    await train(config, path, { sinks: [sink] });
    const [warning] = sink.events;
    expect(warning).toMatchObject({ kind: 'warning', update: 1, name: 'other-device', detail: { begun: 'abacus 7' } });
    expect(await storedWarnings(path)).toContain('1 other-device');
  });

  it('closes them when it fails before training, or by one of them, and names that one', async () => {
    const witness = new Collector();
    const broken: Sink = {
      name: 'broken',
      event(event) {
        if (event.kind === 'step') throw new Error('no space left');
      },
    };
    const path = lab.path('broken');
    const training = train(lab.config(short), path, { sinks: [broken, witness] });
    await expect(training).rejects.toThrow('sink broken: expected to take the event step');
    expect(witness.ends).toEqual(['failed']);
    const other = new Collector();
    const another = trainRun(lab.config([...short, 'seed=2']), RunDirectory.open(path), { sinks: [other] });
    await expect(another).rejects.toThrow(
      'expected the config that the run began with, found other values (then and now): seed (1 and 2).',
    );
    expect(other.ends).toEqual(['failed']);
    expect(await train(lab.config(short), path)).toMatchObject({ end: 'finished' });
  });
});
