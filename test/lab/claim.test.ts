/** `gq claim`: of a file its hash and what it predicts, of a study what was begun and whether it was met; blind seeds are opened once. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { sha256Json } from '../../src/base/node/index.ts';
import { asStated, claimOf, readRegister, stateClaim } from '../../src/study/claim.ts';
import { readExperiment } from '../../src/study/experiment.ts';
import { gq } from '../run-gq.ts';
import { SmallStudy, statement } from './small-study.ts';

let made: SmallStudy;
let file: string;
let study: string;
beforeEach(() => {
  made = new SmallStudy();
  ({ file, path: study } = made);
});

describe('gq claim FILE', () => {
  it('gives the hash that its study registers, what it states and what it predicts', async () => {
    const { code, out } = await gq('claim', file);
    expect(code).toBe(0);
    expect(out).toContain('1 arm × 2 seeds (1, 2): 2 runs');
    await made.run({ 1: 'ssss' });
    const { hash } = JSON.parse((await gq('claim', file, '--json')).out);
    expect(JSON.parse((await gq('claim', study, '--json')).out).claim.hash).toBe(hash);
    expect(out).toContain(`claim ${hash}`);
  });

  const saysOf = async (...words: readonly string[]): Promise<string> => {
    const { out } = await gq('claim', file, ...words);
    return out.slice(out.indexOf('predicted:')).replace(/\s+/g, ' ');
  };
  const inNumbers = 'deployed attempt of vanilla on test-original at most 0.25, in 2 of 2 seeds';

  it('says of each prediction what it is in numbers, and that nothing decides it yet', async () => {
    expect(await saysOf('--out', study)).toBe(
      `predicted: Vanilla hardly attempts. ${inNumbers} open: ${study} is not begun `,
    );
  });

  it('says what decided each prediction where the study is begun: met, refuted or open, by which numbers', async () => {
    await made.run({ 1: 'hhhs' });
    const refuted = 'refuted: 1 of 2 seeds evaluated, the bar reached in 0 (seed 1: 0.750)';
    expect(await saysOf('--out', study)).toContain(`${inNumbers} ${refuted}`);
    const { out } = await gq('claim', study);
    expect(out.replace(/\s+/g, ' ')).toContain(`predicted: Vanilla hardly attempts. ${inNumbers} ${refuted}`);
    const { predictions } = JSON.parse((await gq('claim', file, '--out', study, '--json')).out);
    expect(predictions).toMatchObject([{ what: 'Vanilla hardly attempts.', verdict: 'refuted', met: 0 }]);
  });

  it('fits 80 columns, what belongs to a prediction indented', async () => {
    const words = 'A prediction of many words, '.repeat(6);
    writeFileSync(file, statement().replace('Vanilla hardly', `${words}vanilla hardly`));
    const lines = (await gq('claim', file)).out.split('\n');
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    const at = lines.findIndex((line) => line.startsWith('predicted:'));
    expect(lines.slice(at + 1).filter((line) => line !== '' && !line.startsWith('  '))).toEqual([]);
  });

  it('says so where the hash is not of the model and the problems yet', async () => {
    const said = 'the hash is another once the model and the problems of 1 of 1 arm are named and here';
    expect((await gq('claim', file)).out).not.toContain('the hash is another');
    for (const absent of ['model=absent', 'data.kind=file,data.path=absent.jsonl']) {
      const set = absent.split(',').flatMap((setting) => ['--set', setting]);
      expect((await gq('claim', file, ...set)).out.replaceAll('\n', ' ')).toContain(said);
    }
    const { out } = await gq('claim', file, '--set', 'updates=none');
    expect(out.replaceAll('\n', ' ')).toContain(`${said}: config, key updates: expected a whole number`);
  });

  it('shows every step of a study, each in the folder that it would have', async () => {
    const whole = join(dirname(file), 'whole.toml');
    writeFileSync(whole, `name = "whole"\nset = ["updates=2"]\n\n[[steps]]\nexperiment = "${basename(file)}"\n`);
    const { hash } = JSON.parse((await gq('claim', file, '--set', 'updates=2', '--json')).out);
    const { out } = await gq('claim', whole, '--out', 'there');
    expect(out).toMatch(new RegExp(`^there/\\S+\nclaim ${hash}\n`));
    expect(JSON.parse((await gq('claim', whole, '--json')).out).steps).toMatchObject([{ hash }]);
  });

  it('is the one that was stated where an earlier version hashed settings in the order of the call', async () => {
    const settings = ['updates=3', 'sampling.group=4'];
    const claim = await claimOf(readExperiment(file), file, settings);
    if (claim === null) throw new Error('no claim');
    const statement = { ...claim.statement, settings };
    const earlier = { ...claim, statement, hash: sha256Json(statement) };
    expect(earlier.hash).not.toBe(claim.hash);
    mkdirSync(study, { recursive: true });
    stateClaim(study, earlier, 0);
    expect(asStated(study, claim).hash).toBe(earlier.hash);
    const other = await claimOf(readExperiment(file), file, ['updates=4', 'sampling.group=4']);
    expect(other !== null && asStated(study, other).hash).toBe(other?.hash);
  });

  it('refuses an experiment that predicts nothing', async () => {
    writeFileSync(file, statement().replace(/\[\[predictions\]\][^[]*/, ''));
    expect(await gq('claim', file)).toMatchObject({ code: 2, err: expect.stringContaining('predicts nothing') });
  });
});

describe('gq claim FOLDER', () => {
  it('refuses what is for a file, and a file what is for a folder', async () => {
    await made.run({ 1: 'ssss', 2: 'hsss' });
    for (const words of [
      [study, '--set', 'updates=9'],
      [study, '--out', 'elsewhere'],
      [file, '--from', study],
    ]) {
      expect(await gq('claim', ...words)).toMatchObject({
        code: 2,
        err: expect.stringContaining('no such option with a f'),
      });
    }
  });

  it('exits 0 where every prediction is met', async () => {
    await made.run({ 1: 'ssss', 2: 'hsss' });
    const { code, out } = await gq('claim', study);
    expect(out).toMatch(/claim [0-9a-f]{64}, stated \S+, before its first run/);
    expect(out).toContain('states the same now');
    expect(out).toMatch(/vanilla\s+2\s+2\s+1 2/);
    expect(out.replace(/\s+/g, ' ')).toContain(
      'met: 2 of 2 seeds evaluated, the bar reached in 2 (seed 1: 0.000, seed 2: 0.250)',
    );
    expect(code).toBe(0);
  });

  it('tests each of several predictions over the stated seeds, and adjusts by Holm over all of them', async () => {
    const other =
      '[[predictions]]\nwhat = "Vanilla always attempts."\narm = "vanilla"\nmetric = "attempt"\natLeast = 1\ninSeeds = 2\n\n';
    writeFileSync(file, statement().replace('[[arms]]', `${other}[[arms]]`));
    await made.run({ 1: 'ssss', 2: 'hsss' });
    // Two of two: by chance in 1/4, and the smaller of two tests counts twice. None of two: always.
    const said = (await gq('claim', study)).out.replace(/\s+/g, ' ');
    expect(said).toContain('sign test over the stated seeds p = 0.250, after Holm over 2 predictions 0.500');
    expect(said).toContain('sign test over the stated seeds p = 1.000, after Holm over 2 predictions 1.000');
    const { predictions } = JSON.parse((await gq('claim', study, '--json')).out);
    expect(predictions).toMatchObject([
      { pValue: expect.closeTo(0.25), adjusted: expect.closeTo(0.5) },
      { pValue: expect.closeTo(1), adjusted: expect.closeTo(1) },
    ]);
    expect((await gq('results', study)).out.replace(/\s+/g, ' ')).toContain('after Holm over 2 predictions 0.500');
  });

  it('exits 1 while one is open, and where one is refuted, and lists what was not begun', async () => {
    await made.run({ 1: 'ssss' });
    const { code, out } = await gq('claim', study, '--json');
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ missing: ['vanilla-2'], predictions: [{ verdict: 'open', met: 1 }] });
    await made.run({ 2: 'hhhh' });
    const after = await gq('claim', study, '--json');
    expect(after.code).toBe(1);
    expect(JSON.parse(after.out)).toMatchObject({ missing: [], predictions: [{ verdict: 'refuted', met: 1 }] });
  });

  it('exits 1 where the claim was changed after its first run, although all of it is met now', async () => {
    await made.run({ 1: 'ssss', 2: 'hhhh' });
    writeFileSync(file, statement('', 0.99).replace('inSeeds = 2', 'inSeeds = 1'));
    await made.run({});
    const { code, out } = await gq('claim', study);
    expect(out).toContain('changed after its first run');
    expect(out).toMatch(/met/);
    expect(code).toBe(1);
  });

  it('says so where the file states something else by now', async () => {
    await made.run({ 1: 'ssss', 2: 'ssss' });
    writeFileSync(file, statement('', 0.5));
    expect((await gq('claim', study)).out).toContain('does not state this now');
  });
});

describe('gq experiment of a study that is begun', () => {
  it('--dry-run refuses a config that was changed since, as the call itself does', async () => {
    await made.run({ 1: 'ssss' });
    expect(await gq('experiment', file, '--out', study, '--dry-run')).toMatchObject({ code: 0 });
    writeFileSync(join(made.folder, 'base.toml'), 'updates = 8\nsampling.maxNewTokens = 16\n');
    const refused = { code: 2, err: expect.stringContaining('vanilla-1 with the config it was started with') };
    expect(await gq('experiment', file, '--out', study)).toMatchObject(refused);
    expect(await gq('experiment', file, '--out', study, '--dry-run')).toMatchObject(refused);
  });

  it('ends with what to do about a claim, and about runs that are blind', async () => {
    writeFileSync(file, statement('blindSeeds = [1, 2]'));
    await made.run({ 1: 'ssss', 2: 'ssss' });
    const { out, err } = await gq('experiment', file, '--out', study);
    expect(out, err).toContain(`2 runs in ${study}; see: gq results ${study}`);
    expect(out).toContain(`whether its predictions are met: gq claim ${study}`);
    expect(out).toContain(`blind, and not evaluated: vanilla-1, vanilla-2; evaluate them with: gq claim open ${study}`);
  });
});

describe('gq claim open', () => {
  it('opens blind seeds once, when all of them are trained', async () => {
    writeFileSync(file, statement('blindSeeds = [1, 2]'));
    await made.run({ 1: 'ssss' });
    const early = await gq('claim', 'open', study);
    expect(early).toMatchObject({ code: 2, err: expect.stringContaining('not trained: vanilla-2') });
    await made.run({ 2: 'ssss' });
    expect((await gq('results', study)).out).toContain('Blind until the claim is opened: vanilla-1, vanilla-2.');
    expect((await gq('measure', 'gate', join(study, 'vanilla-1'))).err).toContain('a blind seed of a claim');
    const listed = await gq('runs', study);
    expect(listed).toMatchObject({ code: 0, out: expect.stringMatching(/vanilla-1 .*finished/) });
    expect(await gq('claim', 'open', study)).toMatchObject({
      code: 0,
      out: expect.stringContaining('opened seeds 1, 2'),
    });
    expect(await gq('claim', 'open', study)).toMatchObject({ code: 2, err: expect.stringContaining('opened once') });
    expect((await gq('claim', study)).out).toContain('blind seeds opened');
    const { out } = await gq('results', study);
    expect(out).not.toContain('Blind until the claim is opened');
    expect(out.replace(/\s+/g, ' ')).toMatch(/Trained blind: vanilla-1, vanilla-2; opened \d{4}-\d\d-\d\dT[\d:.]+Z\./);
  });

  it('says the call that goes on, with what the call of the study had set', async () => {
    writeFileSync(file, statement('blindSeeds = [1, 2]'));
    await made.run({ 1: 'ssss', 2: 'ssss' }, ['updates=4']);
    expect((await gq('claim', study)).out).toContain(`${file} --set updates=4 states the same now`);
    const { out } = await gq('claim', 'open', study);
    expect(out).toContain(`evaluate them with: gq experiment ${file} --set updates=4 --out ${study}`);
  });

  it('opens seeds that the file no longer names, and no statement is lost where one was deleted', async () => {
    writeFileSync(file, statement('blindSeeds = [1, 2]'));
    await made.run({ 1: 'ssss', 2: 'ssss' });
    writeFileSync(file, statement('', 0.5));
    await made.run({});
    rmSync(join(study, 'register', 'claim-1.json'));
    writeFileSync(file, statement('', 0.6));
    await made.run({});
    expect(readRegister(study).stated).toHaveLength(2);
    expect(await gq('claim', 'open', study, '--force')).toMatchObject({
      code: 0,
      out: expect.stringContaining('opened seeds 1, 2'),
    });
  });

  it('refuses a study without blind seeds', async () => {
    await made.run({ 1: 'ssss' });
    expect(await gq('claim', 'open', study)).toMatchObject({ code: 2, err: expect.stringContaining('blind seeds') });
  });
});

describe('labels of people from a file', () => {
  it('are added, all of them, or none where a line is wrong', async () => {
    await made.run({ 1: 'ssss', 2: 'ssss' });
    const lines = join(made.folder, 'labels.jsonl');
    const write = (...labels: object[]) => writeFileSync(lines, labels.map((one) => JSON.stringify(one)).join('\n'));
    const [first, second] = [
      { rollout: '1-0-0', label: 'hack', writer: 'ada' },
      { rollout: '1-0-0', label: 'clean', writer: 'bob' },
    ];
    const run = join(study, 'vanilla-1');
    write(first, { ...second, rollout: 'none' });
    const wrong = await gq('measure', 'labels', run, '--import', lines);
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('labels.jsonl, line 2: expected a run') });
    expect(existsSync(join(run, 'human-labels.jsonl'))).toBe(false);
    write(first, second);
    expect(await gq('measure', 'labels', run, '--import', lines)).toMatchObject({ code: 0, err: '2 labels added\n' });
    const { labels } = JSON.parse((await gq('measure', 'labels', run, '--json')).out);
    expect(labels).toMatchObject([{ ...first, blind: false }, second]);
    // Of several runs it must say which, and is told how; what --json gives can be read again.
    const unnamed = await gq('measure', 'labels', study, '--import', lines);
    expect(unnamed).toMatchObject({ code: 2, err: expect.stringMatching(/such as \S+\/vanilla-1\)/) });
    const all = JSON.parse((await gq('measure', 'labels', study, '--json')).out).labels;
    write(...all);
    expect(await gq('measure', 'labels', study, '--import', lines)).toMatchObject({ code: 0, err: '2 labels added\n' });
  });
});

describe('labels of people in a study with blind seeds', () => {
  const label = { rollout: '1-0-0', label: 'hack', blind: true, writer: 'ada', at: '2000-01-01T00:00:00.000Z' };
  const labelRun = (name: string) =>
    writeFileSync(join(study, name, 'human-labels.jsonl'), `${JSON.stringify(label)}\n`);

  it('are compared with the oracle but for the blind runs, which are named', async () => {
    writeFileSync(file, statement('blindSeeds = [2]'));
    await made.run({ 1: 'ssss', 2: 'ssss' });
    labelRun('vanilla-1');
    labelRun('vanilla-2');
    for (const dir of [study, made.folder]) {
      const { code, out, err } = await gq('measure', 'labels', dir);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out).toContain('ada');
      expect(out).toMatch(/left out: \S*vanilla-2: .*a blind seed of a claim that is not opened yet/);
      const { labels, leftOut } = JSON.parse((await gq('measure', 'labels', dir, '--json')).out);
      expect(labels).toHaveLength(1);
      expect(leftOut).toEqual([
        { run: expect.stringContaining('vanilla-2'), why: expect.stringContaining('blind seed') },
      ]);
    }
    const alone = await gq('measure', 'labels', join(study, 'vanilla-2'));
    expect(alone).toMatchObject({ code: 1, out: expect.stringContaining('a blind seed of a claim') });
  });
});
