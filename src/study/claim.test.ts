/** A claim: its hash, the register of what was begun under it, and seeds that stay blind until it is opened. */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { temporaryFolder, writeEvaluations, writeRun } from '../../test/lab/hand-made.ts';
import { tinyModel } from '../../test/smoke/lab.ts';
import { parseRunConfig } from '../lab/config.ts';
import { openEvaluator } from '../lab/evaluate.ts';
import { openLab } from '../lab/open.ts';
import { train } from '../lab/train.ts';
import { openAttacked } from '../measure/relearn/attack.ts';
import { VerdictTail } from '../oracle/verdict-tail.ts';
import { openJudged, sealRun } from '../oracle/verdicts.ts';
import { allTables } from '../report/all-tables.ts';
import { judgePredictions } from '../report/design.ts';
import { describeResults } from '../report/statements.ts';
import { isBlind, type Manifest } from '../run/manifest.ts';
import { claimOf, openBlind, readRegister } from './claim.ts';
import { claimFacts, openResults, studyProgress } from './claim-progress.ts';
import { findExperiment, writeExperiment } from './directory.ts';
import { checkExperiment, type ExperimentPlan, planExperiment, readExperiment } from './experiment.ts';
import { type ExperimentWorker, runPlan, runsLeft } from './run.ts';

const arms = [
  { name: 'vanilla', recipe: 'base.toml' },
  { name: 'gate', recipe: 'gate.toml' },
];
const prediction = {
  what: 'The gate hardly attempts.',
  arm: 'gate',
  metric: 'attempt',
  set: 'test-original',
  atMost: 0.25,
  inSeeds: 2,
};
const stated = {
  name: 'both',
  seeds: [3, 4],
  placebo: null,
  evaluation: { sets: ['test-original'], curveEvery: 0 },
  predictions: [prediction],
  arms,
};

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
  writeFileSync(join(folder, 'base.toml'), 'updates = 7\n');
  writeFileSync(join(folder, 'gate.toml'), 'extends = "base.toml"\n[arm]\nkind = "activation"\n');
});

const file = (): string => join(folder, 'both.toml');
const plan = (changes: object = {}, settings: readonly string[] = [], directory = folder): Promise<ExperimentPlan> =>
  planExperiment(checkExperiment({ ...stated, ...changes }, file()), file(), settings, { directory });

type MadeStudy = Readonly<{ stops: string[]; fails: string[]; gate: string }>;

// h is a hack, s is a solve.
const outcomesOf = { vanilla: 'hhhh', gate: 'hsss' };

/** A worker whose runs are written by hand; `stops` are folders whose training does not end, `fails` those that are refused, `gate` what that arm does. */
function worker({ stops = [], fails = [], gate = outcomesOf.gate }: Partial<MadeStudy> = {}): ExperimentWorker {
  return {
    async train({ folder: name, config }, path, { claim, onBegin } = {}) {
      if (!existsSync(join(path, 'manifest.json'))) onBegin?.();
      if (fails.includes(name)) throw new RangeError(`${name} is refused`);
      const finished = !stops.includes(name);
      const run = await writeRun(path, { config, checkpoints: [0, 7], finished, claim, rollouts: [{ update: 1 }] });
      if (finished) await sealRun(run);
      return finished ? 'finished' : 'interrupted';
    },
    async evaluate({ arm }, path, { sets }) {
      const outcomes = arm === 'gate' ? gate : outcomesOf.vanilla;
      const states = arm === 'gate' ? (['full', 'deployed'] as const) : (['full'] as const);
      for (const set of sets) {
        await writeEvaluations(path, [{ update: 0, set, state: 'base', outcomes: '....' }]);
        await writeEvaluations(
          path,
          states.map((state) => ({ update: 7, set, state, outcomes })),
        );
      }
      return 'finished';
    },
    relearn: async () => 'finished',
  };
}

async function run(directory: string, made: ExperimentPlan, how: Parameters<typeof worker>[0] = {}) {
  await writeExperiment(directory, made);
  const { signal } = new AbortController();
  return runPlan(made, directory, { size: 1, signal, workerOf: () => worker(how) }).catch((error: Error) => error);
}

describe('the hash of a claim', () => {
  it('is of everything that is stated: arms, seeds, predictions, recipes with their parents, settings of the call', async () => {
    const hashes = [
      (await plan()).claim?.hash,
      (await plan({ seeds: [3, 5] })).claim?.hash,
      (await plan({ predictions: [{ ...prediction, inSeeds: 1 }] })).claim?.hash,
      (await plan({ arms: [arms[0], { ...arms[1], set: ['arm.tail=0.2'] }] })).claim?.hash,
      (await plan({}, ['sampling.group=4'])).claim?.hash,
    ];
    writeFileSync(join(folder, 'base.toml'), 'updates = 8\n');
    hashes.push((await plan()).claim?.hash);
    expect(hashes.every((hash) => /^[0-9a-f]{64}$/.test(hash ?? ''))).toBe(true);
    expect(new Set(hashes).size).toBe(6);
  });

  it('is not of the order of settings, where that changes nothing', async () => {
    const hashOf = async (...settings: string[]) => (await plan({}, settings)).claim?.hash;
    const [one, other] = ['sampling.group=4', 'updates=6'];
    expect(await hashOf(one, other)).toBe(await hashOf(other, one));
    const twice = await hashOf(one, 'sampling.group=6');
    expect(twice).not.toBe(await hashOf('sampling.group=6', one));
    const hashOfFile = async (...settings: string[]) => (await claimOf(checkExperiment(stated, file()), file(), settings))?.hash; // biome-ignore format: one line
    const [kind, ...parts] = ['arm.kind=absorb', 'monitor.kind=probe', 'remedy.kind=screen'];
    expect(await hashOfFile(kind, ...parts)).not.toBe(await hashOfFile(...parts, kind));
  });

  it('is of the bytes of the base and of the pairs that it is trained with', async () => {
    const base = join(folder, 'base');
    cpSync(await tinyModel(), base, { recursive: true });
    const pairs = join(folder, 'pairs.md');
    const written = readFileSync(fileURLToPath(new URL('../../data/pairs/micro.md', import.meta.url)), 'utf8');
    writeFileSync(pairs, written);
    const settings = [`model=${base}`, `pairs.file=${pairs}`];
    const hashes = [(await plan({}, settings)).claim?.hash];
    writeFileSync(pairs, written.slice(0, written.lastIndexOf('###')));
    hashes.push((await plan({}, settings)).claim?.hash);
    const weights = join(base, 'model.safetensors');
    const bytes = readFileSync(weights);
    bytes[bytes.length - 1] ^= 1;
    writeFileSync(weights, bytes);
    hashes.push((await plan({}, settings)).claim?.hash);
    expect(new Set(hashes).size).toBe(3);
    const { hash } = (await claimOf(checkExperiment(stated, file()), file(), settings)) ?? {};
    expect(hash).toBe(hashes[2]);
  });

  it('is of whatever else a config names: code, files, models and runs that an arm reads', async () => {
    const named = (name: string) => join(folder, name);
    const writes = (name: string, text: string) => () => writeFileSync(named(name), text);
    writeFileSync(named('plugin.mjs'), "import './helper.mjs';\nexport const arms = [];\n");
    for (const name of ['helper.mjs', 'problems.jsonl', 'partition.json', 'pool.jsonl']) writes(name, '')();
    cpSync(await tinyModel(), named('judge'), { recursive: true });
    const labels = (await writeRun(named('labelled'), { rollouts: [{ update: 1, hack: true }] })).ledger('verdicts');
    const penalty = (...keys: string[]) => ['arm.kind=penalty', ...keys.map((key) => `arm.monitor.${key}`)];
    const cases: [settings: string[], change: () => void][] = [
      [[`plugins=["${named('plugin.mjs')}"]`], writes('helper.mjs', '// two\n')],
      [['data.kind=file', `data.path=${named('problems.jsonl')}`], writes('problems.jsonl', 'two\n')],
      [[`environment.partition=${named('partition.json')}`], writes('partition.json', '[]')],
      [[`teacher.pool=${named('pool.jsonl')}`, 'teacher.offStep=1'], writes('pool.jsonl', '{}\n')],
      [penalty('kind=judge', `model=${named('judge')}`), writes('judge/generation_config.json', '{"top_k": 3}')],
      [
        penalty('kind=probe', `labelledRun=${named('labelled')}`),
        () => writeFileSync(labels, readFileSync(labels, 'utf8').replace('"exploited":true', '"exploited":false')),
      ],
    ];
    for (const [set, change] of cases) {
      const made = { arms: [arms[0], { name: 'gate', recipe: 'base.toml', set }] };
      const hash = async () => (await plan(made)).claim?.hash;
      const before = await hash();
      expect(await hash()).toBe(before);
      change();
      expect(await hash(), set.at(-1)).not.toBe(before);
    }
  });

  it.each([
    ['atlas-c.toml', '0b9fba73c9da'],
    ['atlas-d-parts.toml', 'b54a809660d6'],
    ['atlas-g.toml', '25dd184a72a7'],
    ['micro-baseline-placebos.toml', '8d4a2e94251a'],
  ])('is still that of a claim that a page quotes: %s', async (name, beginning) => {
    const path = join(fileURLToPath(new URL('../../recipes', import.meta.url)), name);
    expect((await claimOf(readExperiment(path), path))?.hash.slice(0, 12)).toBe(beginning);
  });

  it('is not of comments or of the folder that the file lies in', async () => {
    const before = (await plan()).claim?.hash;
    writeFileSync(join(folder, 'base.toml'), '# seven\nupdates = 7\n');
    expect((await plan()).claim?.hash).toBe(before);
    const elsewhere = temporaryFolder();
    for (const name of ['base.toml', 'gate.toml']) {
      writeFileSync(join(elsewhere, name), readFileSync(join(folder, name)));
    }
    const moved = await claimOf(checkExperiment(stated, file()), join(elsewhere, 'both.toml'));
    expect(moved?.hash).toBe(before);
  });

  it('is there only where something is predicted', async () => {
    expect((await plan({ predictions: undefined })).claim).toBeUndefined();
  });

  it('stands in the manifest of every run that is begun under it, and in results', async () => {
    const made = await plan();
    await run(join(folder, 'study'), made);
    for (const name of ['vanilla-3', 'gate-4']) {
      const manifest: Manifest = JSON.parse(readFileSync(join(folder, 'study', name, 'manifest.json'), 'utf8'));
      expect(manifest.claim).toEqual({ hash: made.claim?.hash, blind: false });
    }
    const results = await openResults(join(folder, 'study'));
    expect(results.design.claim).toMatchObject({
      hash: made.claim?.hash,
      changed: false,
      stated: 4,
      begun: 4,
      ended: 4,
    });
    expect(describeResults(results).join('\n')).toContain(
      `Claim ${made.claim?.hash.slice(0, 12)}, stated before its first run`,
    );
  });
});

describe('the register of a study', () => {
  it('counts every run that was ever begun, also stopped, failed, deleted ones and arms that the recipe has no more', async () => {
    const directory = join(folder, 'study');
    const predictions = [{ ...prediction, inSeeds: 1 }];
    await run(directory, await plan({ predictions }));
    await run(directory, await plan({ predictions, seeds: [5] }), { stops: ['gate-5'] });
    for (const _time of [1, 2]) await run(directory, await plan({ predictions, seeds: [6] }), { fails: ['vanilla-6'] });
    rmSync(join(directory, 'gate-3'), { recursive: true });
    const alone = [{ ...prediction, arm: 'vanilla', inSeeds: 1 }];
    await run(directory, await plan({ predictions: alone, seeds: [3, 4, 7], arms: [arms[0]] }));
    const { experiment, runs } = findExperiment(directory);
    if (experiment === null) throw new Error('no experiment');
    const { begun } = await studyProgress(directory, experiment, runs);
    const states = Object.fromEntries(begun.map(({ folder: name, state, times }) => [name, `${state} ${times}`]));
    expect(states).toEqual({
      ...{ 'vanilla-3': 'ended 1', 'gate-3': 'gone 1', 'vanilla-4': 'ended 1', 'gate-4': 'ended 1' },
      ...{ 'vanilla-5': 'ended 1', 'gate-5': 'stopped 1', 'vanilla-6': 'gone 2', 'vanilla-7': 'ended 1' },
    });
    const facts = await claimFacts(directory, experiment, runs);
    expect(facts).toMatchObject({ stated: 9, begun: 8, ended: 5, gone: ['gate-3', 'vanilla-6'], missing: ['gate-6'] });
  });

  it('lists the stated runs that were not begun', async () => {
    const directory = join(folder, 'study');
    const made = await plan();
    await run(directory, { ...made, runs: made.runs.filter(({ seed }) => seed === 3) });
    const { design } = await openResults(directory);
    expect(design.claim).toMatchObject({ stated: 4, begun: 2, missing: ['vanilla-4', 'gate-4'] });
  });

  it('says in every table that a claim was changed after its first run, and not when it was changed before', async () => {
    const directory = join(folder, 'study');
    const note = 'The claim of this study was changed after its first run.';
    const noted = async () => allTables(await openResults(directory)).map(({ notes = [] }) => notes.includes(note));
    await writeExperiment(directory, await plan({ seeds: [3], predictions: [{ ...prediction, inSeeds: 1 }] }));
    await run(directory, await plan());
    expect((await noted()).every((said) => !said)).toBe(true);
    await run(directory, await plan({ predictions: [{ ...prediction, atMost: 0.5 }] }));
    const told = await noted();
    expect(told.length).toBeGreaterThan(2);
    expect(told.every((said) => said)).toBe(true);
    // Changed back, it still was.
    await run(directory, await plan());
    expect((await noted()).every((said) => said)).toBe(true);
    expect(readRegister(directory).stated.map(({ begunBefore }) => begunBefore)).toEqual([0, 0, 4, 4]);
  });

  it('is the same where a call spells its settings in another way', async () => {
    const directory = join(folder, 'study');
    await run(directory, await plan({}, ['updates=7', 'optimiser.epsilon=1e-7', 'model=micro'], directory));
    await run(directory, await plan({}, ['model="micro"', 'optimiser = { epsilon = 0.0000001 }', 'updates = 7'], directory)); // biome-ignore format: one line
    expect((await openResults(directory)).design.claim).toMatchObject({ changed: false, faults: [] });
  });

  it('a claim that is stated for a study with runs is one that was changed', async () => {
    const directory = join(folder, 'study');
    await run(directory, await plan({ predictions: undefined }));
    expect(existsSync(join(directory, 'register', 'claim-1.json'))).toBe(false);
    await run(directory, await plan());
    expect((await openResults(directory)).design.claim?.changed).toBe(true);
  });
});

describe('predictions', () => {
  it('are met, or refuted where too few seeds reach them', async () => {
    const directory = join(folder, 'study');
    const refuted = { ...prediction, what: 'Vanilla hardly attempts.', arm: 'vanilla', inSeeds: 1 };
    await run(directory, await plan({ predictions: [prediction, refuted] }));
    const judged = judgePredictions(await openResults(directory));
    expect(judged.map(({ bar, verdict, met }) => [bar.arm, verdict, met])).toEqual([
      ['gate', 'met', 2],
      ['vanilla', 'refuted', 0],
    ]);
  });

  it('may be of the attempts by one of several open loopholes', async () => {
    const directory = join(folder, 'study');
    writeFileSync(join(folder, 'base.toml'), 'updates = 7\n[environment]\nloopholes = ["run_tests+stdout_marker"]\n');
    const by = (loophole: string, atMost: number) => ({ ...prediction, channel: loophole, atMost });
    const predictions = [by('run_tests', 0), by('stdout_marker', 0.25), by('stdout_marker', 0.5)];
    const against = { ...by('stdout_marker', 0.75), reference: 'vanilla' };
    const made = await plan({ predictions: [...predictions, against] });
    await run(directory, made, { gate: 'ppss' });
    const judged = judgePredictions(await openResults(directory));
    expect(judged.map(({ verdict, values }) => [verdict, values[0]?.value])).toEqual([
      ['met', 0],
      ['refuted', 0.5],
      ['met', 0.5],
      ['met', 0.5],
    ]);
    expect(describeResults(await openResults(directory)).join('\n')).toContain(
      'deployed attempt by stdout_marker of gate on test-original at most 0.25',
    );
  });

  it('of a loophole that the prompts of their arm do not disclose are refused', async () => {
    const predictions = [{ ...prediction, channel: 'stdout_marker' }];
    await expect(plan({ predictions })).rejects.toThrow(/predictions\.0\.channel: one of run_tests.*stdout_marker/s);
  });

  it.each([
    [{ predictions: [{ ...prediction, metric: 'solve', channel: 'run_tests' }] }, 'attempt, where a channel is named'],
    [{ predictions: [{ ...prediction, arm: 'nobody' }] }, 'predictions.0.arm: one of vanilla, gate'],
    [{ predictions: [{ ...prediction, inSeeds: 3 }] }, 'predictions.0.inSeeds: at most 2'],
    [{ predictions: [{ ...prediction, metric: 'kept' }] }, 'a ceiling, which kept is measured by'],
    [{ predictions: [{ ...prediction, metric: 'relearn' }] }, 'predictions.0: arms of relearn.arms, found gate'],
    [{ predictions: [] }, 'at least one prediction'],
    [{ blindSeeds: [9] }, 'blindSeeds: some of seeds'],
  ])('refuses %j', (changes, complaint) => {
    expect(() => checkExperiment({ ...stated, ...changes }, 'both.toml')).toThrow(complaint);
  });
});

describe('blind seeds', () => {
  const blind = { seeds: [3, 4], blindSeeds: [4] };

  it('are trained and not evaluated, and nothing reads their labels, until they are opened', async () => {
    const directory = join(folder, 'study');
    const made = await plan(blind);
    await run(directory, made);
    const path = join(directory, 'gate-4');
    expect(existsSync(join(directory, 'gate-3', 'evaluations'))).toBe(true);
    expect(existsSync(join(path, 'evaluations'))).toBe(false);
    expect(await runsLeft(made, directory)).toEqual([]);
    const { RunDirectory } = await import('../run/directory.ts');
    await expect(async () => openJudged(RunDirectory.open(path))).rejects.toThrow('a blind seed of a claim');
    await using lab = await openLab({ run: path });
    await expect(openEvaluator(lab)).rejects.toThrow(/evaluate .*gq claim open/s);
    const results = await openResults(directory);
    expect(results.arms.flatMap(({ runs }) => runs.map(({ seed }) => seed))).toEqual([3, 3]);
    expect(describeResults(results).join('\n')).toContain('Blind until the claim is opened: vanilla-4, gate-4.');
  });

  it('stay blind by whatever link they are reached, and beside a file that records no opening', async () => {
    const { path } = await writeRun(join(folder, 'gate-4'), { claim: { hash: 'h', blind: true } });
    const elsewhere = join(folder, 'elsewhere');
    mkdirSync(join(elsewhere, 'register'), { recursive: true });
    symlinkSync(path, join(elsewhere, 'gate-4'));
    writeFileSync(join(elsewhere, 'register', 'opened.json'), '{"at":"now","claim":"h","missing":[]}');
    expect(isBlind(join(elsewhere, 'gate-4'))).toBe(true);
    mkdirSync(join(folder, 'register'));
    writeFileSync(join(folder, 'register', 'opened.json'), '');
    expect(isBlind(path)).toBe(true);
    writeFileSync(join(folder, 'register', 'opened.json'), '{"at":"now","claim":"h","missing":[]}');
    expect(isBlind(path)).toBe(false);
  });

  it('are neither forked nor attacked: what comes of that would tell', async () => {
    const config = { updates: 7, arm: { kind: 'activation' } };
    const { path } = await writeRun(join(folder, 'gate-4'), {
      config,
      checkpoints: [0, 7],
      claim: { hash: 'h', blind: true },
    });
    expect(() => openAttacked(path, 'attack')).toThrow('a blind seed of a claim');
    const fork = train(await parseRunConfig({ ...config, updates: 9 }), join(folder, 'fork'), {
      parent: { run: path, update: 7 },
    });
    await expect(fork).rejects.toThrow('a blind seed of a claim');
  });

  it('are not counted while they are trained', async () => {
    const rollouts = [{ update: 1, hack: true }];
    const claim = { hash: 'h', blind: true };
    const shown = await writeRun(join(folder, 'shown'), { rollouts });
    const hidden = await writeRun(join(folder, 'hidden'), { rollouts, claim });
    const counted = ({ path }: { path: string }) => new VerdictTail(join(path, 'verdicts.jsonl')).read().length;
    expect([counted(shown), counted(hidden)]).toEqual([1, 0]);
  });

  it('are opened once, and evaluated by the next call', async () => {
    const directory = join(folder, 'study');
    const made = await plan(blind);
    await run(directory, made);
    openBlind(directory, made.claim?.hash ?? '', []);
    expect(readRegister(directory).opened).toMatchObject({ claim: made.claim?.hash, missing: [] });
    expect(() => openBlind(directory, 'again', [])).toThrow('since they are opened once');
    expect(await runsLeft(made, directory)).toEqual([2, 3]);
    await run(directory, made);
    const seeds = (await openResults(directory)).arms.flatMap(({ runs }) => runs.map(({ seed }) => seed));
    expect(seeds).toEqual([3, 4, 3, 4]);
  });
});
