/** Keys that somebody sets and that nothing reads under the other keys are refused; those that were inherited are not. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readWhen, UserError } from '../../base/index.ts';
import { defineArm, seesNothing } from '../../grpo/index.ts';
import { builtinParts, resolveBuiltin, resolveConfig, train } from '../../lab/index.ts';
import { joinParts } from '../../lab/plugins.ts';
import { checkExperiment, planExperiment } from '../../study/experiment.ts';
import { checkConfig, readConfig } from './config.ts';
import { listKeys } from './issues.ts';
import type { RunConfig } from './schema.ts';
import { ruleOf, useWords } from './unread-keys.ts';

const folder = mkdtempSync(join(tmpdir(), 'gq-unread-'));

function recipe(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** Settings whose last one has no reader beside the others, and a part of what is said about it. */
const unread: readonly (readonly [string, string])[] = [
  ['arm.kind=activation arm.calibration=otsu arm.keepTail=1 arm.tail=0.45', 'arm.calibration = "quantile"'],
  ['arm.kind=gradient arm.calibration=pairs arm.tail=0.3', 'arm.calibration = "pairs" (--set)'],
  ['arm.kind=activation arm.calibration=pairs arm.keepTail=0.3', 'arm.calibration = "quantile" or "otsu" or "mixture"'],
  ['arm.kind=activation arm.calibration=pairs arm.halfLife=7', 'arm.calibration'],
  ['arm.kind=activation arm.calibration=pairs arm.warmupRows=7', 'arm.calibration'],
  ['arm.kind=activation arm.keepTail=0 arm.keepOnly=praised', 'arm.keepTail other than 0'],
  ['arm.kind=activation arm.bufferTokens=7', 'arm.granularity = "token"'],
  ['arm.kind=activation arm.placeboSeed=7', 'arm.placebo = "haar" or "shuffled" or "mass-matched"'],
  ['arm.kind=activation arm.placebo=haar arm.standardise=true', 'arm.placebo other than "haar"'],
  ['arm.kind=gradient pairs.generated=30', 'arm.generatedPairs = true'],
  ['arm.kind=steer arm.scale=0 arm.layer=1', 'arm.scale other than 0'],
  ['arm.kind=early-stop arm.placebo=chance arm.prompts=9', 'arm.placebo = "none"'],
  ['arm.kind=early-stop arm.placebo=chance arm.patience=9', 'arm.placebo = "none"'],
  ['arm.kind=early-stop arm.placebo=chance arm.leastRise=9', 'arm.placebo = "none"'],
  ['arm.kind=project arm.of=pairs arm.every=5', 'arm.of = "checkpoints"'],
  ['arm.kind=gradient-regularisation arm.gamma=0 arm.epsilon=1e-2', 'arm.gamma other than 0'],
  ['arm.kind=penalty arm.monitor.kind=probe arm.monitor.threshold=0.9', 'arm.monitor.cut = "fixed"'],
  ['arm.kind=penalty arm.monitor.kind=direction arm.monitor.flaggedClean=0.1', 'arm.monitor.cut = "fpr"'],
  ['arm.kind=penalty arm.monitor.kind=probe arm.monitor.halfLife=3', 'arm.monitor.cut = "otsu"'],
  ['arm.kind=penalty arm.monitor.kind=probe arm.monitor.labelledRollouts=9', 'arm.monitor.labelledRun other than null'],
  [
    'arm.kind=penalty arm.monitor.kind=probe arm.monitor.labelledRun=runs/one arm.monitor.placebo=shuffled',
    'arm.monitor.labelledRun = null',
  ],
  ['arm.kind=penalty arm.monitor.kind=probe arm.abstain=clean', 'arm.monitor.kind = "regex" or "judge"'],
  ['arm.kind=zero arm.monitor.kind=judge arm.monitor.model=base arm.monitor.retries=1', 'arm.monitor.endpoint'],
  [
    'arm.kind=zero arm.monitor.kind=judge arm.monitor.model=base arm.monitor.maxTokens=9',
    'arm.monitor.answer = "text"',
  ],
  [
    'arm.kind=zero arm.monitor.kind=judge arm.monitor.model=base arm.monitor.besideMost=3',
    'arm.monitor.beside other than "nothing"',
  ],
  [
    'arm.kind=zero arm.monitor.kind=oracle arm.monitor.recall=1 arm.monitor.falsePositiveRate=0 arm.monitor.accuracy=0.9',
    'arm.monitor.recall = null, or arm.monitor.falsePositiveRate = null',
  ],
  ['monitor.kind=direction remedy.kind=screen cut.keepTail=0.3', 'remedy.kind = "route" and remedy.others = "absorb"'],
  ['monitor.kind=direction remedy.kind=route remedy.others=keep cut.keepTail=0.3', 'remedy.others = "absorb"'],
  ['monitor.kind=direction remedy.kind=screen cut.bufferTokens=8', 'monitor.granularity = "token"'],
  ['monitor.kind=direction remedy.kind=route cut.kind=pairs cut.halfLife=8', 'monitor.granularity = "token"'],
  ['monitor.kind=direction remedy.kind=screen cut.kind=pairs cut.low=true', 'remedy.kind = "route"'],
  ['monitor.kind=direction remedy.kind=route remedy.keepOnly=praised', 'remedy.others = "keep"'],
  ['monitor.kind=direction remedy.kind=route remedy.placeboSeed=3', 'remedy.placebo = "mass-matched"'],
  ['arm.kind=oracle arm.partRecall=0.5', 'arm.partLoopholes other than []'],
  ['arm.kind=oracle arm.partFalsePositiveRate=0.5', 'arm.partMarkers other than null'],
  ['arm.kind=zero arm.monitor.kind=oracle arm.monitor.partRecall=0.5', 'arm.monitor.partPrompts other than null'],
  ['teacher.perGroup=2', 'teacher.offStep other than 0'],
  ['teacher.makeSamples=4', 'teacher.makeProblems other than 0'],
  ['teacher.pool=pool.jsonl', 'an arm that learns from the pool'],
  ['safety.healLearningRate=1e-3', 'safety.healSteps other than 0'],
  ['sampler.kind=sglang', 'sampler.url other than null'],
  ['sampler.keyVariable=KEY', 'sampler.url other than null'],
  ['sampler.folder=out', 'sampler.url other than null'],
  ['sampler.serverFolder=out', 'sampler.url other than null'],
  ['sampler.maxStaleness=1', 'sampler.url other than null'],
  ['sampler.tolerance=0.1', 'sampler.url other than null'],
  ['sampler.onMismatch=local', 'sampler.url other than null'],
  ['sampler.parallel=2', 'sampler.url other than null'],
  ['sampler.timeoutSeconds=9', 'sampler.url other than null'],
  ['sampler.retries=1', 'sampler.url other than null'],
  ['lasting.steps=3', 'lasting.kind = "collapse" or "undo"'],
  ['lasting.kind=none lasting.placebo=noise', 'lasting.kind = "collapse" or "undo"'],
  ['arm.kind=absorb lasting.kind=undo lasting.components=1', 'lasting.kind = "collapse"'],
  ['arm.kind=absorb lasting.kind=undo lasting.size=1', 'lasting.kind = "collapse"'],
  ['arm.kind=absorb lasting.kind=collapse lasting.alpha=0.5', 'lasting.kind = "undo"'],
  ['arm.kind=absorb lasting.kind=collapse lasting.beta=0.5', 'lasting.kind = "undo"'],
  ['arm.kind=absorb lasting.kind=collapse lasting.batches=2', 'lasting.kind = "undo"'],
  ['arm.kind=absorb lasting.kind=collapse lasting.learningRate=1e-3', 'lasting.kind = "undo"'],
  ['arm.kind=absorb lasting.kind=undo pairs.select=["all"]', 'lasting.kind "collapse"'],
  ['safety.tripwirePrompts=0 safety.tripwireNats=3', 'safety.tripwirePrompts other than 0'],
  ['loss.klWeight=0 arm.kind=activation loss.klRoute=absorb', 'loss.klWeight other than 0'],
  ['loss.klRoute=absorb', 'an arm that routes rollouts'],
  ['arm.kind=absorb loss.detach=parameter', 'an arm that routes rollouts'],
  ['arm.kind=absorb optimiser.splitMoments=true', 'an arm that routes rollouts'],
  ['sampling.deployedSampling=0.5', 'an arm with a quarantine'],
  ['sampling.temperature=0 sampling.topP=0.5', 'sampling.temperature other than 0'],
  ['pairs.select=["tag:run_tests"]', 'an arm or an adapter start that uses the pairs'],
  ['arm.kind=ablate arm.placebo=random pairs.select=["all"]', 'an arm or an adapter start that uses the pairs'],
  ['output.storeFeatures=true', 'an arm that reads features'],
  ['arm.kind=no-loophole environment.unhackableFraction=0.5', 'an arm whose prompts disclose loopholes'],
  ['environment.loopholes=["exit_code"] environment.markers=family', 'a loophole that has markers'],
  ['environment.partitionSeed=5', 'more than one loophole'],
  ['environment.partition=p.json environment.partitionBy=split', 'environment.partition = null'],
  ['data.kind=easy environment.interpreter=true', 'data.kind = "micro"'],
  ['device.kind=reference device.threads=2', 'device.kind = "wasm"'],
  ['loss.deviationFloor=0.1', 'loss.kind = "classic"'],
  ['loss.clip=0.0001', 'loss.epochs other than 1, or an arm whose ratio'],
  ['arm.kind=recontextualisation loss.clip=0.1', 'an arm whose ratio'],
  ['arm.kind=steer loss.epochs=1 loss.clip=0.1', 'an arm whose ratio'],
  ['updates=3 optimiser.schedule=constant', 'optimiser.warmupUpdates at least 2 below updates'],
  ['updates=10 optimiser.warmupUpdates=10 optimiser.schedule=constant', 'optimiser.warmupUpdates = 10 (--set)'],
  ['updates=6 optimiser.warmupUpdates=5 optimiser.schedule=constant', 'updates = 6 (--set)'],
  ['device.precision=f32', 'device.kind = "cuda"'],
];

/** The key of the last setting, as it is written: the tables of an arm that watches may stand at the top. */
const keyOf = (settings: string): string => (settings.split(' ').at(-1) ?? '').split('=')[0];

describe('a key that nothing reads', () => {
  it.each(unread)('%s', (settings, words) => {
    const given = settings.split(' ');
    const key = keyOf(settings);
    expect(() => resolveBuiltin(null, given)).toThrow(UserError);
    expect(() => resolveBuiltin(null, given)).toThrow(`config, key ${key}: expected nothing, since no part reads it`);
    expect(() => resolveBuiltin(null, given)).toThrow(words);
    expect(() => resolveBuiltin(null, given.slice(0, -1))).not.toThrow();
  });

  it.each(['partLoopholes=["exit_code"]', 'partMarkers=^run_', 'partPrompts=0.5'])(
    '%s is a part that has rates',
    (part) => {
      const rates = ['arm.partRecall=0.5', 'arm.partFalsePositiveRate=0.5'];
      expect(() => resolveBuiltin(null, ['arm.kind=oracle', `arm.${part}`, ...rates])).not.toThrow();
    },
  );

  it.each([
    'loss.epochs=2 loss.clip=0.1',
    'arm.kind=absorb loss.clip=0.1',
    'arm.kind=gradient-regularisation loss.clip=0.1',
    'arm.kind=penalty arm.monitor.kind=probe loss.clip=0.1',
    'teacher.pool=pool.jsonl teacher.offStep=2 loss.clip=0.1',
    'updates=7 optimiser.warmupUpdates=5 optimiser.schedule=constant',
    'arm.kind=absorb lasting.kind=collapse pairs.select=["all"]',
  ])('%s has a reader, or may have one', (settings) => {
    expect(() => resolveBuiltin(null, settings.split(' '))).not.toThrow();
  });

  it('every rule of the schema is tried, and names keys and uses that exist', () => {
    const tried = new Set(unread.map(([settings]) => keyOf(settings).replace(/^(?=(?:monitor|cut|remedy)\.)/, 'arm.')));
    const keys = listKeys(builtinParts);
    const names = new Set(keys.map(({ path }) => path.join('.')));
    const siblings = new Set<string>();
    for (const { path, variants } of keys) {
      const rules = variants.map((schema) => ruleOf(schema)).filter((rule) => rule !== null);
      if (rules.length === 0) continue;
      for (const condition of rules.flat()) {
        for (const [name, wanted] of Object.entries(condition)) {
          if (name === 'uses') expect(Object.keys(useWords)).toContain(wanted);
          else expect(names).toContain(name.includes('.') ? name : [...path.slice(0, -1), name].join('.'));
          if (Object(wanted).below !== undefined) expect(names).toContain(Object(wanted).below);
        }
      }
      if (!tried.has(path.join('.'))) siblings.add(path.join('.'));
    }
    // Each of these has the very rule of one that is tried.
    expect([...siblings].sort()).toEqual(
      [
        ...['device.variant', 'device.libraries', 'sampling.topK', 'sampling.minP', 'sampling.deployedSamplingLate'],
        ...['pairs.allowHeldOut', 'pairs.leastGenerated', 'arm.monitor.warmupRows', 'arm.monitor.placeboSeed'],
        ...['arm.monitor.standardise', 'arm.monitor.answer', 'arm.monitor.maxQuestionTokens', 'arm.monitor.modelName'],
        ...['arm.monitor.keyVariable', 'arm.monitor.parallel', 'arm.monitor.timeoutSeconds', 'arm.monitor.unreachable'],
        'arm.monitor.partFalsePositiveRate',
      ].sort(),
    );
  });

  it('is refused in a recipe too, and where it was inherited it is not', () => {
    const faulty = recipe('faulty.toml', '[arm]\nkind = "activation"\ncalibration = "pairs"\nhalfLife = 3\n');
    expect(() => resolveBuiltin(faulty, ['seed=2'])).toThrow(/key arm\.halfLife: .* found 3 \(.*faulty\.toml\)/);
    const sound = recipe('sound.toml', '[arm]\nkind = "activation"\ncalibration = "otsu"\nhalfLife = 3\n');
    expect(resolveBuiltin(sound, ['arm.calibration=pairs']).config.arm).toMatchObject({ halfLife: 3 });
    const child = recipe('child.toml', `extends = "sound.toml"\n[arm]\ncalibration = "pairs"\n`);
    expect(resolveBuiltin(child).config.arm).toMatchObject({ halfLife: 3, calibration: 'pairs' });
    expect(() => resolveBuiltin(child, ['arm.halfLife=4'])).toThrow('key arm.halfLife');
    const steady = recipe('steady.toml', 'updates = 20\n[optimiser]\nschedule = "constant"\n');
    expect(resolveBuiltin(steady, ['updates=3']).config.optimiser.schedule).toBe('constant');
  });

  it('does not count where another kind has reset the table', () => {
    const gated = recipe('gated.toml', '[arm]\nkind = "activation"\nhalfLife = 3\n');
    const { config, sources } = resolveBuiltin(gated, ['arm.kind=gradient', 'arm.calibration=pairs']);
    expect(config.arm).toMatchObject({ kind: 'gradient', halfLife: 96 });
    expect(sources.get('arm.halfLife')).toBe('default');
  });

  it('null and false ask for nothing', () => {
    expect(() => resolveBuiltin(null, ['teacher.pool=null', 'output.storeFeatures=false'])).not.toThrow();
  });

  it('of a fork is refused, and what its parent had is not', async () => {
    const { config } = resolveBuiltin(recipe('otsu.toml', '[arm]\nkind = "activation"\ntail = 0.3\n'));
    const base = { config, source: 'runs/x@1' };
    const split = ['arm.calibration=otsu', 'arm.keepTail=1'];
    expect((await resolveConfig(null, split, base)).config.arm).toMatchObject({ tail: 0.3 });
    await expect(resolveConfig(null, [...split, 'arm.tail=0.4'], base)).rejects.toThrow('key arm.tail');
  });

  it('of a config that a program put together is refused by train()', async () => {
    const { config } = resolveBuiltin(null, ['arm.kind=activation', 'arm.calibration=otsu', 'arm.keepTail=1']);
    const changed: RunConfig = { ...config, arm: { ...config.arm, tail: 0.45 } };
    await expect(train(changed, join(folder, 'run'))).rejects.toThrow('key arm.tail: expected nothing');
  });
});

describe('in an experiment', () => {
  const base = recipe('plain.toml', 'updates = 7\n');
  const plan = (changes: object, settings: readonly string[] = [], part: { arms?: string[] } = {}) => {
    const arms = [
      { name: 'vanilla', recipe: base },
      { name: 'gate', recipe: base, set: ['arm.kind=activation', 'arm.calibration=otsu', 'arm.keepTail=1'] },
    ];
    const experiment = checkExperiment({ name: 'x', seeds: [1], arms, placebo: 'vanilla', ...changes }, 'x.toml');
    return planExperiment(experiment, join(folder, 'x.toml'), settings, part);
  };

  it('a grid over a key that nothing reads is refused', async () => {
    const grid = { arms: ['gate'], keys: { 'arm.tail': [0.05, 0.45] } };
    await expect(plan({ grid })).rejects.toThrow('key arm.tail: expected nothing, since no part reads it');
  });

  it('what all arms get must have a reader in one of them', async () => {
    expect((await plan({ set: ['pairs.select=["tag:run_tests"]'] })).runs).toHaveLength(2);
    expect((await plan({}, ['sampling.deployedSampling=0.5'])).runs).toHaveLength(2);
    await expect(plan({ set: ['safety.healLearningRate=1e-3'] })).rejects.toThrow('key safety.healLearningRate');
    await expect(plan({}, ['teacher.perGroup=2'])).rejects.toThrow('key teacher.perGroup');
  });

  it('some of its arms need no reader of what the file sets for the others, but one of what the call sets', async () => {
    const [settings, part] = [['pairs.select=["tag:run_tests"]'], { arms: ['vanilla'] }];
    expect((await plan({ set: settings }, [], part)).runs).toHaveLength(1);
    await expect(plan({}, settings, part)).rejects.toThrow('key pairs.select');
  });
});

it('a plugin says it the same way', () => {
  const own = defineArm({
    kind: 'own',
    summary: 'own',
    settings: z.strictObject({
      form: z.enum(['plain', 'steep']).default('plain'),
      slope: z
        .number()
        .default(1)
        .meta(readWhen({ form: 'steep' })),
    }),
    open: () => ({ sees: seesNothing }),
  });
  const parts = joinParts(builtinParts, { arms: [own] }, 'test');
  const check = (...settings: string[]) => checkConfig(readConfig(null, ['arm.kind=own', ...settings]), parts);
  expect(() => check('arm.slope=2')).toThrow('it is read with arm.form = "steep", found 2 (--set)');
  expect(check('arm.form=steep', 'arm.slope=2').config.arm).toMatchObject({ slope: 2 });
  // It did not say what it uses, so it may use everything.
  expect(check('pairs.file=hack', 'loss.detach=parameter').unread).toEqual([]);
});

it.each([
  ['lasting.kind=undo', '"none" for an arm that deploys everything it trains, found "undo" with arm vanilla'],
  ['arm.kind=absorb lasting.kind=collapse lasting.components=32', 'fewer than adapter.rank (32), found 32'],
  ['arm.kind=absorb lasting.kind=undo lasting.placebo=components', '"none" or "noise" with undo, found "components"'],
])('a step that makes a deletion last has its rules: %s', (settings, message) => {
  expect(() => resolveBuiltin(null, settings.split(' '))).toThrow(message);
});
