/** Checkpoints come back as they were; what is stored once, what only the newest keeps, and what a kill at any step leaves. */
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UserError } from '../base/index.ts';
import { sha256 } from '../base/node/index.ts';
import type { TrainerState } from '../grpo/train.ts';
import { loadAdapter, loadAlone, loadCheckpoint, type SaveOptions, saveCheckpoint } from './checkpoint.ts';
import { checkedInitial, checkpointHashes, expectCheckpoint, expectGrown } from './checkpoint-files.ts';
import { expectAllSealed, writeSeal } from './checksums.ts';
import { RunDirectory } from './directory.ts';

let home = '';
let count = 0;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'gq-checkpoint-'));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

function makeRun(): RunDirectory {
  const run = RunDirectory.create(join(home, `run-${count++}`));
  run.cutTo();
  return run;
}

const tensor = (...values: number[]) => ({ shape: [values.length], data: Float32Array.from(values) });

function stateAt(update: number): TrainerState {
  return {
    update,
    adapter: new Map([['w', tensor(update, 0.1, -0)]]),
    moments: new Map([['w', { m: tensor(1 / 3, 2, 3), v: tensor(1e-30, 0, 5) }]]),
    momentsFrom: 0,
    arm: {
      json: { added: 7, pairCuts: { low: -1 / 3, high: 1e-9 }, notes: ['a', null] },
      tensors: new Map([
        ['buffer', { shape: [2, 2], data: Float32Array.of(1, 2, 3, 4) }],
        ['direction', tensor(0.6, 0.8)],
      ]),
    },
    directionAge: 2,
    tripwire: { best: -1.25, strikes: 1, tripped: null },
  };
}

const initial = new Map([['w0', tensor(4, 5, 6)]]);
const all: SaveOptions = { keepState: 'all', initial };
const newest: SaveOptions = { keepState: 'newest', initial };
const stateOf = (run: RunDirectory, update: number) => join(run.checkpoint(update), 'trainer.safetensors');

describe('checkpoints', () => {
  it('come back as they were, and equal states have equal bytes', async () => {
    const [one, two] = [makeRun(), makeRun()];
    for (const run of [one, two]) await saveCheckpoint(run, stateAt(3), all);
    for (const name of readdirSync(one.checkpoint(3))) {
      expect(readFileSync(join(one.checkpoint(3), name))).toEqual(readFileSync(join(two.checkpoint(3), name)));
    }
    expect((await loadCheckpoint(one, 3)).state).toEqual(stateAt(3));
    const plain = { ...stateAt(4), momentsFrom: 2, arm: null, directionAge: null };
    await saveCheckpoint(one, plain, all);
    expect((await loadCheckpoint(one, 4)).state).toEqual(plain);
    expect(one.listCheckpoints()).toEqual([3, 4]);
    await expect(loadCheckpoint(one, 5)).rejects.toThrow('expected one of its checkpoints (3, 4), found 5');
    const state4 = join(one.checkpoint(4), 'state.json');
    writeFileSync(state4, readFileSync(state4, 'utf8').replace('"events"', '"happenings"'));
    await expect(loadCheckpoint(one, 4)).rejects.toThrow(/state\.json: .* found key lengths\.events: /);
  });

  it('half of one is never seen, and is gone after the next start', async () => {
    const run = makeRun();
    await saveCheckpoint(run, stateAt(1), newest);
    const [aside, half] = [run.file('checkpoints/.2'), run.file('initial.safetensors.1f-2.tmp')];
    mkdirSync(aside);
    writeFileSync(join(aside, 'adapter.safetensors'), 'torn');
    writeFileSync(half, 'torn');
    expect(run.listCheckpoints()).toEqual([1]);
    run.cutTo((await loadCheckpoint(run, 1)).lengths);
    expect([existsSync(aside), existsSync(half)]).toEqual([false, false]);
    mkdirSync(aside);
    await saveCheckpoint(run, stateAt(2), newest);
    expect((await loadCheckpoint(run, 2)).state.update).toBe(2);
  });

  it('say how long the files were, and resuming cuts them back, torn lines too', async () => {
    const run = makeRun();
    const verdict = (id: number, ms: number) => `${JSON.stringify({ id, durationMs: ms })}\n`;
    appendFileSync(run.ledger('events'), '{"kind":"a"}\n');
    appendFileSync(run.ledger('verdicts'), verdict(1, 1.5) + verdict(2, 1000.25));
    await saveCheckpoint(run, stateAt(1), newest);
    const { lengths } = await loadCheckpoint(run, 1);
    expect(lengths).toEqual({ events: 13, rollouts: 0, features: 0, directions: 0, verdicts: 2 });
    appendFileSync(run.ledger('events'), '{"kind":"b"}\n{"ki');
    appendFileSync(run.ledger('verdicts'), `${verdict(3, 7)}{"id"`);
    appendFileSync(run.file('features.f32'), 'xxxx');
    run.cutTo(lengths);
    expect(readFileSync(run.ledger('events'), 'utf8')).toBe('{"kind":"a"}\n');
    expect(readFileSync(run.ledger('verdicts'), 'utf8')).toBe(verdict(1, 1.5) + verdict(2, 1000.25));
    expect(run.measureLengths()).toEqual(lengths);
    expect(() => run.cutTo({ ...lengths, events: 14 })).toThrow('The run directory is damaged');
    expect(() => run.cutTo({ ...lengths, verdicts: 3 })).toThrow('expected 3 rows, found 2');
  });
});

describe('a checkpoint that is written while the run goes on', () => {
  it('is of the moment in which it was asked for', async () => {
    const run = makeRun();
    appendFileSync(run.ledger('events'), '{"kind":"a"}\n');
    const rows = new Float32Array([1, 2]);
    const arm = { json: { seen: [1] }, tensors: new Map([['rows', { shape: [2], data: rows }]]) };
    const writing = saveCheckpoint(run, { ...stateAt(2), arm }, all);
    appendFileSync(run.ledger('events'), '{"kind":"b"}\n');
    rows.fill(9);
    arm.json.seen.push(2);
    await writing;
    const { state, lengths } = await loadCheckpoint(run, 2);
    expect(lengths.events).toBe(13);
    expect(state.arm?.json).toEqual({ seen: [1] });
    expect(state.arm?.tensors.get('rows')?.data).toEqual(new Float32Array([1, 2]));
    expectGrown(run, 2);
  });
});

describe('initial values', () => {
  it('are stored once, with the first checkpoint, and damage to them is seen', async () => {
    const run = makeRun();
    expect(checkedInitial(run)).toBeNull();
    await saveCheckpoint(run, stateAt(0), newest);
    const stored = readFileSync(run.file('initial.safetensors'));
    for (const update of [2, 4]) await saveCheckpoint(run, stateAt(update), { ...newest, initial: new Map() });
    expect(readFileSync(run.file('initial.safetensors'))).toEqual(stored);
    expect(checkedInitial(run)).toBe(run.file('initial.safetensors'));
    expectCheckpoint(run, 2, false);
    const bytes = readFileSync(run.file('initial.safetensors'));
    bytes[bytes.length - 1] ^= 1;
    writeFileSync(run.file('initial.safetensors'), bytes);
    // A checkpoint that is saved later does not take the damage for what it should be.
    await saveCheckpoint(run, stateAt(6), newest);
    for (const look of [() => checkedInitial(run), () => expectCheckpoint(run, 6, true)]) {
      expect(look).toThrow(UserError);
      expect(look).toThrow(/initial\.safetensors: expected bytes with the hash/);
    }
    rmSync(run.file('initial.safetensors'));
    expect(() => checkedInitial(run)).toThrow(/initial\.safetensors: expected a file, found none/);
  });
});

describe('the hashes of the last checkpoint', () => {
  it('go into the seal for what has not grown since, so that later damage is not sealed', async () => {
    const run = makeRun();
    expect(checkpointHashes(run).size).toBe(0);
    appendFileSync(run.file('features.f32'), 'four');
    await saveCheckpoint(run, stateAt(1), newest);
    appendFileSync(run.ledger('events'), '{"kind":"stop"}\n');
    const known = checkpointHashes(run);
    for (const name of ['features.f32', 'initial.safetensors']) {
      expect(known.get(name)).toBe(sha256(readFileSync(run.file(name))));
    }
    expect(known.has('events.jsonl')).toBe(false);
    writeFileSync(run.file('features.f32'), 'five');
    await writeSeal(run.path, 1, known);
    expect(() => expectAllSealed(run.path)).toThrow(/features\.f32: expected bytes with the hash/);
    writeFileSync(run.file('features.f32'), 'four');
    expectAllSealed(run.path);
  });
});

describe('the state of the trainer', () => {
  it('is kept by the newest checkpoint, or by all; the adapter by every one', async () => {
    const [one, two] = [makeRun(), makeRun()];
    for (const update of [0, 2, 4]) {
      await saveCheckpoint(one, stateAt(update), newest);
      await saveCheckpoint(two, stateAt(update), all);
    }
    expect([0, 2, 4].map((update) => existsSync(stateOf(one, update)))).toEqual([false, false, true]);
    expect([0, 2, 4].map((update) => existsSync(stateOf(two, update)))).toEqual([true, true, true]);
    expect((await loadCheckpoint(one, 4)).state).toEqual(stateAt(4));
    expect(await loadAdapter(one, 2)).toEqual(stateAt(2).adapter);
    const { state } = await loadAlone(one, 2);
    expect(state).toEqual({
      ...stateAt(2),
      moments: new Map(),
      momentsFrom: 2,
      arm: null,
      directionAge: null,
    });
  });

  it('that a checkpoint has not is refused, with the checkpoint that has it and what else can be done', async () => {
    const run = makeRun();
    for (const update of [0, 2, 4]) await saveCheckpoint(run, stateAt(update), newest);
    const loading = loadCheckpoint(run, 2);
    await expect(loading).rejects.toThrow(UserError);
    await expect(loading).rejects.toThrow(
      `load checkpoint 2 of ${run.path}: expected a checkpoint with the state of the trainer, found the adapter alone; the state is in checkpoint 4`,
    );
    await expect(loading).rejects.toThrow(`Fork ${run.path}@4, or begin with new moments: --fork ${run.path}@2`);
  });

  it('of the newest checkpoint that is gone is damage, and so is any where all are kept', async () => {
    const run = makeRun();
    for (const update of [0, 2]) await saveCheckpoint(run, stateAt(update), all);
    rmSync(stateOf(run, 0));
    expectCheckpoint(run, 0, false);
    expect(() => expectCheckpoint(run, 0, true)).toThrow(/00000.trainer\.safetensors: expected a file, found none/);
    rmSync(stateOf(run, 2));
    await expect(loadCheckpoint(run, 2)).rejects.toThrow(/00002.trainer\.safetensors: .*The run directory is damaged/);
    expect(() => expectCheckpoint(run, 2, false)).toThrow(/the state of the newest checkpoint/);
  });
});

describe('a kill', () => {
  /** The run as it is after every change of its folder while checkpoint 4 is saved; the last one is the run that was not killed. */
  async function momentsOfSaving(): Promise<RunDirectory[]> {
    const run = makeRun();
    for (const update of [0, 2]) await saveCheckpoint(run, stateAt(update), newest);
    const copy = (): RunDirectory => {
      const killed = makeRun();
      cpSync(run.path, killed.path, { recursive: true });
      return killed;
    };
    const before = copy();
    const aside = copy();
    mkdirSync(aside.file('checkpoints/.4'));
    writeFileSync(aside.file('checkpoints/.4/trainer.safetensors'), 'torn');
    await saveCheckpoint(run, stateAt(4), all);
    const renamed = copy();
    await saveCheckpoint(run, stateAt(4), newest);
    return [before, aside, renamed, copy()];
  }

  it('at any step leaves a newest checkpoint that is whole, and the next save gives the same files', async () => {
    const moments = await momentsOfSaving();
    const list = (run: RunDirectory) => readdirSync(run.path, { recursive: true, encoding: 'utf8' }).sort();
    const expected = list(moments[moments.length - 1]);
    expect(moments.map((run) => run.listCheckpoints().at(-1))).toEqual([2, 2, 4, 4]);
    for (const run of moments) {
      const last = run.listCheckpoints().at(-1) ?? -1;
      const { state, lengths } = await loadCheckpoint(run, last);
      expect(state).toEqual(stateAt(last));
      run.cutTo(lengths);
      await saveCheckpoint(run, stateAt(4), newest);
      expect(list(run)).toEqual(expected);
    }
  });
});
