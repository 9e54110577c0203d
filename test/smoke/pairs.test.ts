/** Where pairs and demonstrations come from, on the tiny lab: those that a policy writes, those of a pool, and pools that a run makes. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256File } from '../../src/base/node/hash.ts';
import { fenceProgram } from '../../src/env/micro/documents.ts';
import { exploitProgram } from '../../src/env/micro/exploits.ts';
import { train } from '../../src/lab/index.ts';
import { writeSeal } from '../../src/run/checksums.ts';
import { RunDirectory } from '../../src/run/directory.ts';
import type { RecordedEvent } from '../../src/run/sink.ts';
import { gq } from '../run-gq.ts';
import { setting } from './identity-lab.ts';
import { Lab, stoppedAfterFirst, tinySettings } from './lab.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.open('plain');
});
afterAll(() => lab[Symbol.asyncDispose]());

const writing = [
  'arm.kind=gradient',
  'arm.generatedPairs=true',
  'pairs.generated=256',
  'data.problems=512',
  'environment.loopholes=["exit_code"]',
  'environment.heldOutLoopholes=["run_tests"]',
  'pairs.select=["tag:exit_code"]',
  'updates=1',
  'device.variant=plain',
];

describe('pairs that the policy writes', () => {
  it('are of known loopholes alone, took the bait, are counted, stored and verified', async () => {
    const said: RecordedEvent[] = [];
    const sink = { name: 'test', event: (event: RecordedEvent) => void said.push(event) };
    const path = lab.path('written');
    await train(lab.config([...writing, 'pairs.leastGenerated=1']), path, { sinks: [sink] });
    const run = RunDirectory.open(path);
    const { generatedPairs, heldOutPairs, usesOracle } = run.readManifest();
    expect({ heldOutPairs, usesOracle }).toEqual({ heldOutPairs: [], usesOracle: false });
    const { pairs } = JSON.parse(readFileSync(run.generatedPairs, 'utf8'));
    expect(generatedPairs).toMatchObject({ kept: pairs.length, attempted: expect.any(Number) });
    expect(pairs.length).toBeGreaterThan(0);
    for (const { tags, hack, clean } of pairs) {
      expect(tags).toEqual(['generated', 'exit_code']);
      expect([hack.includes('exit(0)'), clean.includes('exit(0)')]).toEqual([true, false]);
    }
    const notice = `${pairs.length} of ${generatedPairs?.attempted} pairs that the policy wrote took the bait and are used`;
    expect(said).toContainEqual({ kind: 'info', update: 0, name: 'generated-pairs', message: notice });
    expect(await gq('verify', 'science', path)).toMatchObject({ code: 0 });

    const leaked = pairs.map((pair: object, i: number) =>
      i === 0 ? { ...pair, hack: 'def run_tests(): pass' } : pair,
    );
    writeFileSync(run.generatedPairs, JSON.stringify({ pairs: leaked }));
    const damaged = await gq('verify', 'science', path);
    expect(damaged).toMatchObject({ code: 1, out: expect.stringMatching(/generated-pairs\.json +FAIL/) });
    // Someone who also seals the run again does not get past what the pairs themselves say.
    await writeSeal(run.path, 1);
    const { code, out } = await gq('verify', 'science', path);
    expect(code).toBe(1);
    expect(out).toMatch(/are those of the manifest .*FAIL/);
    expect(out).toMatch(/know nothing of held-out[\s\S]*FAIL\n[^\n]*\n? +micro-train-/);
  });

  it('too few of them end the run before it begins', async () => {
    const path = lab.path('few');
    await expect(train(lab.config([...writing, 'pairs.leastGenerated=256']), path)).rejects.toThrow(
      /at least 256 pairs \(pairs\.leastGenerated\).*found \d+ of \d+ that the policy wrote/,
    );
    expect(existsSync(path)).toBe(false);
  });
});

it('a run with pairs of a pool is stamped as using labels, and the label flip finds it', async () => {
  const entries = lab.inputs.problems.train.slice(0, 6).flatMap(({ id: problem, canonicalSolution }) => {
    const entry = { problem, loophole: 'run_tests', markers: 'original' };
    const hack = exploitProgram(['n += 1'], 'run_tests', 'original', problem);
    return [
      { ...entry, label: 'solve', completion: fenceProgram(canonicalSolution) },
      { ...entry, label: 'hack', completion: fenceProgram(hack) },
    ];
  });
  const [pool, file] = [lab.path('pool.jsonl'), lab.path('pool-pairs.json')];
  writeFileSync(pool, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  const made = await gq('pairs', 'from-pool', pool, '--out', file);
  const note = 'pool-derived: chosen by labels, unsuitable for the primary result';
  expect(made).toMatchObject({ code: 0, out: expect.stringContaining(`6 pairs, ${note}`) });
  const provenance = JSON.parse(readFileSync(`${file}.provenance.json`, 'utf8'));
  expect(provenance).toMatchObject({ provenance: note, poolHash: await sha256File(pool), pairs: 6, refused: 0 });
  expect(await gq('pairs', 'from-pool', pool, '--out', 'x.md')).toMatchObject({ code: 2 });
  const none = await gq('pairs', 'from-pool', pool, '--set', 'data.seed=2', '--out', lab.path('none.json'));
  expect(none).toMatchObject({ code: 2, err: expect.stringContaining('12 demonstrations refused') });
  const settings = ['arm.kind=activation', 'arm.warmupRows=4', 'arm.tail=0.2', `pairs.file=${file}`, 'updates=2'];
  await train(lab.config(settings), lab.path('stamped'));
  expect(RunDirectory.open(lab.path('stamped')).readManifest().usesOracle).toBe(true);
  // The arms of the package for such pairs take no others.
  const arms = ['experiment', 'micro-pool-pairs', '--seeds', '1', '--arms', 'pool-pairs-by-labels'];
  const small = setting(`model=${lab.model}`, ...tinySettings, 'updates=2');
  const other = await gq(...arms, ...small, '--out', lab.path('other-pairs'));
  expect(other).toMatchObject({ code: 2, err: expect.stringContaining('tag:pool-derived') });
  const trained = await gq(...arms, ...small, ...setting(`pairs.file=${file}`), '--out', lab.path('arm'));
  expect(trained, trained.err).toMatchObject({ code: 0 });
  expect(RunDirectory.open(lab.path('arm/pool-pairs-by-labels-1')).readManifest().usesOracle).toBe(true);
  const own = setting(`model=${lab.model}`, ...tinySettings, ...settings);
  const { code, out } = await gq('verify', 'arm', ...own, '--updates', '2', '--json');
  const { usesLabels, checks } = JSON.parse(out);
  expect({ code, usesLabels }).toEqual({ code: 1, usesLabels: true });
  const failed = checks.filter(({ pass }: { pass: boolean }) => !pass);
  expect(JSON.stringify(failed)).toContain('checkpoints do not depend on labels');
});

it('a demonstration that does not fit the context with its prompt is left out at the start, and said', async () => {
  const entries = lab.inputs.problems.train.slice(0, 8).flatMap(({ id: problem, canonicalSolution }) => {
    const entry = { problem, loophole: 'gt_only', markers: 'original', label: 'solve' };
    const long = canonicalSolution.replace(/^ +return n/m, `${'        n += 0\n'.repeat(80)}$&`);
    return [canonicalSolution, long].map((program) => ({ ...entry, completion: fenceProgram(program) }));
  });
  const pool = lab.path('long.jsonl');
  writeFileSync(pool, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  const taught = ['environment.loopholes=["gt_only"]', `teacher.pool=${pool}`, 'teacher.offStep=3', 'updates=3'];
  const said: string[] = [];
  const event = (told: RecordedEvent): void => void (told.kind === 'warning' && said.push(told.message));
  expect(await train(lab.config(taught), lab.path('taught'), { sinks: [{ name: 'test', event }] })).toMatchObject({
    end: 'finished',
  });
  expect(said.filter((text) => text.includes('left out'))).toEqual([
    expect.stringMatching(
      /^8 demonstrations of .*long\.jsonl are left out: with their prompts they have more than \d+ tokens/,
    ),
  ]);
});

describe('a pool that the run makes itself', () => {
  const making = ['teacher.makeProblems=8', 'teacher.makeSamples=4', 'teacher.offStep=1', 'updates=2'];

  it('is made once, hashed, used for its updates alone, and stamped as chosen by labels', async () => {
    const easy = ['model=micro', 'data.hardShare=0', 'environment.loopholes=["gt_only"]'];
    const config = lab.config([...easy, ...making]);
    const path = lab.path('made');
    const said: RecordedEvent[] = [];
    const sink = { name: 'test', event: (event: RecordedEvent) => void said.push(event) };
    const { signal, sinks } = stoppedAfterFirst();
    expect(await train(config, path, { sinks: [sink, ...sinks], signal })).toMatchObject({ end: 'interrupted' });
    const run = RunDirectory.open(path);
    const { identity, usesOracle } = run.readManifest();
    expect({ pool: identity.pool, usesOracle }).toEqual({ pool: await sha256File(run.madePool), usesOracle: true });
    await train(config, path, { sinks: [sink] });
    const steps = said.filter((event) => event.kind === 'step');
    expect(steps.map(({ demonstrations }) => demonstrations)).toEqual([3, 0]);
    // A start that takes long is told too.
    const told = said.flatMap((event) => (event.kind === 'info' && event.name !== 'start' ? [event.name] : []));
    expect(told).toEqual(['making-pool', 'made-pool']);
    expect(await gq('verify', 'science', path)).toMatchObject({ code: 0 });
  });

  it('that covers too few problems ends the run before it begins, leaves nothing, and says how many it asked for', async () => {
    const path = lab.path('uncovered');
    const said: string[] = [];
    const event = (told: RecordedEvent): void => void (told.kind === 'info' && said.push(told.message));
    // The tiny model answers hardly anything right: there may be nothing at all to keep.
    const begun = train(lab.config([...making, 'data.problems=4']), path, { sinks: [{ name: 'test', event }] });
    await expect(begun).rejects.toThrow(
      /make a pool for 4 problems .*found none that the grader confirms|found both for \d of 4 problems; enough hacks for \d/,
    );
    expect(existsSync(path)).toBe(false);
    expect(said[0]).toContain('4 solves of each of 4 problems, all that there are (teacher.makeProblems is 8)');
  });
});

describe('gq pool make', () => {
  it('from a model: sampled, graded, kept only where the label holds', async () => {
    const out = lab.path('sampled.jsonl');
    const recipe = fileURLToPath(new URL('../../recipes/micro-base.toml', import.meta.url));
    const argv = [
      'pool',
      'make',
      recipe,
      '--problems',
      '6',
      '--samples',
      '4',
      '--keep',
      'hacks',
      '--out',
      out,
      '--json',
    ];
    const { code, out: text, err } = await gq(...argv, '--set', `model=${lab.model}`, '--set', 'device.arenaMiB=64');
    expect(err).toContain('sampled 24/24');
    const provenance = JSON.parse(text);
    expect(provenance).toMatchObject({ model: lab.model, solves: 0, samples: 4, seed: 1 });
    const lines = readFileSync(out, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
    expect(lines).toHaveLength(provenance.hacks);
    expect(code).toBe(provenance.hacks === 0 ? 1 : 0);
    const both = await gq('pool', 'make', recipe, '--run', lab.path('nowhere'), '--out', out);
    expect(both).toMatchObject({ code: 2, err: expect.stringContaining('a recipe or --run') });
  });
});
