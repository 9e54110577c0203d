/**
 * docs/guide/qwen3-4b.md as a reader follows it, from an empty folder with two files of problems and a hub that has the model: every command of
 * the page, in order. The model is a random one with Qwen3's tokenizer, a run has two updates, and of each experiment those arms are trained
 * that its bar names, with the baseline and the placebo of all. The warm start is left out.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse, stringify } from 'smol-toml';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { qwen3Shapes } from '../../bench/qwen3-shapes.ts';
import { assumedUpdateSeconds } from '../../src/study/forecast.ts';
import { planStudy, readStudy } from '../../src/study/steps.ts';
import { HubServer } from '../hub/hub-server.ts';
import { gq } from '../run-gq.ts';
import { temporaryFolder } from './hand-made.ts';
import { writeEmptyModel, writeMultiples, writeTinyQwen } from './qwen-lab.ts';

const page = readFileSync('docs/guide/qwen3-4b.md', 'utf8');
const recipes = resolve('recipes');
const commands = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, block]) => block.trim().split('\n'));

/** Name, runs, time and disk of every step and of all, as the table of the plan has them. */
const planRows = [...page.matchAll(/^\| `?(qwen3-4b-[a-z]+|the whole study)`? +\|.*\| (\d+) +\| (.+? min(?: \d+ s)?) +\| (\S+ GB) +\|$/gm)].map(([, ...cells]) => cells); // biome-ignore format: one line

const small = [
  ...['updates=2', 'output.checkpointEvery=1', 'adapter.rank=2', 'safety.tripwirePrompts=1'],
  ...['sampling.maxNewTokens=4', 'sampling.promptsPerStep=1', 'sampling.group=4'],
  ...['device.kind=wasm', 'device.threads=1', 'device.arenaMiB=192'],
];
const smaller = small.flatMap((setting) => ['--set', setting]);
/** A random model writes no hacks that could be shown to it. */
const withoutTeacher = ['--set', 'teacher.makeProblems=0', '--set', 'teacher.offStep=0'];

interface Written {
  [key: string]: unknown;
  arms: { name: string; placebos?: string[] }[];
  bar: { arm: string; reference?: string };
  grid?: { arms: string[]; keys: Record<string, unknown[]> };
}

/** What an experiment has in the test beside the arms of its bar; other settings than elsewhere make runs of its own, as other seeds and lengths do in the study. */
const kept: Readonly<Record<string, { readonly arms?: readonly string[]; readonly set?: readonly string[] }>> = {
  'qwen3-4b-first': { set: [] },
  'qwen3-4b-seeds': { arms: ['no-loophole'] },
  'qwen3-4b-heldout': { set: [] },
  'qwen3-4b-recall': { set: [] },
  'qwen3-4b-baselines': { arms: ['no-loophole', 'penalty-probe'], set: ['optimiser.warmupUpdates=3'] },
  'qwen3-4b-long': { set: ['optimiser.warmupUpdates=4'] },
};
const fewPairs = 'pairs.select=["heading:Survey,Repair"]';

/** The experiment with the arms that its bar names, and a short evaluation. */
function cut({ predictions: _, grid, ceiling, ...written }: Written): Written {
  const { bar, baseline, placebo } = written;
  const name = String(written['name']);
  const { arms: others = [], set = [fewPairs] } = kept[name] ?? {};
  const named = [bar.arm, bar.reference, baseline, placebo, ...others];
  const expanded = grid?.arms.filter((arm) => bar.arm.startsWith(`${arm}-`)) ?? [];
  const arms = written.arms
    .filter((arm) => [...named, ...expanded].includes(arm.name))
    .map(({ placebos, ...arm }) => ({
      ...arm,
      ...(placebos === undefined ? {} : { placebos: placebos.filter((each) => named.includes(each)) }),
    }));
  return {
    ...written,
    ...(others.includes('no-loophole') ? { ceiling } : {}),
    ...(expanded.length === 0 ? {} : { grid: { arms: expanded, keys: { 'arm.recall': [1, 0.4] } } }),
    arms,
    evaluation: { sets: ['test-original', 'test-unhinted'], limit: 2, curveEvery: /seeds|long/.test(name) ? 2 : 0 },
    set: [...((written['set'] as string[]) ?? []), ...set],
  };
}

const home = temporaryFolder();
const usual = process.cwd();
let hub: HubServer;

beforeAll(async () => {
  const model = join(home, 'made');
  await writeTinyQwen(model);
  await writeEmptyModel(join(home, 'shape'), qwen3Shapes['4b']);
  const files = readdirSync(model).map((name) => [name, readFileSync(join(model, name))] as const);
  hub = await HubServer.start(new Map(files), 'Qwen/Qwen3-4B');
  for (const [name, value] of [
    ['HF_HUB_CACHE', join(home, 'cache')],
    ['HF_ENDPOINT', hub.endpoint],
    ['GQ_STATE', join(home, 'state')],
  ]) {
    vi.stubEnv(name, value);
  }
  const folder = join(home, 'recipes');
  cpSync(recipes, folder, { recursive: true });
  for (const name of readdirSync(folder).filter((each) => each.startsWith('qwen3-4b-'))) {
    const written = parse(readFileSync(join(folder, name), 'utf8'));
    if (written['arms'] !== undefined) writeFileSync(join(folder, name), stringify(cut(written as unknown as Written)));
    const steps = written['steps'] as { readonly experiment: string }[] | undefined;
    if (steps !== undefined) {
      const cold = steps.filter(({ experiment }) => experiment !== 'qwen3-4b-warm.toml');
      writeFileSync(join(folder, name), stringify({ ...written, steps: cold }));
    }
  }
  // Some of the first are validation problems, by the hash of their ids.
  const reader = join(home, 'reader');
  mkdirSync(reader);
  writeMultiples(
    join(reader, 'train.jsonl'),
    Array.from({ length: 24 }, (_, i) => 2 + i),
  );
  writeMultiples(join(reader, 'test.jsonl'), [101, 102, 103, 104]);
  process.chdir(reader);
});

afterAll(async () => {
  process.chdir(usual);
  vi.unstubAllEnvs();
  await hub[Symbol.asyncDispose]();
});

/** Where the page says that a command ends with 1: the step that decides says no, and predictions of two updates are not met. */
const codeOf = (command: string): number =>
  /^gq claim runs/.test(command) || (/^gq experiment qwen3-4b-study/.test(command) && !/--(dry-run|regardless)$/.test(command)) ? 1 : 0; // biome-ignore format: one line

const stepsOf = async (name: string) => {
  const study = readStudy(join(recipes, `${name}.toml`));
  return study === null ? [] : await planStudy(study, 'runs', { set: ['model=m', 'data.path=a', 'data.testPath=b'] });
};

describe('the page', () => {
  it('has commands of gq alone', () => {
    expect(commands.filter((command) => !command.startsWith('gq '))).toEqual([]);
    expect(commands.length).toBeGreaterThan(20);
  });

  it.each(commands)('%s', async (command) => {
    const [, name, first, ...rest] = (command.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll("'", ''));
    const isStudy = name === 'experiment';
    const recipe = isStudy ? [join(home, 'recipes', `${first}.toml`)] : first === undefined ? [] : [first];
    const added: Readonly<Record<string, readonly string[]>> = {
      experiment: ['--seeds', '41', ...smaller],
      train: [...smaller, ...withoutTeacher],
      eval: command.includes('--elicit') ? smaller : [],
    };
    const more = added[name] ?? [];
    const { code, out, err } = await gq(name, ...recipe, ...rest, ...more);
    expect(code, err.slice(-1500)).toBe(codeOf(command));
    // What the base does on each hint, not on one.
    if (command.includes('--elicit')) expect(out).toMatch(/by loophole[\s\S]*file_marker[\s\S]*run_tests/);
    if (isStudy && code === 1)
      expect(out).toMatch(/The study ends here: .* is (?:open|refuted)[\s\S]*gq experiment qwen3-4b-warm-study/);
  });

  it('says that a base which writes no hacks is told so before it is trained', async () => {
    expect(page).toContain('ends with 2 where the base writes none that the grader confirms');
    const command = commands.find((each) => each.startsWith('gq train qwen3-4b-fast-public')) ?? '';
    const few = ['--set', 'teacher.makeProblems=2', '--set', 'teacher.makeSamples=1', '--out', 'runs/no-hacks'];
    const { code, err } = await gq(...command.split(' ').slice(1), ...smaller, ...few);
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('none that the grader confirms') });
  });

  it('names figures and files that its commands made', () => {
    const named = [...page.matchAll(/`(figures\/[\w/-]+\.svg|[\w-]+\.html)`/g)].map(([, path]) => path);
    // Its axes are shares of what was learned, and a random model learns nothing in two updates; nor has it a hack or a solve for a trace.
    const empty = 'figures/baselines/baselines.svg';
    expect(named.filter((path) => !existsSync(path))).toEqual([empty]);
    expect(named.length).toBeGreaterThan(5);
    expect(existsSync('seeds.html')).toBe(true);
  });

  it('has a command that was executed, and a test, for each table and figure of the documents', () => {
    const rows = page
      .split('\n')
      .slice(page.split('\n').findIndex((line) => line.startsWith('| table or figure of the documents')) + 2)
      .filter((line, i, all) => line.startsWith('|') && all.slice(0, i).every((each) => each.startsWith('|')))
      .map((line) => line.split('|').map((cell) => cell.trim()));
    let command = '';
    for (const [, what, called, , shown] of rows) {
      command = called === 'the same' ? command : called.replaceAll('`', '');
      expect(
        commands.some((each) => each.startsWith(command)),
        `${what}: ${command}`,
      ).toBe(true);
      const [, file = '', name = ''] = /^`(.*)` "(.*)"$/.exec(shown) ?? [];
      expect(readFileSync(resolve(recipes, '..', file), 'utf8'), what).toContain(`it('${name}'`);
    }
    const parts = rows.map(([, what]) => what).join(' ');
    for (const part of ['A1', 'A2', 'A3', 'A4', 'A5', 'A6', 'A7', 'endpoint table']) expect(parts).toContain(part);
  });

  it('has the steps of the study and their runs as they are', async () => {
    const steps = await stepsOf('qwen3-4b-study');
    const rows = planRows.filter(([name]) => name !== 'the whole study').map(([name, runs]) => [name, Number(runs)]);
    expect(rows).toEqual(steps.map(({ plan, own }) => [plan.experiment.name, own.length]));
  });

  it.each(['qwen3-4b-study', 'qwen3-4b-warm-study'])('%s assumes what updates were measured to take', async (name) => {
    const [columns, ...lines] = readFileSync(join(recipes, '../bench/results/qwen3-4b-study.csv'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.replaceAll('"', '').split(','));
    const rows = lines.map((line) => Object.fromEntries(columns.map((column, i) => [column, line[i]])));
    const measured = rows.filter(({ shape, updates }) => shape === '4b' && updates === '6');
    expect(measured).toHaveLength(9);
    const steps = await stepsOf(name);
    for (const { experiment, arm, updateSeconds, evaluationSeconds } of measured) {
      const step = steps.find(({ plan }) => plan.experiment.name === experiment);
      const run = step?.plan.runs.find((each) => each.arm === arm);
      if (step?.assumed === undefined || run === undefined) continue;
      const apart = Math.abs(Number(updateSeconds) / assumedUpdateSeconds(step.assumed, run.config) - 1);
      expect(apart, arm).toBeLessThan(0.1);
      const evaluation = Number(evaluationSeconds || step.assumed.evaluationSeconds) / step.assumed.evaluationSeconds;
      expect(Math.abs(evaluation - 1), arm).toBeLessThan(0.2);
    }
  });

  it('names the arms whose base writes the pairs, and how many are enough', async () => {
    const runs = (await stepsOf('qwen3-4b-study')).flatMap(({ own }) => own);
    const writing = runs.filter(({ config }) => config.arm['generatedPairs'] === true);
    expect(writing.length).toBeGreaterThan(0);
    for (const { arm, config } of writing) {
      const { generated, leastGenerated } = config.pairs;
      const said = page.split('\n').find((line) => line.includes(`\`${arm}\``)) ?? '';
      expect(said).toContain(`${generated} of them`);
      expect(said).toContain(`at least ${leastGenerated} can be used`);
      expect(said).toContain('--regardless');
    }
  });

  it('has the hours and the disk that its plan prints, at the shape of the model', async () => {
    const settings = [
      `model=${join(home, 'shape')}`,
      'data.path=train.jsonl',
      'data.testPath=test.jsonl',
      'device.kind=wasm',
    ];
    const set = settings.flatMap((setting) => ['--set', setting]);
    const { out } = await gq('experiment', join(recipes, 'qwen3-4b-study.toml'), ...set, '--dry-run');
    const line =
      /^(?:runs\/qwen3-4b-study\/)?(.+)\nruns {5}(\d+) of .*\ntime {5}about (.+); assumed .*\ndisk {5}(\S+ GB) of/gm;
    const printed = [...out.matchAll(line)].map(([, ...cells]) => cells);
    expect(printed).toHaveLength(10);
    expect(planRows).toEqual(printed);
  });
});
