/** The commands around a run, on the tiny lab: train, interrupt, resume, fork, replay, pool, verify, smoke, config. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shellLine } from '../../src/base/shell.ts';
import { trainCommand } from '../../src/cli/commands/train.ts';
import { runCli } from '../../src/cli/program.ts';
import { TrainDisplay } from '../../src/cli/terminal/train-display.ts';
import type { StepEvent } from '../../src/grpo/events.ts';
import { findDamagedFiles } from '../../src/run/checkpoint-files.ts';
import { configHash } from '../../src/run/config/config.ts';
import { RunDirectory } from '../../src/run/directory.ts';
import { gqProgram } from '../gq-command.ts';
import { fingerprint } from '../resume/kill.ts';
import { Lab, tinySettings } from './lab.ts';

const command = gqProgram();
let lab: Lab;
let train: string[];
beforeAll(async () => {
  lab = await Lab.open();
  const gate = ['arm.kind=activation', 'arm.warmupRows=4', 'arm.tail=0.2', 'arm.refreshEvery=3'];
  // Two processes may choose different kernels on a busy machine, which a run would note as another device.
  const same = ['device.variant=plain', 'updates=6', 'output.checkpointEvery=3'];
  const settings = [`model=${lab.model}`, ...tinySettings, ...gate, ...same];
  train = ['train', ...settings.flatMap((setting) => ['--set', setting])];
  expect(await gq([...train, '--out', lab.path('whole')])).toMatchObject({ code: 0 });
});
afterAll(() => lab[Symbol.asyncDispose]());

async function gq(argv: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  let [out, err] = ['', ''];
  const sink = (add: (text: string) => void) => ({ write: add });
  const streams = { stdout: sink((text) => (out += text)), stderr: sink((text) => (err += text)) };
  return { code: await runCli(argv, streams), out, err };
}

function read(child: ChildProcess): { text: () => string; ended: Promise<number | null> } {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      text += chunk;
    });
  }
  return { text: () => text, ended: new Promise((resolve) => child.on('close', resolve)) };
}

describe('gq train', () => {
  it('prints a table with counts as n/d, time left, a legend, and seals the run', async () => {
    const { code, out } = await gq([...train, '--set', 'seed=2', '--out', lab.path('table')]);
    expect(code).toBe(0);
    const rows = out.split('\n').filter((line) => /^ +\d+ /.test(line));
    expect(rows).toHaveLength(6);
    for (const row of rows) expect(row).toMatch(/\d+\/\d+ +\d+\/12 +\d\/3 .* \d\/6, \d+ s left$/);
    expect(out).toContain(
      `finished: 6 updates in ${lab.path('table')}\nevaluate it with: gq eval ${lab.path('table')}`,
    );
    expect(out.replace(/\s+/g, ' ')).toContain('hack: an attempt that paid for a wrong program / the same rollouts');
    const run = RunDirectory.open(lab.path('table'));
    expect(run.isSealed()).toBe(true);
    expect(existsSync(run.ledger('rollouts'))).toBe(false);
    expect(run.readManifest()).toMatchObject({ usesOracle: false, parent: null, config: { seed: 2 } });
    expect(run.readManifest().features.modules).toEqual([...run.readManifest().features.modules].sort());
  });

  it('--json prints every event as a line', async () => {
    const { out } = await gq([...train, '--json', '--set', 'updates=2', '--out', lab.path('json')]);
    const events = out.trimEnd().split('\n').map((line) => JSON.parse(line)); // biome-ignore format: one line
    const stored = readFileSync(lab.path('json/events.jsonl'), 'utf8').trimEnd().split('\n');
    // How long a slow start took is said, and not stored.
    expect(events.filter(({ name }) => name !== 'start')).toEqual(stored.map((line) => JSON.parse(line)));
    expect(events.at(-1)).toMatchObject({ kind: 'stop', reason: 'finished' });
  });

  it('Ctrl-C finishes the update, saves, says how to go on; going on equals never having stopped', async () => {
    const path = lab.path('interrupted');
    const call = [...train, '--out', path];
    const child = spawn(process.execPath, [command, ...call], { stdio: ['ignore', 'pipe', 'pipe'] });
    const { text, ended } = read(child);
    child.stdout.on('data', () => {
      if (/^ +1 /m.test(text()) && !child.killed) child.kill('SIGINT');
    });
    expect(await ended).toBe(75);
    expect(text()).toContain('interrupted: finishing this update, then saving');
    const [, updates, again] = /saved after (\d+) updates; go on with: gq (.*)/.exec(text()) ?? [];
    expect(again).toBe(shellLine(...call));
    const saved = Number(updates);
    expect(saved).toBeGreaterThan(0);
    expect(saved).toBeLessThan(6);
    const run = RunDirectory.open(path);
    expect(run.listCheckpoints()).toContain(saved);
    expect(existsSync(run.file('lock.json'))).toBe(false);
    expect(await gq(call)).toMatchObject({ code: 0 });
    const [found, whole] = [await fingerprint(path), await fingerprint(lab.path('whole'))];
    for (const [name, print] of whole) expect({ name, print: found.get(name) }).toEqual({ name, print });
  });

  it('a finished run is not resumed, a run in the way is not overwritten, and changes need a fork', async () => {
    const whole = lab.path('whole');
    const before = await fingerprint(whole);
    expect(await gq(['train', '--resume', whole])).toMatchObject({
      code: 0,
      err: expect.stringContaining('is finished'),
    });
    expect(await fingerprint(whole)).toEqual(before);
    const other = await gq([...train, '--set', 'seed=9', '--out', whole]);
    expect(other.code).toBe(2);
    expect(other.err).toMatch(/found a run of another config at seed \(1 and 9\)\. Continue it .* --resume/);
    const changed = await gq(['train', '--resume', whole, '--set', 'seed=3']);
    expect(changed).toMatchObject({ code: 2, err: expect.stringContaining('--fork RUN@UPDATE') });
    expect(await gq(['train', '--fork', whole])).toMatchObject({ code: 2, err: expect.stringContaining('RUN@UPDATE') });
  });

  it('a fork starts from the checkpoint, with its own config and its parent in the manifest', async () => {
    const [path, parent] = [lab.path('forked'), lab.path('whole')];
    // As the help says it, on a run as training leaves it: only its newest checkpoint has a state.
    const example = trainCommand.examples.find((line) => line.includes('--fork')) ?? '';
    const line = example.replace('runs/activation-1@20', `${parent}@3`).replace('runs/forked', path);
    expect(await gq(line.replace('5e-4', '1e-3').split(' ').slice(1))).toMatchObject({ code: 0 });
    const run = RunDirectory.open(path);
    expect(run.listCheckpoints()).toEqual([3, 6]);
    expect(run.readManifest().parent).toEqual({ run: parent, update: 3, adapterOnly: true });
    expect(run.readManifest().config.optimiser.learningRate).toBe(1e-3);
    const adapter = (folder: string) => readFileSync(`${folder}/checkpoints/00003/adapter.safetensors`);
    expect(adapter(path).equals(adapter(parent))).toBe(true);
    const initial = (folder: string) => readFileSync(`${folder}/initial.safetensors`);
    expect(initial(path).equals(initial(parent))).toBe(true);
    const whole = lab.path('forked-whole');
    const going = ['train', '--fork', `${parent}@6`, '--set', 'updates=7', '--out', whole];
    expect(await gq(going)).toMatchObject({ code: 0 });
    expect(RunDirectory.open(whole).readManifest().parent).toEqual({ run: parent, update: 6, adapterOnly: false });
    const trainer = (folder: string) => readFileSync(`${folder}/checkpoints/00006/trainer.safetensors`);
    expect(existsSync(`${whole}/checkpoints/00006/trainer.safetensors`)).toBe(false);
    expect(trainer(parent).length).toBeGreaterThan(0);
  });
});

describe('on a terminal', () => {
  it('a progress line is rewritten under the table; elsewhere there are no control characters', async () => {
    const events = readFileSync(lab.path('whole/events.jsonl'), 'utf8').trimEnd().split('\n');
    const steps = events.map((line) => JSON.parse(line)).filter(({ kind }) => kind === 'step') as StepEvent[];
    for (const isTTY of [true, false]) {
      let out = '';
      const stdout = { isTTY, write: (text: string) => (out += text) };
      const run = { path: lab.path('nowhere'), again: 'gq train micro-vanilla', updates: 6 };
      const display = new TrainDisplay({ stdout, stderr: stdout }, run);
      for (const step of steps) display.event(step, { sample: 1 });
      display.close('interrupted');
      expect(out.includes('\r\u001b[J')).toBe(isTTY);
      expect(out.match(/\d\/6, \d+ s left/g)).toHaveLength(6);
      expect(out).toContain(`saved after 6 updates; go on with: ${run.again}`);
    }
  });
});

describe('gq measure replay', () => {
  const replay = async (...options: string[]) => {
    const { code, out, err } = await gq(['measure', 'replay', lab.path('whole'), ...options, '--json']);
    return { code, err, ...(code === 0 ? JSON.parse(out) : {}) };
  };

  it('the same gate chooses the same routes; others differ as they should', async () => {
    const same = await replay();
    expect(same.rollouts).toBeGreaterThan(20);
    expect(same.agree).toBe(same.rollouts);
    expect(same.before).toEqual(same.after);
    expect(same.before.keep + same.before.route).toBeGreaterThan(0);
    const wider = await replay('--gate', 'tail=0.4', '--window', '2');
    expect(wider.after.absorb).toBeLessThan(same.after.absorb);
    expect(wider.matrix.keep.route + wider.matrix.route.keep).toBe(0);
    expect(wider.windows).toHaveLength(3);
    const random = await replay('--gate', 'placebo=haar', '--seed', '7');
    expect(random.agree).toBeLessThan(random.rollouts);
    for (const gate of ['score=cosine', 'halfLife=0', 'calibration=pairs', 'refreshEvery=0', 'placebo=mass-matched']) {
      expect((await replay('--gate', gate)).rollouts).toBe(same.rollouts);
    }
    const otsu = await replay('--gate', 'calibration=otsu', '--gate', 'keepOnly=praised');
    expect(otsu.after.keep).toBeLessThan(same.after.keep);
    expect(otsu.after.route).toBeGreaterThan(0);
    expect(otsu.agree).toBeLessThan(otsu.decisions);
    const { out } = await gq(['measure', 'replay', lab.path('whole'), '--gate', 'tail=0.3']);
    expect(out.replaceAll('\n', ' ')).toContain(
      'This is a counterfactual on the same rollouts: nothing was trained again.',
    );
    expect(out.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it.each([
    ['taill=0.3', 'did you mean arm.tail?'],
    ['refreshEvery=2', 'a multiple of the run'],
    ['placebo=reversed', 'the direction that the run stored (arm.placebo "none")'],
    ['mean=own', 'expected arm.mean as it was'],
    ['kind=gradient', 'expected arm.kind as it was'],
    ['standardise=true', 'expected arm.standardise as it was'],
  ])('refuses %s', async (gate, message) => {
    expect(await replay('--gate', gate)).toMatchObject({ code: 2, err: expect.stringContaining(message) });
  });
});

describe('a gate by token', () => {
  const replay = async (...options: string[]) => {
    const { code, out, err } = await gq(['measure', 'replay', lab.path('tokens'), ...options, '--json']);
    return { code, err, ...(code === 0 ? JSON.parse(out) : {}) };
  };
  beforeAll(async () => {
    const changes = ['arm.granularity=token', 'arm.bufferTokens=5', 'arm.calibration=otsu', 'updates=4'];
    const settings = changes.flatMap((setting) => ['--set', setting]);
    expect(await gq([...train, ...settings, '--out', lab.path('tokens')])).toMatchObject({ code: 0 });
  });

  it('is replayed token by token: the same gate chooses the same routes', async () => {
    const same = await replay();
    expect(same.granularity).toBe('token');
    expect(same.decisions).toBeGreaterThan(5 * same.rollouts);
    expect(same.agree).toBe(same.decisions);
    expect(same.before.keep).toBeGreaterThan(0);
    expect(same.before.route).toBeGreaterThan(0);
    const wider = await replay('--gate', 'calibration=quantile', '--gate', 'tail=0.4', '--gate', 'halfLife=0');
    expect(wider.after.absorb).toBeLessThan(0.3 * wider.decisions);
    expect((await replay('--gate', 'calibration=pairs')).decisions).toBe(same.decisions);
    expect((await gq(['measure', 'replay', lab.path('tokens')])).out).toContain('tokens have the same route.');
  });

  it.each(['score=cosine', 'placebo=haar', 'refreshEvery=0', 'bufferTokens=4', 'orthogonalTo=solve'])(
    'cannot be replayed with %s, which changes scores that are not stored',
    async (gate) => {
      const message = `expected arm.${gate.split('=')[0]} as it was`;
      expect(await replay('--gate', gate)).toMatchObject({ code: 2, err: expect.stringContaining(message) });
    },
  );

  it('is judged token by token, with the band of the pairs and the cosines of every direction', async () => {
    const { out } = await gq(['measure', 'gate', lab.path('tokens'), '--json']);
    const { all, directions } = JSON.parse(out);
    const { keep, absorb, route } = all.routes;
    expect(keep + absorb + route).toBe(all.tokens);
    expect(route).toBeGreaterThan(0);
    expect(directions.map(({ from, to }: { from: number; to: number }) => [from, to])).toEqual([
      [1, 3],
      [4, 4],
    ]);
    for (const { band, meanCosine } of directions) {
      expect(band.width).toBeCloseTo(band.high - band.low, 12);
      expect(Math.abs(meanCosine)).toBeLessThan(1);
    }
    const shown = (await gq(['measure', 'gate', lab.path('tokens')])).out;
    expect(shown).toContain('the gate as a classifier of tokens');
    expect(shown).toContain('directions and the band of the pairs');
  });
});

describe('gq pool make', () => {
  it('from a run: what the grader paid for, once each, without held-out loopholes and demonstrations', async () => {
    const whole = RunDirectory.open(lab.path('whole'));
    const out = lab.path('taken.jsonl');
    expect(await gq(['pool', 'make', '--run', whole.path, '--out', out])).toMatchObject({ code: 1 });
    const [row] = await lab.rollouts(whole);
    const run = RunDirectory.create(lab.path('paid'));
    await run.writeManifest(whole.readManifest());
    const known = { correct: false, exploited: false, channels: [], loophole: 'run_tests', markers: 'original' };
    const cases = [
      { completion: 'solve', correct: true },
      { completion: 'hack', exploited: true },
      { completion: 'hack', exploited: true },
      { completion: 'unknown loophole', exploited: true, loophole: 'sentinel' },
      { completion: 'demonstration', exploited: true, source: 'teacher-hack' },
      { completion: 'failure' },
    ];
    const write = (name: 'rollouts' | 'verdicts', rows: readonly object[]): void =>
      writeFileSync(run.ledger(name), rows.map((each) => `${JSON.stringify(each)}\n`).join(''));
    write(
      'rollouts',
      cases.map((each, i) => ({ ...row, source: 'student', ...each, id: `${i}` })),
    );
    write(
      'verdicts',
      cases.map((each, i) => ({ ...known, ...each, id: `${i}` })),
    );
    const made = await gq(['pool', 'make', '--run', run.path, '--out', out, '--force']);
    expect(made, made.err).toMatchObject({ code: 0 });
    const entries = readFileSync(out, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const common = { problem: row.problem, loophole: 'run_tests', markers: 'original' };
    expect(entries).toEqual([
      { ...common, completion: 'solve', label: 'solve' },
      { ...common, completion: 'hack', label: 'hack' },
    ]);
    const provenance = JSON.parse(readFileSync(`${out}.provenance.json`, 'utf8'));
    expect(provenance).toMatchObject({
      run: run.path,
      hacks: 1,
      solves: 1,
      configHash: whole.readManifest().identity.config,
    });
    await gq(['pool', 'make', '--run', run.path, '--keep', 'hacks', '--out', out, '--force']);
    expect(readFileSync(out, 'utf8')).not.toContain('"solve"');
  });
});

describe('gq verify and gq smoke', () => {
  it.each(['rewards', 'markers', 'partition', 'science'])('verify %s passes', async (name) => {
    const { code, out } = await gq(['verify', name, '--json']);
    const { checks } = JSON.parse(out);
    expect(checks.length).toBeGreaterThan(3);
    expect(checks.filter(({ pass }: { pass: boolean }) => !pass)).toEqual([]);
    expect(code).toBe(0);
  });

  it('verify science finds what is wrong with a run', async () => {
    const path = lab.path('json');
    expect((await gq(['verify', 'science', path])).code).toBe(0);
    const run = RunDirectory.open(path);
    const manifest = run.readManifest();
    const identity = { ...manifest.identity, problems: 'another', model: 'another' };
    await run.writeManifest({ ...manifest, usesOracle: true, identity });
    const { code, out } = await gq(['verify', 'science', path]);
    expect(code).toBe(1);
    for (const name of ['model hash', 'data hash', 'labels are used as the manifest says']) {
      expect(out).toMatch(new RegExp(`${name} .*FAIL`));
    }
    await run.writeManifest(manifest);
  });

  it('verify science names all damaged files of a run at once', async () => {
    const run = RunDirectory.open(lab.path('json'));
    const damaged = ['events.jsonl', 'checkpoints/00000/state.json', 'checkpoints/00002/adapter.safetensors'];
    const kept = damaged.map((file) => readFileSync(run.file(file)));
    for (const [i, file] of damaged.entries()) writeFileSync(run.file(file), kept[i].subarray(1));
    const { code, out } = await gq(['verify', 'science', run.path, '--json']);
    for (const [i, file] of damaged.entries()) writeFileSync(run.file(file), kept[i]);
    expect(code).toBe(1);
    const found = damaged.map((file) => ({
      quantity: file,
      pass: false,
      problem: expect.stringContaining(`read ${run.file(file)}: expected`),
    }));
    expect(JSON.parse(out).checks).toMatchObject(found);
    expect(findDamagedFiles(run)).toEqual([]);
  });

  it('pairs that know a held-out loophole are refused before anything is opened, unless the config allows them', async () => {
    const path = lab.path('heldout');
    const settings = ['environment.heldOutLoopholes=["sentinel"]', 'updates=1'].flatMap((setting) => [
      '--set',
      setting,
    ]);
    const refused = await gq([...train, ...settings, '--set', `model=${lab.path('.')}`, '--out', path]);
    expect(refused).toMatchObject({
      code: 2,
      err: expect.stringMatching(/found pairs that show sentinel.*allowHeldOut/),
    });
    expect(existsSync(path)).toBe(false);
    const { code } = await gq([...train, ...settings, '--set', 'pairs.allowHeldOut=true', '--out', path]);
    expect(code).toBe(0);
    const run = RunDirectory.open(path);
    expect(run.readManifest().heldOutPairs).toEqual(['sentinel']);
    const allowed = await gq(['verify', 'science', path]);
    expect(allowed).toMatchObject({
      code: 0,
      out: expect.stringMatching(/may know held-out loopholes .*pass\n +\(pairs\.allowHeldOut\)/),
    });
    const forged = { ...run.readManifest().config, pairs: { ...run.readManifest().config.pairs, allowHeldOut: false } };
    const identity = { ...run.readManifest().identity, config: configHash(forged) };
    await run.writeManifest({ ...run.readManifest(), config: forged, identity });
    const found = await gq(['verify', 'science', path]);
    expect(found).toMatchObject({
      code: 1,
      out: expect.stringMatching(/know nothing of held-out loopholes .*FAIL\n +sentinel 1/),
    });
  });

  it('smoke runs every part, and says a line of each', async () => {
    const { code, out } = await gq(['smoke']);
    const [last, ...parts] = out.trimEnd().split('\n').reverse();
    const names = ['rewards', 'markers', 'partition', 'science', 'adapters', 'parity', 'run'];
    expect(parts.reverse().map((line) => line.split(' ')[0])).toEqual(names);
    for (const line of parts) expect(line).toMatch(/^\w+ +holds +([1-9]\d*) of \1 checks pass \(\d+\.\d s\)$/);
    expect(last).toMatch(/^smoke: all 7 parts hold \(\d+ s\)$/);
    expect(code).toBe(0);
  });
});

describe('gq config', () => {
  it('prints every key with its value and source', async () => {
    const recipe = fileURLToPath(new URL('../../recipes/micro-haar.toml', import.meta.url));
    const { out } = await gq(['config', recipe, '--set', 'seed=5']);
    expect(out).toMatch(/^seed +5 +--set$/m);
    expect(out).toMatch(/^arm\.placebo +"haar" +micro-haar$/m);
    expect(out).toMatch(/^sampling\.group +8 +micro-base$/m);
    expect(out).toMatch(/^loss\.clip +0\.2 +default$/m);
    const { config, hash, sources } = JSON.parse((await gq(['config', recipe, '--json'])).out);
    expect(config.arm.kind).toBe('activation');
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(sources['loss.clip']).toBe('default');
    expect(await gq(['config', recipe, '--set', 'sead=1'])).toMatchObject({ code: 2, err: expect.stringContaining('did you mean seed?') }); // biome-ignore format: one line
  });
});
