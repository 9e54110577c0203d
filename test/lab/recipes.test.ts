/** Every recipe of the package resolves with the keys that its user must give, and says so if they are missing. Nothing is opened or trained. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../../src/lab/index.ts';
import { readToml } from '../../src/run/config/recipes.ts';
import type { RunConfig } from '../../src/run/config/schema.ts';
import { planExperiment, readExperiment } from '../../src/study/experiment.ts';
import { planStudy, readStudy } from '../../src/study/steps.ts';

const given = ['model=./models/mine', 'data.path=train.jsonl', 'data.testPath=test.jsonl'];

async function configsOf(path: string, settings: readonly string[]): Promise<readonly RunConfig[]> {
  const study = readStudy(path);
  if (study !== null) {
    const steps = await planStudy(study, 'runs', { set: settings, seeds: [41] });
    return steps.flatMap(({ plan }) => plan.runs.map(({ config }) => config));
  }
  if (readToml(path, 'test')['arms'] === undefined) return [(await resolveConfig(path, settings)).config];
  const written = readExperiment(path);
  // Seeds differ in nothing else: two show that each arm has all.
  const experiment = { ...written, seeds: written.seeds.slice(0, 2) };
  const { runs } = await planExperiment(experiment, path, settings);
  expect(runs).toHaveLength(experiment.arms.length * experiment.seeds.length);
  return runs.map(({ config }) => config);
}

const recipes = readdirSync('recipes').map((name) => join('recipes', name));

/** What the arms of such names are, in every experiment. */
const methods: readonly (readonly [name: RegExp, is: object])[] = [
  [/^symmetric/, { kind: 'activation', calibration: 'quantile', tail: 0.1, keepTail: null, mean: 'group' }],
  [/^activation(?!-penalty)/, { kind: 'activation', calibration: 'otsu', keepTail: 0.3, keepOnly: 'praised' }],
  [/^gradient(?!-reg)/, { kind: 'gradient', calibration: 'quantile', tail: 0.1, keepTail: null, mean: 'group' }],
  [/^pair-band/, { kind: 'gradient', calibration: 'pairs', score: 'cosine', mean: 'group' }],
  [/^own-absorb/, { kind: 'routed', mean: 'own', others: 'absorb' }],
  [/^own-absorb(?!-chance)/, { monitor: { kind: 'direction', cut: 'otsu' } }],
  [/^oracle|^routed/, { others: 'absorb', mean: 'group' }],
  [/-oracle-0\.9$/, { monitor: { target: 'outcome', accuracy: 0.9 } }],
  [/-oracle$/, { monitor: { target: 'outcome', accuracy: 1 } }],
  [/^token|-token/, { granularity: 'token' }],
];

const settingsOf = (path: string): readonly string[] =>
  path.includes('qwen') ? given : path.includes('/easy-') ? ['model=Qwen/Qwen3-0.6B'] : [];

describe('the recipes of the package', () => {
  it.each(recipes.filter((path) => !/\/(?:qwen3-4b|easy|stories)-/.test(path)))(
    '%s needs nothing but bases that it says how to make',
    async (path) => {
      const text = readFileSync(path, 'utf8');
      const made = [...text.matchAll(/gq micro pretrain --to (\S+)/g)].map(([, base]) => join(process.cwd(), base));
      for (const { model, data } of await configsOf(path, [])) {
        expect(data.kind).toBe(path.includes('/countdown-') ? 'countdown' : 'micro');
        expect(['micro', 'micro-two', 'countdown', ...made]).toContain(model);
      }
    },
  );

  it.each(recipes.filter((path) => path.includes('qwen3-4b-')))('%s needs a model and problems', async (path) => {
    for (const config of await configsOf(path, given)) {
      expect(config).toMatchObject({
        model: join(process.cwd(), 'models/mine'),
        data: { kind: 'file', path: join(process.cwd(), 'train.jsonl'), testPath: join(process.cwd(), 'test.jsonl') },
        device: { kind: 'cuda' },
      });
    }
    await expect(configsOf(path, [])).rejects.toThrow(
      'config, key data.path: expected text, found nothing. It must be given: --set data.path=VALUE, or in the recipe.',
    );
  });

  it.each(recipes.filter((path) => path.includes('/easy-')))(
    '%s has easy tasks, and a model that it or the call names',
    async (path) => {
      const isNamed = /^model = /m.test(readFileSync(path, 'utf8'));
      for (const { model, data, device } of await configsOf(path, isNamed ? [] : ['model=Qwen/Qwen3-0.6B'])) {
        expect({ data, device }).toMatchObject({ data: { kind: 'easy' }, device: { kind: 'cuda' } });
        expect(model).toMatch(/^(?:Qwen|HuggingFaceTB)\/[\w.-]+$/);
      }
    },
  );

  it.each(recipes.filter((path) => path.includes('/stories-')))(
    '%s has openings of stories and pairs in their words, for a model of stories on a processor',
    async (path) => {
      for (const { model, data, device, pairs } of await configsOf(path, [])) {
        expect({ data, device, pairs }).toMatchObject({
          data: { kind: 'stories' },
          device: { kind: 'wasm' },
          pairs: { file: 'stories' },
        });
        expect(model).toBe('SimpleStories/SimpleStories-V2-1.25M');
      }
    },
  );

  it('have every kind of gate by token, with a buffer that the 4B shape has room for', async () => {
    const byToken = async (path: string) =>
      (await configsOf(path, path.includes('qwen') ? given : []))
        .filter(({ arm }) => arm['granularity'] === 'token')
        .map(({ arm }) => arm);
    const kinds = [
      ['activation', 'quantile'],
      ['gradient', 'quantile'],
      ['gradient', 'pairs'],
    ];
    const [micro, qwen] = [
      await byToken('recipes/micro-ablations.toml'),
      [...(await byToken('recipes/qwen3-4b-ablations.toml')), ...(await byToken('recipes/qwen3-4b-seeds.toml'))],
    ];
    for (const gates of [micro, qwen]) {
      for (const placebo of ['none', 'haar']) {
        const own = gates.filter((gate) => gate['placebo'] === placebo);
        expect(own.map(({ kind, calibration }) => [kind, calibration])).toEqual(expect.arrayContaining(kinds));
      }
    }
    const qwenFeatures = 36 * 7 * 32;
    for (const { bufferRows, bufferTokens } of qwen) {
      expect(Number(bufferRows) * Number(bufferTokens) * qwenFeatures * 4).toBeLessThan(2 ** 29);
    }
  });

  it('call one method by a name: gate, cuts, monitor, remedy, direction and start are those that it says, on loopholes dealt out split by split', async () => {
    const files = recipes.filter((path) => /\/(?:qwen3-4b|easy)-/.test(path) && !path.endsWith('-study.toml'));
    const experiments = files.filter((path) => readToml(path, 'test')['arms'] !== undefined);
    const plans = experiments.map((path) => {
      const written = readExperiment(path);
      return planExperiment({ ...written, seeds: written.seeds.slice(0, 1) }, path, settingsOf(path));
    });
    const runs = (await Promise.all(plans)).flatMap((plan) => plan.runs);
    for (const { arm: name, config } of runs) {
      const { arm, adapter, loss, environment } = config;
      expect(environment.partitionBy, name).toBe('split');
      const monitor = Object(arm['monitor']);
      for (const [pattern, is] of methods) if (pattern.test(name)) expect(arm, name).toMatchObject(is);
      const kind =
        /^(?:vanilla|no-loophole|absorb|oracle|penalty|zero|screen|filter|routed|probe-penalty|steer|ablate)/;
      const [said] = kind.exec(name) ?? [arm.kind];
      expect(arm.kind, name).toBe(said);
      const [watching] = /(?<=^(?:penalty|zero|screen|filter|routed|own-absorb)-)(?:probe|judge|regex|oracle|chance)/.exec(name) ?? [monitor.kind]; // biome-ignore format: one line
      expect(monitor.kind, name).toBe(watching);
      const [placebo = 'none'] = /haar|mass-matched|random/.exec(name) ?? [];
      expect(arm['placebo'] ?? monitor.placebo ?? 'none', name).toBe(placebo);
      if (monitor.kind === undefined || monitor.kind === 'direction')
        expect((arm['refreshEvery'] ?? monitor.refreshEvery) === 0, name).toBe(name.endsWith('frozen'));
      const [family = 'lora'] = /scorda-reversed|scorda|pissa|antipasto|frozen-b/.exec(name) ?? [];
      expect(adapter.family.replace('lora-', ''), name).toBe(family);
      expect(loss.klWeight === 0, name).toBe(/no-kl|^kl-0$/.test(name));
      expect(arm['granularity'] === 'token', name).toBe(name.includes('token'));
    }
    const count = (pattern: RegExp): number => runs.filter(({ arm }) => pattern.test(arm)).length;
    expect(count(/^symmetric/)).toBeGreaterThan(4);
    expect(count(/^activation(?:-haar)?$/)).toBe(2);
    // Recipes of single runs too.
    const gates = { symmetric: 'quantile', activation: 'otsu' };
    const single = Object.entries(gates).flatMap(([name, calibration]) =>
      recipes.flatMap((recipe) => (recipe.endsWith(`-${name}.toml`) ? [{ recipe, calibration }] : [])),
    );
    for (const { recipe, calibration } of single) {
      const { config } = await resolveConfig(recipe, settingsOf(recipe));
      expect(config.arm, recipe).toMatchObject({ kind: 'activation', calibration });
    }
    expect(single.map(({ recipe }) => recipe)).toContain('recipes/micro-activation.toml');
  });

  it('are all of these families', () => {
    expect(
      recipes.filter(
        (path) => !/\/(?:demo|(?:demo|micro|atlas|countdown|qwen3-4b|easy|stories)-[a-z0-9.-]+)\.toml$/.test(path),
      ),
    ).toEqual([]);
  });
});
