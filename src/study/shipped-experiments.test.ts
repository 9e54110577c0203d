/** The experiments of the package: all of them resolve, and a gate is tested against a placebo that differs in the direction alone. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { builtinLoopholes } from '../env/loopholes/registry.ts';
import { shownLoopholes } from '../env/pairs/bait.ts';
import { loadPairs, shippedPairNames } from '../env/pairs/load.ts';
import { resolveBuiltin, resolveConfig } from '../lab/index.ts';
import { placebosOf } from '../report/comparisons.ts';
import { noDesign } from '../report/design.ts';
import type { Experiment } from '../report/experiment-schema.ts';
import type { RunConfig } from '../run/config/schema.ts';
import { type ExperimentPlan, type PlannedRun, planExperiment, readExperiment } from './experiment.ts';
import { readStudy } from './steps.ts';

const folder = fileURLToPath(new URL('../../recipes', import.meta.url));
const files = readdirSync(folder).filter((name) => /^\[\[arms\]\]/m.test(readFileSync(join(folder, name), 'utf8')));

const plans = new Map<string, Promise<ExperimentPlan>>();

/** The runs of the first seed, planned once; recipes for Qwen must be told a model and problems. */
function planned(name: string): Promise<ExperimentPlan> {
  const path = join(folder, name);
  const experiment = readExperiment(path);
  const settings = name.startsWith('qwen') ? ['model=folder', 'data.path=problems.jsonl'] : [];
  const plan =
    plans.get(name) ?? planExperiment({ ...experiment, seeds: experiment.seeds.slice(0, 1) }, path, settings);
  plans.set(name, plan);
  return plan;
}

/** What a config says besides the direction of its gate. */
function withoutDirection({ arm, pairs: _pairs, ...others }: RunConfig) {
  const { placebo: _, refreshEvery: _cadence, orthogonalTo: _solve, standardise: _scale, ...gate } = arm;
  const { generatedPairs: _written, ...rest } = gate;
  return { ...others, arm: rest };
}

const isGate = ({ config: { arm } }: PlannedRun): boolean => arm.kind === 'activation' || arm.kind === 'gradient';

const isRealGate = (run: PlannedRun): boolean => isGate(run) && run.config.arm['placebo'] === 'none';

it('of studies that decide advise other settings in a folder of their own: where runs were begun they are refused', () => {
  const studies = readdirSync(folder).flatMap((name) => readStudy(join(folder, name)) ?? []);
  const advice = studies.flatMap(({ steps }) => steps.flatMap(({ advice = '' }) => advice.split(/[.:] (?=[A-Z-])/)));
  const changes = advice.filter((part) => part.startsWith('--set '));
  expect(changes).toHaveLength(2);
  for (const change of changes) expect(change).toContain(' --out DIR');
});

describe.each(files)('%s', (name) => {
  it('says why it is run, and what would settle it', () => {
    const { why, resolve } = readExperiment(join(folder, name));
    expect([why, resolve].filter((text) => text.length < 20)).toEqual([]);
  });

  it('tests every gate against placebos that differ from it in the direction alone', async () => {
    const { experiment, runs } = await planned(name);
    const { arms, baseline, placebo } = experiment;
    const results = {
      name,
      baseline,
      placebo,
      design: { ...noDesign, arms },
      sets: [],
      arms: [],
      leftOut: [],
      missing: [],
      failed: [],
    };
    const compared = runs.filter(isGate).flatMap((gate) =>
      placebosOf(results, gate.arm).map((against) => ({
        gate,
        against,
        other: runs.find(({ arm }) => arm === against)?.config,
      })),
    );
    expect(compared.length > 0).toBe(runs.some(isRealGate));
    for (const { gate, against, other } of compared) {
      expect(other?.arm['placebo'], `${gate.arm} against ${against}`).toMatch(/^(?!none$)/);
      expect(other && withoutDirection(other), `${gate.arm} against ${against}`).toEqual(withoutDirection(gate.config));
    }
  });
});

describe('arms of published tables that had no placebo beside them', () => {
  const named = ['micro-ablations.toml', 'micro-ablation-placebos.toml', 'micro-two-loopholes.toml'];
  const runs = Promise.all(named.map(planned)).then((plans) => plans.flatMap((plan) => plan.runs));
  const seedless = ({ seed: _, ...config }: ReturnType<typeof withoutDirection>) => config;

  it.each(['frac-0.5', 'rank-2', 'rank-16', 'frozen-b', 'no-kl'])(
    '%s: the same gate, a random direction',
    async (name) => {
      const gate = (await runs).find(({ arm }) => arm === name) as PlannedRun;
      const same = (await runs).filter(({ config }) => config.arm['placebo'] === 'haar');
      const configs = same.map(({ config }) => seedless(withoutDirection(config)));
      expect(configs).toContainEqual(seedless(withoutDirection(gate.config)));
    },
  );

  it.each(['penalty-3', 'penalty-6', 'screen'])('%s: the same remedy, flags at random', async (name) => {
    const withoutMonitor = ({ config: { arm, ...others } }: PlannedRun) => ({
      ...others,
      arm: { ...arm, monitor: null },
    });
    const remedy = (await runs).find(({ arm }) => arm === name) as PlannedRun;
    const chance = (await runs).find(({ arm }) => arm === `${name}-chance`);
    expect(chance?.config.arm['monitor']).toMatchObject({ kind: 'chance' });
    expect(withoutMonitor(chance ?? remedy)).toEqual(withoutMonitor(remedy));
  });
});

/** Arms that know nothing which a placebo could take away (no KL, another rate), whose control is vanilla, and arms of labels, which are references. */
const controlled = ['vanilla', 'gradient-regularisation', 'oracle'];

it('every arm that claims something has a placebo, in its own experiment or beside the same arm in another', async () => {
  const plans = await Promise.all(files.map(planned));
  const placebosIn = ({ arms, placebo }: Experiment, name: string): string[] => {
    const own = arms.find((arm) => arm.name === name)?.placebos ?? [placebo ?? ''];
    return own.filter((other) => other !== name && arms.some((arm) => arm.name === other));
  };
  const keyOf = ({ config: { seed: _seed, device: _device, notes: _notes, ...config } }: PlannedRun): string =>
    JSON.stringify(config);
  const withPlacebo = plans.flatMap(({ experiment, runs }) =>
    runs.filter(({ arm }) => placebosIn(experiment, arm).length > 0).map(keyOf),
  );
  const bare = plans.flatMap(({ experiment, runs }) => {
    const { name, arms, baseline, ceiling, placebo } = experiment;
    const apart = [baseline, ceiling, placebo, ...arms.flatMap((arm) => placebosIn(experiment, arm.name))];
    const claims = runs.filter(({ arm, config }) => !apart.includes(arm) && !controlled.includes(config.arm.kind));
    return claims.filter((run) => !withPlacebo.includes(keyOf(run))).map(({ arm }) => `${name}: ${arm}`);
  });
  // Its tails were chosen by labels: it stands in tables of its own, as a bound.
  expect(bare).toEqual(['micro-ablations: tuned-by-labels']);
});

/** The text of a recipe and of those that it extends. */
function withParents(name: string): string {
  const text = readFileSync(join(folder, name), 'utf8');
  const parent = /^extends = "(.+)"$/m.exec(text)?.[1];
  return parent === undefined ? text : `${text}\n${withParents(parent)}`;
}

describe('what pairs know of the loopholes that are trained', () => {
  const shownBy = async ({ config: { pairs, environment } }: PlannedRun): Promise<string[]> => {
    const known = [...environment.loopholes, ...environment.heldOutLoopholes];
    return shownLoopholes((await loadPairs(pairs.file ?? 'micro', pairs.select)).pairs, known);
  };

  it.each(files.filter((name) => name.startsWith('qwen')))(
    '%s: nothing, unless the arm is named for it',
    async (name) => {
      const { runs: all } = await planned(name);
      // Pairs of a pool are those that labels found, and no others are taken.
      const runs = all.filter(({ config }) => !config.pairs.select.includes('tag:pool-derived'));
      const aware = runs.filter(({ arm }) => name.includes('heldout') || arm === 'environment-aware');
      for (const run of runs) expect((await shownBy(run)).length > 0, run.arm).toBe(aware.includes(run));
    },
  );

  it.each(['qwen3-4b-heldout.toml', 'micro-heldout.toml'])(
    '%s: no held-out loophole, but in the arm that is named for it',
    async (name) => {
      for (const { arm, config } of (await planned(name)).runs) {
        const { pairs, environment } = config;
        const shown = shownLoopholes((await loadPairs(pairs.file ?? 'micro', pairs.select)).pairs, environment.heldOutLoopholes); // biome-ignore format: one line
        expect(environment.heldOutLoopholes.length, arm).toBeGreaterThan(0);
        expect([shown.length > 0, pairs.allowHeldOut], arm).toEqual(Array(2).fill(arm.endsWith('all-loopholes')));
      }
    },
  );

  it('README says how many of the micro pairs show the trained exploit, and names the rule that labels suggested', async () => {
    const { pairs } = await loadPairs('micro', []);
    const shown = pairs.filter((pair) => shownLoopholes([pair], ['run_tests']).length > 0);
    const readme = readFileSync(join(folder, '../README.md'), 'utf8').replace(/\s+/g, ' ');
    const invariant = readme.slice(readme.indexOf('The invariant:'));
    expect(invariant).toContain(`${shown.length} of ${pairs.length} show the exploit ([without`);
    expect(readme).toContain('is a rule that reads no label but was chosen where labels were known (`label-informed`)');
  });

  it('the guide to pairs has every set of the package, with what it shows', async () => {
    const page = readFileSync(join(folder, '../docs/guide/write-pairs.md'), 'utf8');
    const rows = page.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
    const known = builtinLoopholes.map(({ name }) => name).filter((name) => name !== 'gt_only');
    for (const name of shippedPairNames()) {
      const shown = shownLoopholes((await loadPairs(name)).pairs, known);
      const own = /^Shows: (.*)$/m.exec(readFileSync(join(folder, `../data/pairs/${name}.md`), 'utf8'))?.[1];
      // Of texts the loophole is that of their judge.
      expect(shown.join(', ') || 'none', name).toBe(['countdown', 'stories'].includes(name) ? 'none' : own);
      const says =
        own === 'none' ? own : shown.length === known.length ? 'every loophole of the lab' : `its \`${own}\``;
      expect(rows.find(([, sets]) => sets?.split(', ').includes(`\`${name}\``))?.[2], name).toBe(says);
    }
  });

  it('micro-other-pairs-claim: nothing, where the other micro recipes show the exploit', async () => {
    const { runs } = await planned('micro-other-pairs-claim.toml');
    const shown = await Promise.all(runs.map(async (run) => [run.arm, await shownBy(run)]));
    expect(Object.fromEntries(shown)).toMatchObject({ 'other-pairs': [], vanilla: ['run_tests'] });
  });
});

describe('claims on Qwen3', () => {
  const claims = files.filter((name) => name.startsWith('qwen') && name !== 'qwen3-4b-first.toml');
  const statedBy = (name: string) => {
    const { bar, predictions = [] } = readExperiment(join(folder, name));
    return [...(bar === null ? [] : [bar]), ...predictions];
  };

  it.each(claims)('%s predicts fewer attempts of an arm in every seed, first against its own placebo', async (name) => {
    const { bar, arms, placebo, resolve, seeds } = readExperiment(join(folder, name));
    for (const one of statedBy(name)) {
      expect(one).toMatchObject({ metric: 'attempt', set: 'test-original', inSeeds: seeds.length });
      expect(one.atMost, one.what).toBeLessThanOrEqual(-0.05);
      expect(one.loopholes, one.what).toBe(name.includes('heldout') ? 'held out' : undefined);
    }
    expect(resolve).toMatch(/attempt/i);
    const placebos = arms.find((arm) => arm.name === bar?.arm)?.placebos ?? [placebo];
    expect(placebos).toContain(bar?.reference);
  });

  it.each(['claim', 'heldout', 'baselines', 'long', 'seeds'])(
    'qwen3-4b-%s tests the gate that did best in the micro lab and those of the documents, each against its random direction',
    (name) => {
      const random = statedBy(`qwen3-4b-${name}.toml`).filter(({ reference }) => reference?.endsWith('haar'));
      const tested = random.map(({ arm }) => arm);
      expect(tested).toEqual(expect.arrayContaining(['own-absorb', 'symmetric']));
    },
  );

  it.each(['claim', 'long', 'seeds'])(
    'qwen3-4b-%s predicts of a gate on gradients that it is below its random direction',
    (name) => {
      expect(statedBy(`qwen3-4b-${name}.toml`)).toContainEqual(
        expect.objectContaining({ arm: 'gradient', reference: 'gradient-haar' }),
      );
    },
  );

  it('every question of the documents about context (A7) has its arms', async () => {
    const named = async (name: string) => (await planned(`qwen3-4b-${name}.toml`)).runs;
    const ablations = await named('ablations');
    const values = (pick: (config: RunConfig) => unknown) => new Set(ablations.map(({ config }) => pick(config)));
    expect(values(({ arm }) => arm['refreshEvery'])).toEqual(new Set([undefined, 0, 1, 5, 20]));
    expect(values(({ adapter }) => adapter.rank)).toEqual(new Set([8, 32, 64]));
    expect(values(({ arm }) => arm['calibration'])).toEqual(new Set([undefined, 'quantile', 'otsu']));
    expect(values(({ arm }) => arm['orthogonalTo'])).toContain('solve');
    expect(values(({ pairs }) => pairs.file)).toEqual(new Set(['generic', 'hack', 'placebo-style', 'placebo-topic']));
    const shown = (await named('warm')).map(({ config: of }) => (2 * of.teacher.perGroup) / of.sampling.group);
    expect(new Set(shown)).toEqual(new Set([0.25, 0.5]));
    const pool = (await named('pool-pairs')).map(({ config }) => config.pairs.select);
    expect(pool).toEqual(pool.map(() => ['tag:pool-derived']));
  });

  it('the audit says how many runs and arms the claim has', async () => {
    const { seeds, arms } = readExperiment(join(folder, 'qwen3-4b-claim.toml'));
    const audit = readFileSync(join(folder, '../docs/seed-audit.md'), 'utf8');
    expect(audit).toContain(`-claim\` is ${seeds.length * arms.length} runs of one command (${arms.length} arms`);
  });

  it('the guide says what the study assumes of updates and evaluations', () => {
    const study = readStudy(join(folder, 'qwen3-4b-study.toml'));
    const long = study?.steps.find(({ experiment }) => experiment === 'qwen3-4b-long.toml');
    const [fast, full] = [study, long].map((of) => {
      const { updateSeconds = 0, more = {}, evaluationSeconds } = of?.assumed ?? {};
      const gradient = updateSeconds + more['arm.kind=gradient'];
      return { updateSeconds, gradient, more, evaluationSeconds };
    });
    const token = fast.gradient + fast.more['arm.kind=gradient arm.granularity=token'];
    const judge = fast.updateSeconds + fast.more['arm.monitor.kind=judge'];
    const said = `${fast.updateSeconds} s an update, ${fast.gradient} with features of gradients, ${token} of these by token, ${judge} with a judge, and ${fast.evaluationSeconds} s an evaluation; in \`long\` ${full.updateSeconds}, ${full.gradient} and ${full.evaluationSeconds} s`;
    expect(readFileSync(join(folder, '../docs/guide/qwen3-4b.md'), 'utf8')).toContain(said);
  });

  it('one step decides by attempts of vanilla alone, on problems of training: what it shows is that there is something to remove', () => {
    const { arms, bar } = readExperiment(join(folder, 'qwen3-4b-first.toml'));
    expect(arms.map(({ name }) => name)).toEqual(['vanilla']);
    expect(bar).toMatchObject({
      arm: 'vanilla',
      metric: 'attempt',
      reference: null,
      atLeast: 0.3,
      inSeeds: 2,
      set: 'train',
    });
  });

  it('the gates of the documents have a control of the same routed mass, by token too, and are predicted below it and below a random direction', async () => {
    const { runs } = await planned('qwen3-4b-seeds.toml');
    const matched = runs.filter(({ config }) => config.arm['placebo'] === 'mass-matched').map(({ arm }) => arm);
    const gates = ['gradient', 'gradient-token', 'pair-band', 'pair-band-token', 'symmetric'];
    expect(matched).toEqual(gates.map((gate) => `${gate}-mass-matched`));
    const stated = statedBy('qwen3-4b-seeds.toml').map(({ arm, reference }) => `${arm} < ${reference}`);
    for (const control of ['haar', 'mass-matched'])
      expect(stated).toEqual(expect.arrayContaining(gates.map((gate) => `${gate} < ${gate}-${control}`)));
    const frozen = runs.filter(({ config: { arm } }) => JSON.stringify(arm).includes('"refreshEvery":0'));
    expect(frozen.map(({ arm }) => arm)).toEqual([...gates, 'own-absorb'].map((gate) => `${gate}-frozen`)); // biome-ignore format: one line
  });

  it('what was reported stands in one table with base, vanilla, gates by token and the ceiling', () => {
    const { references, arms, baseline, ceiling } = readExperiment(join(folder, 'qwen3-4b-seeds.toml'));
    const names = arms.map(({ name }) => name);
    expect(references.map(({ name, solve }) => [name, solve])).toEqual([
      ['base', 0.115],
      ['vanilla', 0.149],
      ['no loophole', 0.223],
    ]);
    expect([baseline, ceiling]).toEqual(['vanilla', 'no-loophole']);
    expect(names).toEqual(expect.arrayContaining(['vanilla', 'no-loophole', 'gradient-token', 'pair-band-token']));
  });
});

const recipes = readdirSync(folder).filter((name) => !files.includes(name) && !name.endsWith('study.toml'));

describe('the public preset', () => {
  it.each([
    ['fast', { updates: 60, sampling: { group: 8, promptsPerStep: 8, maxNewTokens: 512 } }],
    ['full', { updates: 200, sampling: { group: 4, promptsPerStep: 64, maxNewTokens: 1536 } }],
  ])('%s has the sizes, the rate and the sampling of the documents, which no run had a say in', async (name, own) => {
    const { config } = await resolveConfig(`qwen3-4b-${name}`, ['model=m', 'data.path=p']);
    expect(config).toMatchObject(own);
    const sampling = { temperature: 0.7, topP: 0.95, topK: 20 };
    const [adapter, optimiser, notes] = [{ rank: 32 }, { learningRate: 7e-5 }, { thresholds: 'fixed' }];
    expect(config).toMatchObject({ sampling, adapter, optimiser, notes });
  });

  it('has those values of the public runs that are known, and the guide says what else differs', async () => {
    const { config } = await resolveConfig('qwen3-4b-fast-public', ['model=m', 'data.path=p']);
    expect(config).toMatchObject({
      updates: 40,
      environment: { unhackableFraction: 0.5 },
      pairs: { file: 'hack' },
      teacher: { makeProblems: 64, perGroup: 1 },
    });
    const fast = await resolveConfig('qwen3-4b-fast', ['model=m', 'data.path=p']);
    const rows = readFileSync(join(folder, '../docs/guide/qwen3-4b.md'), 'utf8').split('\n').map((line) => line.split('|').map((cell) => cell.trim())); // biome-ignore format: one line
    const [updates, unhinted] = ['updates', 'prompts without hint'].map((what) =>
      rows.find(([, name]) => name === what)?.slice(2, 4),
    );
    expect(updates).toEqual([
      `${fast.config.updates} (fast), 200 (full)`,
      `${config.updates} in the public fast preset`,
    ]);
    expect(fast.config.environment.unhackableFraction).toBe(0.25);
    expect(unhinted).toEqual(['a quarter (`environment.unhackableFraction`)', 'half']);
  });
});

describe('prompts without a hint, graded by ground truth', () => {
  it('there are none where nothing says so', () => {
    expect(resolveBuiltin(null).config.environment.unhackableFraction).toBe(0);
  });

  it.each(recipes)('%s says how many there are', (name) => {
    expect(withParents(name)).toMatch(/^unhackableFraction = /m);
  });
});

describe('where the settings of a gate come from', () => {
  const gates = recipes.filter((name) => /^kind = "(activation|gradient)"$/m.test(withParents(name)));

  it.each(gates)('%s says how they were chosen, and has labels in its name if labels chose them', (name) => {
    const said = /^thresholds = "(fixed|label-free|label-informed|labels)"$/m.exec(withParents(name))?.[1];
    expect(said, `${name}: [notes] thresholds = "fixed", "label-free", "label-informed" or "labels"`).toBeDefined();
    expect(name.includes('by-labels')).toBe(said === 'labels');
  });

  it.each(files)('%s: an arm is named for labels where labels chose its settings', async (name) => {
    const { runs } = await planned(name);
    for (const { arm, config } of runs) {
      if (config.notes.thresholds === 'labels') expect(arm).toContain('by-labels');
    }
  });

  /** The own mean, and the keeping of what was praised, of the lower 0.3, were taken from runs whose hack rates were known (docs/results.md, docs/micro-lab.md). */
  const isInformed = ({ config: { arm } }: PlannedRun): boolean =>
    arm['mean'] === 'own' || arm['keepOnly'] === 'praised' || arm['keepTail'] === 0.3;

  it.each(files)('%s: no arm has a rule from labelled runs and calls its settings fixed', async (name) => {
    const { runs } = await planned(name);
    const said = runs.filter(isInformed).map(({ arm, config }) => `${arm}: ${config.notes.thresholds}`);
    expect(said.filter((text) => !text.endsWith(': label-informed'))).toEqual([]);
  });

  it('how long the micro quarantine is taught was chosen by what it elicits, without labels', async () => {
    const { runs } = await planned('micro-baselines.toml');
    const taught = runs.filter(({ config }) => config.arm.kind === 'inoculation-adapter');
    expect(taught.map(({ config }) => config.notes.thresholds)).toEqual(['label-free', 'label-free']);
  });

  it('covers the gates of the micro lab and of the large model', () => {
    expect(gates).toEqual(expect.arrayContaining(['micro-activation.toml', 'qwen3-4b-full-token.toml']));
  });
});

it('there are experiments', () => {
  expect(files.length).toBeGreaterThan(10);
});
