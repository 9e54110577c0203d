import { appendFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UserError } from '../base/index.ts';
import type { StepEvent, TrainEvent } from '../grpo/events.ts';
import type { Trainer, TrainerState } from '../grpo/train.ts';
import { loadCheckpoint } from './checkpoint.ts';
import { RunDirectory } from './directory.ts';
import { recordRun } from './record.ts';
import { noticeText, PhaseClock, type Sink, SinkGroup, stepWarnings } from './sink.ts';

let home = '';
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'gq-record-'));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const stepAt = (update: number, more: Partial<StepEvent> = {}): StepEvent =>
  ({ kind: 'step', update, direction: null, zeroSignal: null, ...more }) as StepEvent;

/** A trainer that yields the given events; its state is the number of the last update among them. */
function speaker(events: readonly TrainEvent[]): Trainer {
  let update = 0;
  const trainer = {
    async *train() {
      for (const event of events) {
        if (event.kind === 'step') update = event.update;
        yield event;
      }
    },
    async state(): Promise<TrainerState> {
      const tripwire = { best: null, strikes: 0, tripped: null } as unknown as TrainerState['tripwire'];
      const nothing = { adapter: new Map(), moments: new Map(), momentsFrom: 0, arm: null, directionAge: null };
      return { update, ...nothing, tripwire };
    },
    initialValues: async () => new Map(),
  };
  return trainer as unknown as Trainer;
}

const stop: TrainEvent = { kind: 'stop', update: 2, reason: 'finished', detail: '2 updates' };

function recording(name: string, events: readonly TrainEvent[], sinks: readonly Sink[], signal?: AbortSignal) {
  const run = RunDirectory.create(join(home, name));
  const options = {
    run,
    trainer: speaker(events),
    checkpointEvery: 2,
    keepState: 'all' as const,
    sinks: new SinkGroup(sinks),
    clock: new PhaseClock(),
  };
  return { run, end: recordRun({ ...options, signal: signal ?? new AbortController().signal }) };
}

/** A sink that records every call it gets. */
function listener(name: string, told: string[]): Sink {
  return {
    name,
    event: (event, seconds) => void told.push(`${name} ${event.kind}${'other' in seconds ? ' with times' : ''}`),
    flush: () => void told.push(`${name} flush`),
    close: (end) => void told.push(`${name} close ${end}`),
  };
}

describe('checkpoints', () => {
  it('are written beside the next update, which sees them complete only when they are', async () => {
    const seen: number[][] = [];
    const watch: Sink = {
      name: 'watch',
      event: ({ kind }) => void (kind === 'step' && seen.push(run.listCheckpoints())),
    };
    const { run, end } = recording('beside', [stepAt(1), stepAt(2), stepAt(3), stop], [watch]);
    expect(await end).toBe('finished');
    // The events of this trainer take no time, in which nothing can have been written.
    expect(seen[0]).toEqual([]);
    expect(run.listCheckpoints()).toEqual([0, 2, 3]);
  });

  it('that cannot be written end the run with the next event, when nothing is being written any more', async () => {
    const run = RunDirectory.create(join(home, 'unwritable'));
    const trainer = speaker([stepAt(1)]);
    const broken = async (): Promise<TrainerState> => {
      const short = new Map([['w', { shape: [2], data: new Float32Array(1) }]]);
      return { ...(await trainer.state()), adapter: short };
    };
    // The first checkpoint fails, and no update of this trainer is one to save after.
    async function* train(): AsyncGenerator<TrainEvent> {
      yield* trainer.train();
      for (let update = 3; update < 2000; update += 2) {
        yield stepAt(update);
        await pause(1);
      }
    }
    const saved = { train, initialValues: () => trainer.initialValues(), state: broken } as unknown as Trainer;
    const options = {
      run,
      checkpointEvery: 2,
      keepState: 'all' as const,
      sinks: new SinkGroup([]),
      clock: new PhaseClock(),
    };
    const end = recordRun({ ...options, trainer: saved, signal: new AbortController().signal });
    await expect(end).rejects.toThrow('expected 8 bytes for F32[2], found Float32Array of 4 bytes');
    expect(run.listCheckpoints()).toEqual([]);
  });
});

describe('sinks', () => {
  it('are told everything in order, flushed before each checkpoint, and closed with the end', async () => {
    const told: string[] = [];
    const signal = { groups: 1, skippedGroups: 1, trained: 0, routed: 0 };
    const zeroSignal = { reason: 'every group has equal rewards', ...signal } as const;
    const events = [stepAt(1, { zeroSignal }), stepAt(2), stop];
    const { end } = recording('in-order', events, [listener('a', told), listener('b', told)]);
    expect(await end).toBe('finished');
    const each = ['flush', 'step with times', 'warning', 'step with times', 'flush', 'flush', 'stop', 'close finished'];
    expect(told).toEqual(each.flatMap((what) => [`a ${what}`, `b ${what}`]));
  });

  it('are waited for: what a flush writes late still stands in the checkpoint', async () => {
    const late: Sink = {
      name: 'late',
      event: () => undefined,
      async flush() {
        await new Promise((resolve) => setTimeout(resolve, 10));
        appendFileSync(run.ledger('events'), 'x\n');
      },
    };
    const { run, end } = recording('late', [stepAt(1), stepAt(2), stop], [late]);
    await end;
    expect((await loadCheckpoint(run, 0)).lengths.events).toBe(2);
    expect((await loadCheckpoint(run, 2)).lengths.events).toBe(4);
  });

  it('a signal ends the run after the update, saved', async () => {
    const stopping = new AbortController();
    const told: string[] = [];
    const quitter: Sink = { ...listener('a', told), event: () => stopping.abort() };
    const { run, end } = recording('signal', [stepAt(1), stepAt(2), stop], [quitter], stopping.signal);
    expect(await end).toBe('interrupted');
    expect(run.listCheckpoints()).toEqual([0, 1]);
    expect(told.at(-1)).toBe('a close interrupted');
  });

  it.each([
    ['event', 'to take the event step'],
    ['flush', 'to take a flush'],
    ['close', 'to take its end'],
  ] as const)('one that throws in %s ends the run with its name, and every sink is closed', async (method, what) => {
    const told: string[] = [];
    const broken: Sink = {
      ...listener('broken', told),
      [method]: async () => {
        throw new Error('no space left');
      },
    };
    const { end, run } = recording(`broken-${method}`, [stepAt(1), stop], [broken, listener('after', told)]);
    await expect(end).rejects.toThrow(`sink broken: expected ${what}, found an error: no space left.`);
    await expect(end).rejects.toThrow(UserError);
    expect(told.filter((line) => line.startsWith('after close'))).toEqual([
      method === 'close' ? 'after close finished' : 'after close failed',
    ]);
    // When a flush fails, the checkpoint that it should precede is not saved.
    if (method === 'flush') expect(readdirSync(run.file('checkpoints'))).toEqual([]);
  });
});

describe('warnings of an update', () => {
  it('name the misjudged pairs and why nothing was learned, and leave other updates alone', () => {
    const direction = { pairedAccuracy: 0.5, auroc: 0.625, wrongPairs: [0, 3], band: null };
    const counts = { groups: 4, skippedGroups: 1, trained: 9, routed: 9 };
    const zeroSignal = { reason: 'every rollout was routed', ...counts } as const;
    const warnings = stepWarnings(stepAt(7, { direction, zeroSignal }));
    expect(warnings).toEqual([
      {
        kind: 'warning',
        update: 7,
        name: 'misjudged-pairs',
        message: 'the direction ranks pairs 0, 3 the wrong way round (AUROC 0.63)',
        detail: { wrongPairs: [0, 3], auroc: 0.625 },
      },
      {
        kind: 'warning',
        update: 7,
        name: 'no-signal',
        message: 'no signal for the deployed block: every rollout was routed (1/4 groups skipped, 9/9 rollouts routed)',
        detail: zeroSignal,
      },
    ]);
    expect(stepWarnings(stepAt(8, { direction: { pairedAccuracy: 1, auroc: 1, wrongPairs: [], band: null } }))).toEqual(
      [],
    );
  });

  it('say nothing of routes where there was nothing to route, as in an arm that routes nothing', () => {
    const zeroSignal = {
      reason: 'every group has equal rewards',
      ...{ groups: 4, skippedGroups: 4, trained: 0, routed: 0 },
    } as const;
    const [{ message }] = stepWarnings(stepAt(7, { zeroSignal }));
    expect(message).toBe('no signal: every group has equal rewards (4/4 groups skipped)');
  });

  it('tell of a monitor that said nothing at all, whatever its abstentions count as', () => {
    const watched = { cut: 0.5, flagged: 0, abstained: 8, abstentions: { late: 6, unclear: 2 }, costs: {} };
    const [warning] = stepWarnings(stepAt(2, { rollouts: 8, watched }));
    expect(warning.message).toBe(
      'the monitor abstained on all 8 rollouts: late (6), unclear (2); arm.abstain alone decided',
    );
    expect(stepWarnings(stepAt(2, { rollouts: 9, watched }))).toEqual([]);
  });

  it('are lines for a person, like failed expectations and the tripwire; numbers are not', () => {
    const zeroSignal = {
      reason: 'the gradient is zero',
      ...{ groups: 2, skippedGroups: 0, trained: 4, routed: 0 },
    } as const;
    const [warning] = stepWarnings(stepAt(3, { zeroSignal }));
    expect(noticeText(warning)).toMatch(/^update 3: no signal for the deployed block: the gradient is zero/);
    expect(noticeText({ kind: 'warning', update: 3, name: 'other-device', message: 'begun on a' })).toBe('begun on a');
    const expectation = { kind: 'expectation', name: 'it holds', detail: '1 > 0' } as const;
    expect(noticeText({ ...expectation, holds: false })).toBe('EXPECTATION FAILED: it holds (1 > 0)');
    expect(noticeText({ ...expectation, holds: true })).toBeNull();
    expect(noticeText({ ...stop, reason: 'tripwire', detail: 'fell' })).toBe('tripwire: fell');
    expect([noticeText(stop), noticeText(stepAt(1))]).toEqual([null, null]);
  });
});

describe('a run of several ranks', () => {
  const events = [stepAt(1), stepAt(2), { ...stop, kind: 'heal' } as unknown as TrainEvent, stepAt(3), stop];
  const signal = new AbortController().signal;
  /** What a rank asks of the others, in order; each question needs all of them. */
  const asker = (fails = Number.POSITIVE_INFINITY) => {
    const asked: string[] = [];
    const confirm = async () => {
      if (asked.push('confirm') > fails) throw new Error('rank 1 has another adapter');
    };
    return { asked, confirm, agree: async () => asked.push('agree') < 0 };
  };
  const recorded = (run: RunDirectory | null, meeting: ReturnType<typeof asker>) =>
    recordRun({
      ...{
        run,
        trainer: speaker(events),
        checkpointEvery: 2,
        keepState: 'all',
        sinks: new SinkGroup([]),
        signal,
        clock: new PhaseClock(),
      },
      ...meeting,
    });

  it('asks the same questions on all of them, whether it is new or goes on', async () => {
    const follower = asker();
    expect(await recorded(null, follower)).toBe('finished');
    expect(follower.asked.join(' ')).toBe('confirm agree agree confirm confirm agree confirm');
    const run = RunDirectory.create(join(home, 'ranks'));
    for (const writer of [asker(), asker()]) {
      expect(await recorded(run, writer)).toBe('finished');
      expect(writer.asked).toEqual(follower.asked);
    }
  });

  it('saves nothing that its ranks do not have in common', async () => {
    const run = RunDirectory.create(join(home, 'apart'));
    await expect(recorded(run, asker(3))).rejects.toThrow('rank 1 has another adapter');
    expect(run.listCheckpoints()).toEqual([0]);
  });
});
