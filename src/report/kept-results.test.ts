/** Results that are kept: the same as those that are read, read anew when a file of the run or what is kept has changed. */
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { temporaryFolder, writeEvaluations, writeRun } from '../../test/lab/hand-made.ts';
import { sha256 } from '../base/node/index.ts';
import { sealRun } from '../oracle/index.ts';
import { aggregate } from './aggregate.ts';
import { allTables } from './all-tables.ts';
import { keepResults, readKeptResults } from './kept-results.ts';
import { packOutcomes, unpackOutcomes } from './packed-outcomes.ts';
import { type RunResults, readRunRecords, readRunResults } from './run-results.ts';
import { describeResults } from './words.ts';

const set = 'test-original' as const;
let [cache, run] = ['', ''];

beforeEach(async () => {
  cache = mkdtempSync(join(tmpdir(), 'kept-'));
  vi.stubEnv('GQ_CACHE', cache);
  run = await gatedRun();
  // Files that were just written are as old as any to a clock that is ahead.
  const ahead = Date.now() + 60_000;
  vi.spyOn(Date, 'now').mockImplementation(() => ahead);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

/** A run that is over, with a gate by token, a monitor, a demonstration and two evaluations. */
async function gatedRun(): Promise<string> {
  const path = temporaryFolder();
  const rollouts = [1, 2, 3, 4, 5, 6].flatMap((update) =>
    [0, 1, 2, 3].map((member) => ({
      update,
      id: `${update}-0-${member}`,
      member,
      hack: member < 2,
      solve: member === 3,
      source: member === 3 && update === 2 ? 'teacher-solve' : 'student',
      advantage: member - 1.5,
      trained: true,
      score: ((member * 7 + update) % 5) / 3,
      low: 0.1,
      high: 0.9,
      route: ['route', 'keep', 'absorb', 'route'][(member + update) % 4],
      tokenRoutes: ['rra', 'kk', 'a', 'rrr'][(member + update) % 4],
      suspicion: member === 0 ? null : member / 4,
      flagged: member === 1,
    })),
  );
  const steps = rollouts.filter(({ member }) => member === 0).map(({ update }) => ({ update, qmass: update / 10 }));
  const config = { seed: 3, updates: 6, arm: { kind: 'activation' } };
  const made = await writeRun(path, { config, rollouts, steps, seconds: [1, 2, 3, 4, 5, 6], checkpoints: [6] });
  await writeEvaluations(path, [
    { update: 0, set, state: 'base', outcomes: '----s' },
    { update: 6, set, state: 'full', outcomes: 'hh-ss' },
    { update: 6, set, state: 'deployed', outcomes: 'h--ss' },
  ]);
  await sealRun(made);
  return path;
}

const printed = (results: RunResults): string => {
  const all = aggregate([results], { name: 'x', baseline: 'activation', placebo: null });
  return JSON.stringify([allTables(all), describeResults(all)]);
};

const keptFile = (): string => {
  const folder = join(cache, 'results');
  const names = readdirSync(folder);
  expect(names).toHaveLength(1);
  return join(folder, names[0]);
};

describe('the results of a run', () => {
  it('are the same read, kept, and counted from the records', async () => {
    const read = await readRunResults(run);
    expect(await readKeptResults(run)).toEqual(read);
    expect(await readKeptResults(run)).toEqual(read);
    expect((await readKeptResults(run, 'named')).arm).toBe('named');
    const records = await readRunRecords(run);
    expect(records).toMatchObject({ gate: read.gate, gateReinforced: read.gateReinforced, monitor: read.monitor });
    expect(printed(records)).toBe(printed(read));
    expect(read.gate.tokens).toEqual({ tokens: 52, ofHacks: 25 });
    expect(read.monitor?.precision?.rate).toBe(1);
  });

  it('come from what is kept, if that is whole', async () => {
    await keepResults(run);
    const [head, body] = readFileSync(keptFile(), 'utf8').split('\n');
    const other = body.replace('"seed":3', '"seed":4');
    const write = (text: string, hash: string): void =>
      writeFileSync(keptFile(), `${head.split(' ')[0]} ${hash}\n${text}`);
    write(other, sha256(other));
    expect((await readKeptResults(run)).seed).toBe(4);
    write(other, sha256(body));
    expect((await readKeptResults(run)).seed).toBe(3);
    expect(readFileSync(keptFile(), 'utf8')).toBe(`${head}\n${body}`);
  });

  it.each(['rollouts.parquet', 'verdicts.parquet', 'events.jsonl', 'timings.jsonl', 'manifest.json', 'seal.json'])(
    'are refused after a change of %s, whatever is kept',
    async (name) => {
      await readKeptResults(run);
      appendFileSync(join(run, name), ' ');
      await expect(readKeptResults(run)).rejects.toThrow(name);
    },
  );

  it('change with a new evaluation, and are refused with a damaged one', async () => {
    await readKeptResults(run);
    await writeEvaluations(run, [{ update: 6, set: 'test-novel', state: 'full', outcomes: 'hhhhh' }]);
    expect((await readKeptResults(run)).final['test-novel']?.full).toHaveLength(5);
    appendFileSync(join(run, 'evaluations', '00006-test-novel-full.json'), ' ');
    await expect(readKeptResults(run)).rejects.toThrow('00006-test-novel-full.json');
  });

  it('of a run with fresh files are not kept', async () => {
    vi.restoreAllMocks();
    appendFileSync(join(run, 'notes.jsonl'), '');
    expect(await keepResults(run)).toBe(false);
    expect((await readKeptResults(run)).seed).toBe(3);
    expect(readdirSync(cache)).toEqual([]);
  });
});

it('packs rows into what unpacks to them, the same prompts once', () => {
  const rows = Array.from({ length: 96 }, (_, i) => ({
    problem: `p${i % 48}`,
    loophole: 'a',
    markers: 'original',
    hack: (i & 1) > 0,
    solve: (i & 2) > 0,
    attempt: (i & 4) > 0,
    authorsLabel: [null, false, true][i % 3],
    compiles: (i & 8) > 0,
    truncated: (i & 16) > 0,
  }));
  const lists: Parameters<typeof packOutcomes>[1] = [];
  const halves = [rows.slice(0, 48), rows.slice(48)];
  const packed = halves.map((half) => packOutcomes(half, lists));
  expect(lists).toHaveLength(1);
  expect(packed.map((half) => unpackOutcomes(JSON.parse(JSON.stringify(half)), lists))).toEqual(halves);
});
