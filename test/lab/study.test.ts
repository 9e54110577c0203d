/** A study of two experiments through the command: planned, decided by its first step, done in order, resumed, and refused where something is wrong. */
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { RunDirectory } from '../../src/run/index.ts';
import { checkStudy, planStudy, readStudy } from '../../src/study/steps.ts';
import { gq } from '../run-gq.ts';
import { tinyModel, tinySettings } from '../smoke/lab.ts';
import { temporaryFolder } from './hand-made.ts';

const home = temporaryFolder();
const out = join(home, 'runs');
const evaluation = '[evaluation]\ncurveEvery = 0\nlimit = 2\nsets = ["test-original"]\n';
const armOf = (name: string) => `[[arms]]\nname = "${name}"\nrecipe = "${resolve('recipes', `micro-${name}.toml`)}"\n`;

/** Its bar is met by every policy, or by none that was trained for two updates. */
function writeFirst(name: string, atLeast: number): void {
  const bar = `[bar]\nwhat = "Vanilla attempts."\narm = "vanilla"\nmetric = "attempt"\natLeast = ${atLeast}\ninSeeds = 1\n`;
  writeFileSync(join(home, `${name}.toml`), `name = "${name}"\nseeds = [1]\n${bar}${evaluation}${armOf('vanilla')}`);
}

function writeStudy(name: string, ...steps: readonly string[]): string {
  const path = join(home, `${name}.toml`);
  writeFileSync(path, `name = "${name}"\nset = ["updates=2"]\n${steps.join('')}`);
  return path;
}

const assumed = 'assumed = { updateSeconds = 60, more = { "arm.kind=absorb" = 15, "arm.kind=absorb updates=3" = 99 }, evaluationSeconds = 30 }\n'; // biome-ignore format: one line
const advice = 'advice = "Show it hacks first: gq demo."\n';
const step = (experiment: string, more = '') => `[[steps]]\nexperiment = "${experiment}.toml"\n${more}`;
const settings = [`model=${await tinyModel()}`, ...tinySettings, 'device.variant=plain', 'device.arenaMiB=256'];
const words = settings.flatMap((setting) => ['--set', setting]);
const study = (path: string, ...more: readonly string[]) => gq('experiment', path, ...words, ...(more.includes('--out') ? [] : ['--out', out]), ...more); // biome-ignore format: one line
const foldersOf = (name: string): string[] => readdirSync(join(out, name)).filter((each) => each.endsWith('-1'));

let path: string;
beforeAll(() => {
  vi.stubEnv('GQ_STATE', join(home, 'state'));
  writeFirst('first', 0.9);
  writeFileSync(
    join(home, 'second.toml'),
    `name = "second"\nseeds = [1]\nbaseline = "vanilla"\nplacebo = "vanilla"\n${evaluation}${armOf('vanilla')}${armOf('absorb')}`,
  );
  writeFileSync(
    join(home, 'small.toml'),
    `name = "small"\nseeds = [1]\nset = ["updates=2"]\nbaseline = "absorb"\nplacebo = "absorb"\n${evaluation}${armOf('absorb')}`,
  );
  path = writeStudy('two', step('first', `${advice}${assumed}`), step('second', assumed));
});

describe('a study', () => {
  it('says before it begins what it has, how long it will take and how much disk, a shared run once', async () => {
    const { code, out: text, err } = await study(path, '--dry-run');
    // What takes long, as all does on a busy machine, says what it is at, and nothing else.
    const others = err.split('\n').filter((line) => !/^(?:plans|checks) \S/.test(line));
    expect({ code, others }).toEqual({ code: 0, others: [''] });
    expect(text).toMatch(/^inputs {3}.*; problems: \d+ train, \d+ validation, \d+ test\nseals {4}0 finished runs/);
    // Two updates, and an evaluation of the base and of each state: 2 for vanilla, 3 for absorb, whose updates take 15 s more.
    expect(text).toMatch(
      /first\nruns {5}1 of 1 left, 2 updates and 2 evaluations; 1 at a time\ntime {5}about 3 min 00 s; assumed of 1 arm not/,
    );
    expect(text).toMatch(/second\nruns {5}1 of 1 left, 2 updates and 3 evaluations; .*\ntime {5}about 4 min 00 s/);
    expect(text).toMatch(
      /the whole study\nruns {5}2 of 2 left, 4 updates and 5 evaluations; .*\ntime {5}about 7 min 00 s; assumed of 2 arms not/,
    );
    expect(existsSync(out)).toBe(false);
  });

  it('has hours for the plan of a step by itself, too', async () => {
    const { out: text } = await study(
      join(home, 'second.toml'),
      '--set',
      'updates=2',
      '--dry-run',
      '--out',
      join(home, 'alone'),
    );
    expect(text).toContain('time     about 7 min 00 s; assumed of 2 arms not measured here');
  });

  it('checks what its steps have in common once', async () => {
    const found = readStudy(path);
    if (found === null) throw new Error('no study');
    const steps = await planStudy(found, out, { set: settings });
    const told: string[] = [];
    const lines = await checkStudy(steps, (what) => told.push(what));
    expect(told).toEqual(['checks the problems and the prompts of first, arm vanilla']);
    expect(lines).toHaveLength(2);
  });

  it('ends with advice where the step that decides says no, whose commands begin as others that are printed', async () => {
    vi.stubEnv('GQ_NAME', 'npx gq');
    const { code, out: text } = await study(path);
    vi.stubEnv('GQ_NAME', undefined);
    expect(code).toBe(1);
    expect(text).toMatch(
      /The study ends here: "Vanilla attempts\." is refuted, .*\nShow it hacks first: npx gq demo\.\n$/,
    );
    expect(readdirSync(out)).toEqual(['first']);
  });

  it('ends likewise where seeds that are left out could still decide', async () => {
    writeFirst('unsure', 0.9);
    const file = join(home, 'unsure.toml');
    writeFileSync(file, readFileSync(file, 'utf8').replace('seeds = [1]', 'seeds = [1, 2]'));
    const call = [writeStudy('five', step('unsure', advice), step('second')), '--seeds', '1', '--out', join(home, 'unsure')] as const; // biome-ignore format: one line
    const { code, out: text } = await study(...call);
    expect({ code, text }).toMatchObject({ code: 1, text: expect.stringContaining('"Vanilla attempts." is open, ') });
    expect(readdirSync(join(home, 'unsure'))).toEqual(['unsure']);
  });

  it('plans what is left of a run that lacks an evaluation, and knows the shape of a run that an earlier process trained', async () => {
    vi.stubEnv('GQ_STATE', join(home, 'fresh-state'));
    const evaluations = join(out, 'first', 'vanilla-1', 'evaluations');
    rmSync(join(evaluations, readdirSync(evaluations).sort()[0]), { recursive: true });
    const first = (...more: string[]) => study(join(home, 'first.toml'), '--set', 'updates=2', '--out', ...more);
    const left = (await first(join(out, 'first'), '--dry-run')).out;
    expect(left).toMatch(/^runs {5}1 of 1 left, 0 updates and 1 evaluation; .*\ntime {5}about 30 s; assumed/m);
    expect((await first(join(out, 'first'))).code).toBe(0);
    expect((await first(join(home, 'elsewhere'), '--dry-run')).out).toMatch(
      /^time .*, as runs of the same shape took/m,
    );
    vi.stubEnv('GQ_STATE', join(home, 'state'));
  });

  it('goes on where it is told to, with the runs of the steps before, and is resumed as a whole', async () => {
    const { code, err, out: text } = await study(path, '--regardless');
    expect({ code, err }).toMatchObject({ code: 0 });
    expect(text).toContain('The study goes on regardless: "Vanilla attempts." is refuted');
    expect(text).not.toContain('ends here');
    expect(err).toContain(`vanilla-1 is ${join(out, 'first', 'vanilla-1')}: not trained again`);
    expect(text).toContain(`see: gq results ${join(out, 'second')}\n`);
    expect(foldersOf('second')).toEqual(['absorb-1']);
    const seal = join(out, 'second', 'absorb-1', 'seal.json');
    const { mtimeMs } = statSync(seal);
    const again = await study(path, '--regardless');
    expect(again.code).toBe(0);
    expect(again.out).toContain('runs     0 of 2 left');
    expect(statSync(seal).mtimeMs).toBe(mtimeMs);
    const results = await gq('results', join(out, 'second'), '--all');
    expect(results.out).toMatch(/absorb − vanilla/);
    // A call that is broken into lines cannot be copied.
    expect(results.out).toMatch(/ needs 6\s+or more:\n {2}gq experiment .* --set device\.variant=plain .*=256\b.*\n/);
    const steps = ['first', 'second'].map((name) => join(out, name));
    const named = `found a folder of experiments. Name one of them: ${steps.join(', ')}`;
    expect(await gq('results', out)).toMatchObject({ code: 2, err: expect.stringContaining(named) });
    // The bar of the first step is refuted; the second predicts nothing.
    const claims = await gq('claim', out);
    expect(claims).toMatchObject({ code: 1, err: '' });
    expect(claims.out).toMatch(
      new RegExp(
        `^predictions by step\n.*\n.*\nfirst +0 +0 +1\nsecond +0 +0 +0\nall +0 +0 +1\n[^]*\n\n${steps[0]}\nclaim [^]*refuted[^]*\n\n${steps[1]}\nNo claim is registered`,
      ),
    );
    // A column in which no row has anything takes room, and in a long table a second table.
    expect(claims.out).toMatch(/\narm +stated +begun +ended +not begun\n.*None: stopped, gone, not stated\.\n/s);
    const { steps: told } = JSON.parse((await gq('claim', out, '--json')).out);
    expect(told.map(({ name }: { name: string }) => name)).toEqual(['first', 'second']);
  });

  it('goes on by itself where the bar of the step that decides is met', async () => {
    writeFirst('met', 0.000_001);
    // No attempt is at most 0.9 of the prompts: a bar from above is met.
    const text = readFileSync(join(home, 'met.toml'), 'utf8').replace(/atLeast = .*/, 'atMost = 0.9');
    writeFileSync(join(home, 'met.toml'), text);
    const { code, out: said } = await study(writeStudy('three', step('met', advice), step('second')));
    expect({ code, said }).toMatchObject({ code: 0, said: expect.not.stringContaining('ends here') });
  });

  it('that is done is held against its files: another config is refused, another bar decides and is marked', async () => {
    writeFirst('kept', 0.9);
    const file = join(home, 'kept.toml');
    const own = [writeStudy('four', step('kept', advice), step('small')), '--out', join(home, 'kept-out')] as const;
    expect(await study(...own)).toMatchObject({ code: 1, out: expect.stringContaining('is refuted') });
    const before = readFileSync(file, 'utf8');
    writeFileSync(file, `${before}set = ["loss.klWeight=0.5"]\n`);
    const refused = await study(...own);
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('others at loss.klWeight') });
    // Not the step that was begun by itself, inside the folder of the study.
    expect(refused.err).toMatch(
      / do the study in a folder of its own: gq experiment \S*four\.toml --set .*kept-out-2\s*$/,
    );
    writeFileSync(file, before.replace(/atLeast = .*/, 'atMost = 0.9'));
    expect(await study(...own)).toMatchObject({ code: 0, out: expect.not.stringContaining('ends here') });
    const { out: said } = await gq('claim', join(home, 'kept-out', 'kept'));
    expect(said).toContain('changed after its first run');
  });

  it('ends after a step with a failed run, and goes on with the next where it is told to', async () => {
    const unable = 'set = ["arm.kind=gradient", "arm.generatedPairs=true", "pairs.leastGenerated=24"]\n';
    writeFileSync(
      join(home, 'failing.toml'),
      `name = "failing"\nseeds = [1]\nbaseline = "absorb"\nplacebo = "absorb"\n${evaluation}${armOf('absorb')}${armOf('activation')}${unable}`,
    );
    const own = ['--out', join(home, 'others')];
    const call = (...more: string[]) => study(writeStudy('four', step('failing'), step('second')), ...own, ...more);
    const ended = await call();
    expect(ended).toMatchObject({ code: 1, err: expect.stringMatching(/activation-1 failed: generate pairs/) });
    // What has one line is said once.
    expect(ended.err.match(/: generate pairs/g)).toHaveLength(1);
    expect(ended.err).toContain('activation-1 failed, as said above');
    expect(readdirSync(join(home, 'others'))).toEqual(['failing']);
    const failing = join(home, 'others', 'failing');
    const why = /failed: generate pairs\b.*: expected/;
    const runs = await gq('runs', failing);
    expect(runs.out).toMatch(/^ +activation-1 +activation +failed +0\/0/m);
    expect(runs.out.replaceAll(/\s+/g, ' ')).toMatch(why);
    const results = await gq('results', failing);
    expect(results.err).toMatch(new RegExp(`^failed: ${join(failing, 'activation-1')}: generate pairs`, 'm'));
    expect(results.err).not.toContain('not started');
    expect(results.out.replaceAll(/\s+/g, ' ')).toMatch(/Failed: activation-1 \(generate pairs\b.*\)\./);
    const { code, out: said } = await call('--regardless');
    expect({ code, said }).toMatchObject({
      code: 1,
      said: expect.stringContaining('The study goes on regardless: runs of failing failed'),
    });
    expect(existsSync(join(home, 'others', 'second', 'vanilla-1', 'seal.json'))).toBe(true);
  });

  it('waits for a run that another process trains, also where it goes on regardless', async () => {
    const held = RunDirectory.create(join(home, 'held', 'small', 'absorb-1'));
    using _lock = held.lock();
    const call = [writeStudy('six', step('small'), step('second')), '--regardless', '--out', join(home, 'held')] as const; // biome-ignore format: one line
    const { code, out: text } = await study(...call);
    expect({ code, text }).toMatchObject({ code: 75, text: expect.stringContaining('other processes are at work') });
    expect(existsSync(join(home, 'held', 'second'))).toBe(false);
  });

  it('is refused only where the next step does not fit on the disk, and says first how many steps do', async () => {
    const many = 'set = ["updates=1000000", "output.checkpointEvery=1", "output.keepState=all"]\n';
    const seeds = Array.from({ length: 50 }, (_, i) => i).join();
    const large = `name = "large"\nseeds = [${seeds}]\nbaseline = "absorb"\nplacebo = "absorb"\n${many}${evaluation}${armOf('absorb')}`;
    writeFileSync(join(home, 'large.toml'), large);
    const call = (name: string, dry: readonly string[], ...steps: string[]) => {
      const file = writeStudy(name, ...steps);
      writeFileSync(file, readFileSync(file, 'utf8').replace(/^set = .*\n/m, ''));
      const own = words.filter((word) => word !== '--set' && !word.startsWith('updates='));
      return gq('experiment', file, ...own.flatMap((word) => ['--set', word]), '--out', join(home, name), ...dry);
    };
    const plain = (name: string, ...steps: string[]) => call(name, ['--dry-run'], ...steps);
    const later = await plain('later', step('first'), step('large'));
    expect(later, later.err).toMatchObject({ code: 0 });
    const said = 'disk     too little for the whole study: it holds the first 1 of 2 steps';
    expect(later.out.startsWith(`${said}\ninputs `)).toBe(true);
    expect(later.out.endsWith(`${said}\n`)).toBe(true);
    const first = await plain('at-once', step('large'), step('first'));
    expect(first.out).toContain('it holds not even the first of 2 steps');
    expect(first).toMatchObject({
      code: 2,
      err: expect.stringMatching(/at-once\/large: expected .* of room on its disk/),
    });
    const next = { code: 2, err: expect.stringMatching(/after\/large: expected .* of room on its disk/) };
    expect(await call('after', [], step('small'), step('large'))).toMatchObject(next);
    expect(existsSync(join(home, 'after', 'small', 'absorb-1', 'seal.json'))).toBe(true);
    // The next is the one that has runs left, not the first.
    expect(await plain('after', step('small'), step('large'))).toMatchObject(next);
  });

  it('refuses finished runs whose files were changed', async () => {
    appendFileSync(join(out, 'first', 'vanilla-1', 'rollouts.parquet'), '\n');
    const { code, err } = await study(path, '--dry-run');
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('rollouts.parquet') });
  });

  it.each([
    ['an unknown key', step('first', 'first = true\n'), [], /steps\.0: Unrecognized key/],
    ['advice of an experiment without a bar', step('second', advice), [], /only where the experiment has a bar/],
    [
      'one experiment twice',
      `${step('first')}${step('first')}`,
      [],
      /experiments of different names, found first twice/,
    ],
    [
      'arms of one experiment',
      step('first'),
      ['--arms', 'vanilla'],
      /--arms: expected no such option of a study, found one\. A step by itself takes it: gq experiment \S*first\.toml --arms …/,
    ],
  ])('refuses %s', async (_, steps, more, message) => {
    const { code, err } = await study(writeStudy('wrong', steps), ...more);
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringMatching(message) });
  });

  it('of the package names its first step to whoever asks for some arms, as gq was typed', async () => {
    vi.stubEnv('GQ_NAME', 'npx gq');
    const { code, err } = await gq('experiment', 'qwen3-4b-study', '--arms', 'vanilla');
    vi.stubEnv('GQ_NAME', undefined);
    expect({ code, err }).toMatchObject({
      code: 2,
      err: expect.stringContaining('takes it: npx gq experiment qwen3-4b-first --arms …'),
    });
  });

  it('is no experiment and no recipe, and says so where one of them is meant; its seeds differ', async () => {
    const { code, err } = await gq('train', path);
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('found a study of several') });
    const twice = await gq('experiment', path, '--seeds', '1,1');
    expect(twice).toMatchObject({ code: 2, err: expect.stringContaining('expected different seeds, found 1 twice') });
  });

  it('is what --regardless is for, and nothing else', async () => {
    const { code, err } = await study(join(home, 'second.toml'), '--regardless');
    expect({ code, err }).toMatchObject({
      code: 2,
      err: expect.stringContaining('--regardless: expected no such option'),
    });
  });
});
