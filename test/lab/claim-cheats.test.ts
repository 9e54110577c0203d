/** A study that somebody tampers with: every cheat that leaves a trace is told by `gq claim`, which then ends with 1, and under every table. */
import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { allTables } from '../../src/report/all-tables.ts';
import { countBegun, readRegister, stateClaim } from '../../src/study/claim.ts';
import { openResults } from '../../src/study/claim-progress.ts';
import { stopsStudy } from '../../src/study/steps.ts';
import { gq } from '../run-gq.ts';
import { SmallStudy, statement } from './small-study.ts';

let made: SmallStudy;
beforeEach(() => {
  made = new SmallStudy();
});

const inStudy = (...names: string[]): string => join(made.path, ...names);

function editJson(path: string, change: (json: ReturnType<typeof JSON.parse>) => void): void {
  const json = JSON.parse(readFileSync(path, 'utf8'));
  change(json);
  writeFileSync(path, JSON.stringify(json));
}

/** Expects these words of `gq claim`, and the same under each table of `gq results`. */
async function expectTold(...faults: string[]): Promise<void> {
  const { out, code } = await gq('claim', made.path);
  const said = `This study does not fit its register: ${faults.join('; ')}.`;
  expect(out.replace(/\s+/g, ' ')).toContain(said);
  expect(code).toBe(1);
  expect(JSON.parse((await gq('claim', made.path, '--json')).out).faults).toEqual(faults);
  const results = JSON.parse((await gq('results', made.path, '--format', 'json')).out);
  expect(results.design.claim.faults).toEqual(faults);
  const tables = allTables(await openResults(made.path));
  expect(tables.length).toBeGreaterThan(2);
  for (const { notes } of tables) expect(notes).toContain(said);
}

it('a study that nobody touched fits its register', async () => {
  await made.run({ 1: 'ssss', 2: 'ssss' });
  expect(await gq('claim', made.path)).toMatchObject({ code: 0, out: expect.not.stringContaining('does not fit') });
  expect((await gq('results', made.path)).out).not.toContain('does not fit');
});

it('a step of a study that lost its plan is named, not left out as if it were not begun', async () => {
  await made.run({ 1: 'hhhh', 2: 'hhhh' });
  rmSync(inStudy('experiment.json'));
  expect(await gq('claim', made.folder)).toMatchObject({
    code: 2,
    err: expect.stringMatching(/study: expected .* with its plan \(experiment\.json\), .* call gq experiment again/),
  });
});

it('a step does not decide by the runs that are left where one cannot be read', async () => {
  writeFileSync(made.file, statement().replace('[[predictions]]', '[bar]').replace('inSeeds = 2', 'inSeeds = 1'));
  await made.run({ 1: 'ssss', 2: 'ssss' });
  const step = { directory: made.path, advice: 'Train longer.' };
  expect(await stopsStudy(step)).toBe(null);
  editJson(
    inStudy('vanilla-2', 'evaluations', '00007-test-original-full.json'),
    (json) => (json.rows[0].attempt = true),
  );
  expect(await stopsStudy(step)).toMatch(/cannot be told without .*vanilla-2: read .*full\.json: .* checksum/);
});

describe('a run', () => {
  const another = async (text: string): Promise<SmallStudy> => {
    const other = new SmallStudy();
    writeFileSync(join(other.folder, 'base.toml'), text);
    await other.run({ 1: 'ssss', 2: 'ssss' });
    return other;
  };

  it('that a run with another config was put in the place of', async () => {
    await made.run({ 1: 'hhhh', 2: 'hhhh' });
    const { path } = await another('updates = 7\nsampling.maxNewTokens = 16\n[environment]\nunhackableFraction = 1\n');
    const { hash } = JSON.parse((await gq('claim', path, '--json')).out).claim;
    for (const name of ['vanilla-1', 'vanilla-2']) {
      rmSync(inStudy(name), { recursive: true });
      cpSync(join(path, name), inStudy(name), { recursive: true });
    }
    await expectTold(
      ...['vanilla-1', 'vanilla-2'].flatMap((name) => [
        `${name} holds another run than the one that was begun there`,
        `${name} was begun under claim ${hash.slice(0, 12)}, which is not registered`,
      ]),
    );
  });

  it('that was trained elsewhere and copied into the study', async () => {
    await made.run({ 1: 'ssss' });
    const { path } = await another('updates = 7\nsampling.maxNewTokens = 16\n');
    cpSync(join(path, 'vanilla-2'), inStudy('vanilla-2'), { recursive: true });
    await expectTold('no entry says that vanilla-2 was begun');
  });

  it('that was deleted with its entry', async () => {
    await made.run({ 1: 'hhhh', 2: 'ssss' });
    rmSync(inStudy('vanilla-1'), { recursive: true });
    rmSync(inStudy('register', 'begun-vanilla-1-1.json'));
    await expectTold('1 of the runs that were begun has no entry any more');
  });

  it('that was renamed is gone, and counted under its new name as not stated', async () => {
    await made.run({ 1: 'ssss', 2: 'hhhh' });
    renameSync(inStudy('vanilla-2'), inStudy('vanilla-old'));
    await expectTold('no entry says that vanilla-old was begun');
    const { begun } = JSON.parse((await gq('claim', made.path, '--json')).out);
    expect(begun).toMatchObject([
      { folder: 'vanilla-1', state: 'ended', isStated: true },
      { folder: 'vanilla-2', state: 'gone', isStated: true },
      { folder: 'vanilla-old', state: 'ended', isStated: false },
    ]);
  });

  it('of another seed in its place is refused', async () => {
    await made.run({ 1: 'ssss', 2: 'hhhh' });
    rmSync(inStudy('vanilla-2'), { recursive: true });
    cpSync(inStudy('vanilla-1'), inStudy('vanilla-2'), { recursive: true });
    expect(await gq('claim', made.path)).toMatchObject({ code: 2, err: expect.stringContaining('seed 1 twice') });
  });
});

describe('a statement', () => {
  it('that was made easier in the stored plan', async () => {
    await made.run({ 1: 'ssss', 2: 'hhhh' });
    editJson(inStudy('experiment.json'), ({ experiment, runs }) => {
      experiment.seeds.pop();
      experiment.predictions[0].inSeeds = 1;
      runs.pop();
    });
    await expectTold('experiment.json differs from what was stated in predictions, seeds');
  });

  it('that was made easier in the register too', async () => {
    await made.run({ 1: 'ssss', 2: 'hhhh' });
    for (const path of [inStudy('experiment.json'), inStudy('register', 'claim-1.json')]) {
      editJson(path, ({ experiment, statement: stated }) => {
        (experiment ?? stated.experiment).predictions[0].inSeeds = 1;
      });
    }
    const { hash } = JSON.parse((await gq('claim', made.file, '--json')).out);
    await expectTold(`what is stated does not have the hash ${hash.slice(0, 12)}`);
  });

  it('whose register is gone', async () => {
    await made.run({ 1: 'ssss', 2: 'ssss' });
    const { hash } = JSON.parse((await gq('claim', made.file, '--json')).out);
    rmSync(inStudy('register'), { recursive: true });
    const begun = `was begun under claim ${hash.slice(0, 12)}, which is not registered`;
    await expectTold(`vanilla-1 ${begun}`, `vanilla-2 ${begun}`);
  });

  it('of the same millisecond, or of a clock that went back, is the last one if it was made last', () => {
    const at = (hash: string) => ({ hash, file: made.file, runs: [], settings: [] });
    for (const hash of ['z', 'm', 'a', 'k', 'b', 'c', 'x', 'y', 'd', 'w']) stateClaim(made.path, at(hash), 0);
    editJson(inStudy('register', 'claim-2.json'), (entry) => {
      entry.at = '2099-01-01T00:00:00.000Z';
    });
    stateClaim(made.path, at('last'), 0);
    const run = { arm: 'vanilla', seed: 1, folder: 'vanilla-1' };
    for (const hash of ['z', 'a', 'm']) countBegun(made.path, run, hash);
    const { stated, begun } = readRegister(made.path);
    expect(stated.map(({ hash }) => hash).join(' ')).toBe('z m a k b c x y d w last');
    expect(begun.map(({ claim }) => claim)).toEqual(['z', 'a', 'm']);
  });
});

describe('blind seeds', () => {
  it('whose opening was deleted are not opened a second time in silence', async () => {
    writeFileSync(made.file, statement('blindSeeds = [2]'));
    await made.run({ 1: 'ssss', 2: 'ssss' });
    await gq('claim', 'open', made.path);
    await made.evaluate('vanilla-2', 'ssss');
    rmSync(inStudy('register', 'opened.json'));
    const fault = 'vanilla-2 is blind and was evaluated, and no entry says that it was opened';
    await expectTold(fault);
    expect(await gq('claim', 'open', made.path)).toMatchObject({ code: 2, err: expect.stringContaining(fault) });
  });

  it('that were opened before they were trained are not said to have been trained blind', async () => {
    writeFileSync(made.file, statement('blindSeeds = [1, 2]'));
    await made.run({ 1: 'ssss' });
    expect(await gq('claim', 'open', made.path, '--force')).toMatchObject({ code: 0 });
    await made.run({ 2: 'ssss' });
    for (const run of ['vanilla-1', 'vanilla-2']) await made.evaluate(run, 'ssss');
    const said = async (command: string) => (await gq(command, made.path)).out.replace(/\s+/g, ' ');
    const early = 'Not blind, since they were opened before they were trained: vanilla-2.';
    expect(await said('results')).toMatch(/Trained blind: vanilla-1; opened/);
    expect(await said('results')).toContain(early);
    expect(await said('claim')).toContain(early);
  });
});
