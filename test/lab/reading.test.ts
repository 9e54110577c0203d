/** Commands that read runs: they write only where they are told to, and refuse names that are not there, before any work. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configHash, RunDirectory } from '../../src/run/index.ts';
import { gq } from '../run-gq.ts';
import { temporaryFolder, writeEvaluations, writeRun } from './hand-made.ts';

const set = 'test-original' as const;

/** A folder of a vanilla run and a gated one. */
async function makeRuns(): Promise<string> {
  const directory = temporaryFolder();
  const rollouts = Array.from({ length: 60 }, (_, i) => ({
    update: 1 + (i % 2),
    hack: i % 3 === 0,
    score: i,
    high: 54,
  }));
  const steps = [1, 2].map((update) => ({ update, qmass: 0.4955 }));
  for (const [name, arm] of [
    ['vanilla', { kind: 'vanilla' }],
    ['activation', { kind: 'activation', tail: 0.1, keepTail: 0.02 }],
  ] as const) {
    const gated = name === 'activation';
    await writeRun(join(directory, name), {
      config: { updates: 2, arm },
      checkpoints: [0, 2],
      steps,
      rollouts: rollouts.map(({ score, high, ...row }) =>
        gated ? { ...row, score, low: 0, high, route: score <= 0 ? 'keep' : score >= high ? 'route' : 'absorb' } : row,
      ),
    });
    await writeEvaluations(join(directory, name), [
      { update: 0, set, state: 'base', outcomes: '--------' },
      { update: 2, set, state: 'full', outcomes: 'hhhhss--' },
      ...(gated ? [{ update: 2, set, state: 'deployed' as const, outcomes: 'hsssss--' }] : []),
    ]);
  }
  return directory;
}

const filesOf = (directory: string): string[] => readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort();

describe('gq results', () => {
  it('writes nothing unless it is told where', async () => {
    const directory = await makeRuns();
    const before = filesOf(directory);
    expect(await gq('results', directory)).toMatchObject({ code: 0, err: '' });
    expect(await gq('measure', 'gate', join(directory, 'activation'))).toMatchObject({ code: 0 });
    expect(filesOf(directory)).toEqual(before);
    const figures = join(directory, 'new', 'figures');
    expect(await gq('results', directory, '--figures', figures)).toMatchObject({ code: 0 });
    expect(readdirSync(figures)).toContain('scores.svg');
    const none = join(directory, 'none');
    await writeRun(join(none, 'vanilla'), {});
    const { err } = await gq('results', none, '--figures', figures);
    expect(err).toContain('no traces.md: no rollout that is kept hacked or solved');
  });

  it('draws over its own figures, and over others only when forced', async () => {
    const directory = await makeRuns();
    const figures = temporaryFolder();
    const draw = (...more: string[]) => gq('results', directory, '--figures', figures, ...more);
    expect(await draw()).toMatchObject({ code: 0 });
    expect(await draw()).toMatchObject({ code: 0 });
    writeFileSync(join(figures, 'routes.svg'), '<svg>mine</svg>');
    const refused = await draw();
    expect(refused).toMatchObject({ code: 2, out: '' });
    expect(refused.err).toContain('routes.svg, which gq did not make');
    expect(readFileSync(join(figures, 'routes.svg'), 'utf8')).toBe('<svg>mine</svg>');
    expect(await draw('--force')).toMatchObject({ code: 0 });
    const alone = temporaryFolder();
    writeFileSync(join(alone, 'curves.csv'), 'mine');
    expect(await gq('results', directory, '--figures', alone)).toMatchObject({ code: 2 });
    expect(await gq('results', directory, '--figures', join(alone, 'curves.csv'))).toMatchObject({ code: 2, out: '' });
  });

  it.each(['--baseline', '--placebo'])('refuses an arm that is not there: %s', async (option) => {
    const { code, out, err } = await gq('results', await makeRuns(), option, 'foo');
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toBe(`gq: ${option}: expected an arm of these results: activation, vanilla, found foo.\n`);
  });

  it('names a run that it cannot read, shows the others, and answers no', async () => {
    const directory = await makeRuns();
    writeFileSync(join(directory, 'vanilla', 'manifest.json'), '{');
    mkdirSync(join(directory, 'lost', 'checkpoints'), { recursive: true });
    const { code, out, err } = await gq('results', directory);
    expect(code).toBe(1);
    expect(err).toContain(`left out: ${join(directory, 'lost')}: it has no manifest.json`);
    expect(err).toContain(`left out: ${join(directory, 'vanilla')}: `);
    expect(out).toContain('activation');
    const report = await gq('results', directory, '--html', '--out', join(directory, 'r.html'));
    expect(report.code).toBe(1);
    expect(readFileSync(join(directory, 'r.html'), 'utf8')).toContain(`Left out: ${join(directory, 'lost')}`);
  });

  it('has no number in CSV and JSON where the table has none', async () => {
    const directory = await makeRuns();
    const { values } = JSON.parse((await gq('results', directory, '--format', 'json')).out);
    const metrics = (arm: string): string[] =>
      values
        .filter((one: { arm: string; set: string }) => one.arm === arm && one.set === 'training')
        .map(({ metric }: { metric: string }) => metric);
    expect(metrics('vanilla')).not.toContain('qmass');
    expect(metrics('vanilla')).not.toContain('route-recall');
    expect(metrics('activation')).toEqual(expect.arrayContaining(['qmass', 'route-recall', 'keep-hack-share']));
    const csv = (await gq('results', directory, '--format', 'csv')).out;
    expect(csv).toContain('activation,false,training,full,qmass');
    expect(csv).not.toContain('vanilla,false,training,full,qmass');
  });

  it('fits 80 columns', async () => {
    const { out } = await gq('results', await makeRuns());
    expect(out.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });
});

describe('gq measure monitor', () => {
  it.each([
    [{ kind: 'regex', pattern: 'x' }, true],
    [{ kind: 'chance' }, false],
  ])('of the monitor %j suggests a placebo: %s', async (monitor, isSuggested) => {
    const path = temporaryFolder();
    const arm = { kind: 'watched', monitor, cut: { kind: 'fixed', threshold: 0.5 }, remedy: { kind: 'penalty' } };
    const rollouts = [true, false].map((flagged, i) => ({ update: 1, id: `1-0-${i}`, suspicion: i, flagged }));
    await writeRun(path, { config: { arm }, rollouts });
    const { code, out } = await gq('measure', 'monitor', path);
    expect(code).toBe(0);
    expect(out.includes('flagged at random, a placebo')).toBe(isSuggested);
  });
});

describe('gq measure gate', () => {
  it('has no tables of nothing for an arm without a gate and a monitor, and answers no, as gq measure monitor does', async () => {
    const vanilla = join(await makeRuns(), 'vanilla');
    const { code, out } = await gq('measure', 'gate', vanilla);
    expect([code, (await gq('measure', 'monitor', vanilla)).code]).toEqual([1, 1]);
    expect(out).toContain('There is nothing to judge: the arm vanilla neither watched nor gated a rollout.');
    expect(out).not.toContain('the gate as a classifier');
  });

  it('says that a run was over before its gate had rollouts enough to decide by', async () => {
    const path = join(temporaryFolder(), 'short');
    const rollouts = Array.from({ length: 120 }, (_, i) => ({ update: 1 + (i % 2) }));
    const arm = { kind: 'activation', warmupRows: 61 };
    await writeRun(path, { config: { updates: 2, arm }, checkpoints: [0, 2], rollouts });
    const { code, out } = await gq('measure', 'gate', path);
    expect({ code, out: out.replace(/\s+/g, ' ') }).toMatchObject({
      code: 1,
      out: expect.stringContaining(
        'nor gated a rollout: its 2 updates were all warm-up, before 61 rollouts of earlier updates were in (warmupRows).',
      ),
    });
    const longer = join(temporaryFolder(), 'longer');
    await writeRun(longer, { config: { updates: 2, arm: { ...arm, warmupRows: 60 } }, checkpoints: [0, 2], rollouts });
    expect((await gq('measure', 'gate', longer)).out).not.toContain('warm-up');
  });

  it('calls few kept rollouts a finding only where the gate was to keep more', async () => {
    const path = join(await makeRuns(), 'activation');
    const asMeant = await gq('measure', 'gate', path);
    expect(asMeant.out).not.toContain('few are kept');
    const run = RunDirectory.open(path);
    const manifest = run.readManifest();
    const config = { ...manifest.config, arm: { ...manifest.config.arm, keepTail: 0.3 } };
    const identity = { ...manifest.identity, config: configHash(config) };
    await run.writeManifest({ ...manifest, config, identity });
    const starved = await gq('measure', 'gate', path);
    expect(starved.out.replace(/\s+/g, ' ')).toContain('1 of 60 kept, where 30% are meant to be: few are kept');
  });
});

describe('names that are not there', () => {
  it('are refused before anything is evaluated', async () => {
    const path = join(await makeRuns(), 'activation');
    const before = filesOf(path);
    const update = await gq('eval', path, '--update', '3');
    expect(update).toMatchObject({ code: 2, out: '' });
    expect(update.err).toContain('one of its checkpoints: 0, 2, found 3');
    const sets = await gq('eval', path, '--sets', 'test-original,foo');
    expect(sets.err).toBe(
      'gq: --sets: expected test-novel, test-original, test-unhinted, train, validation, curve, monitor, found foo.\n',
    );
    expect(filesOf(path)).toEqual(before);
  });

  it('are refused by gq experiment, with those that there are', async () => {
    const experiment = (...options: string[]) => gq('experiment', 'recipes/micro-claim.toml', '--dry-run', ...options);
    expect(await experiment('--seeds', '1,2,1')).toMatchObject({
      code: 2,
      err: 'gq: --seeds: expected different seeds, found 1 twice.\n',
    });
    expect((await experiment('--arms', 'vanilla,foo')).err).toMatch(
      /^gq: --arms: expected .*activation.*, found foo\.\n$/,
    );
  });

  it('are refused by gq measure replay, which names --gate', async () => {
    const directory = await makeRuns();
    const replay = (...gate: string[]) =>
      gq('measure', 'replay', join(directory, 'activation'), ...gate.flatMap((term) => ['--gate', term]));
    for (const [term, said] of [
      ['kind=oracle', 'gq: --gate: expected arm.kind as it was in the run (activation), found oracle.'],
      ['granularity=token', 'gq: --gate: expected arm.granularity as it was in the run (rollout), found token.'],
      ['taill=0.2', 'arm.taill (--gate)'],
      ['tail=5', '(--gate)'],
      ['tail', 'gq: --gate: expected key=value, found tail.'],
    ]) {
      const { code, err } = await replay(term);
      expect(code).toBe(2);
      expect(err).toContain(said);
      expect(err).not.toContain('--set');
    }
    expect((await gq('measure', 'replay', join(directory, 'vanilla'), '--gate', 'kind=oracle')).err).toContain(
      'arm vanilla',
    );
  });

  it('are refused by gq export, which lists the runs of a folder', async () => {
    const directory = await makeRuns();
    const { code, err } = await gq('export', directory, '--to', join(directory, 'out'));
    expect(code).toBe(2);
    expect(err).toContain(`export ${directory}: expected a run`);
    expect(err).toContain(`Name one of them: ${join(directory, 'activation')}, ${join(directory, 'vanilla')}.`);
    expect((await gq('export', temporaryFolder(), '--to', join(directory, 'out'))).err).toContain('none of them');
  });
});

describe('--out of gq demo and gq experiment', () => {
  it.each([
    ['demo', '--quick'],
    ['experiment', 'recipes/micro-claim.toml'],
  ])('refuses a run and a folder of runs: gq %s', async (...command) => {
    const directory = await makeRuns();
    for (const out of [join(directory, 'vanilla'), directory]) {
      const before = filesOf(out);
      const { code, err } = await gq(...command, '--out', out);
      expect(code).toBe(2);
      expect(err).toContain('expected a new or empty folder');
      expect(filesOf(out)).toEqual(before);
    }
    expect(existsSync(join(directory, 'experiment.json'))).toBe(false);
  });
});
