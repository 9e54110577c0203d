/**
 * Starts of `gq` that cannot succeed: a failure planted in each part of a start, and Ctrl-C while each part is being opened. The command
 * must say why, exit with the right code, and leave nothing running.
 */
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { resolveConfig, train } from '../../src/lab/index.ts';
import { gqProgram } from '../gq-command.ts';
import { tinyModel, tinySettings } from '../smoke/lab.ts';

export interface Plant {
  readonly command: 'train' | 'eval' | 'experiment' | 'grade' | 'serve' | 'view' | 'export';
  /** What is wrong; `Ctrl-C while …`: what is being opened when the command is interrupted. */
  readonly name: string;
  /** What of the plugin fails or never ends, such as `load throws`; or `python waits`: the python3 of PATH never ends. */
  readonly plant?: string;
  readonly settings?: readonly string[];
  readonly words?: readonly string[];
  readonly code: number;
  readonly said: RegExp;
}

const interrupted = { code: 75, said: /interrupted/ };
const refused = { code: 2 };

/** `home`: a folder of makeStarts; `taken`: a port that something listens on. */
export function plantsIn(home: string, taken: string): readonly Plant[] {
  const at = (...names: readonly string[]): string => join(home, ...names);
  const train = { command: 'train' } as const;
  const answers = 'Ctrl-C while it answers';
  const grade = ['--problems', at('train.jsonl'), '--responses', at('responses.jsonl'), '--out', at('verdicts.jsonl')];
  const planted = ['data={kind="planted"}'];
  // biome-ignore format: a plant a line
  return [
    { ...train, name: 'no model', settings: [`model=${at('nothing')}`], ...refused, said: /no such folder/ },
    { ...train, name: 'weights cut short', settings: [`model=${at('short')}`], ...refused, said: /model\.safetensors/ },
    { ...train, name: 'no problems', settings: [`data.path=${at('nothing.jsonl')}`], ...refused, said: /data\.path/ },
    { ...train, name: 'problems of noise', settings: [`data.path=${at('noise')}`], ...refused, said: /noise/ },
    { ...train, name: 'no pairs', settings: [`pairs.file=${at('nothing.md')}`], ...refused, said: /nothing\.md/ },
    { ...train, name: 'no pool', settings: [`teacher.pool=${at('nothing.jsonl')}`, 'teacher.offStep=1'], ...refused, said: /teacher\.pool/ },
    { ...train, name: 'no Python', settings: [`environment.python=${at('nothing')}`], ...refused, said: /Python 3/ },
    { ...train, name: 'a run folder below a file', words: ['--out', at('noise', 'run')], ...refused, said: /noise/ },
    { ...train, name: 'no room on the device', settings: ['device.arenaMiB=100000000'], ...refused, said: /arenaMiB/ },
    { ...train, name: 'a plugin that throws', plant: 'module throws', ...refused, said: /planted failure/ },
    { ...train, name: 'a source that throws', plant: 'load throws', settings: planted, ...refused, said: /planted failure/ },
    { ...train, name: 'an adapter start that throws', plant: 'factors throws', settings: ['adapter.family=planted'], ...refused, said: /planted failure/ },
    { ...train, name: 'an arm that throws', plant: 'open throws', settings: ['arm.kind=planted'], ...refused, said: /planted failure/ },
    { ...train, name: 'Ctrl-C while Python is asked', plant: 'python waits', ...interrupted },
    { ...train, name: 'Ctrl-C while problems are checked', settings: [`data.path=${at('slow.jsonl')}`], ...interrupted },
    { ...train, name: 'Ctrl-C while problems are loaded', plant: 'load waits', settings: planted, ...interrupted },
    { ...train, name: 'Ctrl-C while the adapter is made', plant: 'factors waits', settings: ['adapter.family=planted'], ...interrupted },
    { ...train, name: 'Ctrl-C while the arm is opened', plant: 'open waits', settings: ['arm.kind=planted'], ...interrupted },
    { command: 'eval', name: 'no model', words: [at('moved')], ...refused, said: /no such folder/ },
    { command: 'eval', name: 'another model', words: [at('changed')], ...refused, said: /the model/ },
    { command: 'eval', name: 'a damaged checkpoint', words: [at('damaged')], ...refused, said: /adapter\.safetensors|initial\.safetensors/ },
    { command: 'eval', name: 'no such device', words: [at('whole'), '--device', 'abacus'], ...refused, said: /--device/ },
    { command: 'eval', name: 'no run', words: [at('nothing')], ...refused, said: /no such folder/ },
    { command: 'eval', name: 'Ctrl-C while Python is asked', words: [at('whole')], plant: 'python waits', ...interrupted },
    { command: 'eval', name: 'Ctrl-C while Python is asked for a curve', words: [at('whole'), '--curve'], plant: 'python waits', ...interrupted },
    { command: 'experiment', name: 'Ctrl-C while Python is asked', words: [at('study.toml'), '--out', at('study')], plant: 'python waits', ...interrupted },
    { command: 'grade', name: 'Ctrl-C while Python is asked', words: grade, plant: 'python waits', ...interrupted },
    { command: 'view', name: answers, words: [at('whole'), '--port', '0'], code: 0, said: /http:/ },
    { command: 'serve', name: answers, words: [at('whole'), '--port', '0'], code: 0, said: /closing connections/ },
    { command: 'serve', name: 'no model', words: [at('moved')], ...refused, said: /no such folder/ },
    { command: 'serve', name: 'another model', words: [at('changed')], ...refused, said: /the model/ },
    { command: 'serve', name: 'a damaged checkpoint', words: [at('damaged')], ...refused, said: /safetensors/ },
    { command: 'serve', name: 'a port that is taken', words: [at('whole'), '--port', taken], code: 2, said: /in use/ },
    { command: 'export', name: 'no model', words: [at('moved')], ...refused, said: /no such folder/ },
    { command: 'export', name: 'another model', words: [at('changed')], ...refused, said: /model/ },
    { command: 'export', name: 'a damaged checkpoint', words: [at('damaged')], ...refused, said: /safetensors/ },
    { command: 'export', name: 'no such device', words: [at('whole'), '--device', 'abacus'], ...refused, said: /--device/ },
  ];
}

const pluginOf = (program: string): string => {
  const entry = (folder: string): string => {
    const path = program.endsWith('.ts') ? `../../src/${folder}/index.ts` : `../../dist/${folder}/index.js`;
    return JSON.stringify(new URL(path, import.meta.url).href);
  };
  return `import { writeFileSync } from 'node:fs';
import { defineProblemSource, defineStart, defineArm, z } from ${entry('entry')};
const plant = process.env.GQ_PLANT ?? '';
const fail = (part) => {
  if (plant === part + ' throws') throw new Error('planted failure');
  if (plant !== part + ' waits') return;
  writeFileSync(process.env.GQ_PLANT_MARK, '');
  return new Promise(() => undefined);
};
fail('module');
const settings = z.strictObject({});
export const problemSources = [defineProblemSource({ kind: 'planted', summary: 'none', settings, load: () => fail('load') })];
export const starts = [defineStart({
  ...{ name: 'planted', summary: 'none', needsPairs: false, needsWeight: false, parametrisation: 'linear' },
  factors: () => fail('factors'),
})];
export const arms = [defineArm({ kind: 'planted', summary: 'none', settings, open: () => fail('open') })];
`;
};

/** Problems that the tiny model can read, many enough to wait for a worker; `work` is done before each answer. */
function problemsText(from: number, work = ''): string {
  const lines = Array.from({ length: 40 }, (_, i) => {
    const add = from + i;
    return JSON.stringify({
      id: `add-${add}`,
      prompt: [
        {
          role: 'user',
          content: `start with n. add ${add}. the method solve of class Solution should pass all tests.\n`,
        },
      ],
      gt_answer: [`assert Solution().solve(n = 3) == ${3 + add}`],
      setup_code: '',
      func_name: 'Solution().solve',
      canonical_solution: `class Solution:\n    def solve(self, n):\n${work}        n += ${add}\n        return n\n`,
      difficulty: 'easy',
    });
  });
  return `${lines.join('\n')}\n`;
}

const slowly = '        for i in range(10 ** 8): pass\n';

/** Makes runs and inputs in a folder, and damages them as plantsIn says. */
export async function makeStarts(home: string): Promise<void> {
  const at = (...names: readonly string[]): string => join(home, ...names);
  const [program, model] = [gqProgram(), await tinyModel()];
  writeFileSync(at('plugin.mjs'), pluginOf(program));
  writeFileSync(at('noise'), '\u0000\u0001 no JSON');
  writeFileSync(at('train.jsonl'), problemsText(1));
  writeFileSync(at('test.jsonl'), problemsText(101));
  writeFileSync(at('slow.jsonl'), problemsText(201, slowly));
  writeFileSync(at('responses.jsonl'), `${JSON.stringify({ id: 'add-1', completion: '', loophole: 'run_tests' })}\n`);
  const set = [`model=${JSON.stringify(at('model'))}`, ...settingsIn(home), 'updates=1'];
  writeFileSync(
    at('study.toml'),
    `name = "study"\nseeds = [1]\nset = ${JSON.stringify(set)}\n[[arms]]\nname = "vanilla"\nrecipe = "micro-vanilla"\n`,
  );
  mkdirSync(at('bin'));
  writeFileSync(at('bin', 'python3'), '#!/bin/sh\n: > "$GQ_PLANT_MARK"\nexec sleep 600\n', { mode: 0o755 });
  for (const name of ['model', 'short', 'moved-model', 'changed-model']) cpSync(model, at(name), { recursive: true });
  truncateSync(at('short', 'model.safetensors'), 1000);
  for (const [run, folder] of [
    ['whole', at('model')],
    ['moved', at('moved-model')],
    ['changed', at('changed-model')],
  ]) {
    const { config } = await resolveConfig(null, [
      ...settingsIn(home),
      `model=${folder}`,
      'arm.kind=absorb',
      'updates=1',
    ]);
    await train(config, at(run));
  }
  rmSync(at('moved-model'), { recursive: true });
  writeFileSync(at('changed-model', 'generation_config.json'), '{"eos_token_id": 1}');
  cpSync(at('whole'), at('damaged'), { recursive: true });
  truncateSync(at('damaged', 'checkpoints', '00001', 'adapter.safetensors'), 1000);
}

function settingsIn(home: string): string[] {
  const data = [
    'data.kind=file',
    `data.path=${join(home, 'train.jsonl')}`,
    `data.testPath=${join(home, 'test.jsonl')}`,
  ];
  const pairs = fileURLToPath(new URL('../../data/pairs/micro.md', import.meta.url));
  return [...tinySettings.filter((setting) => !setting.startsWith('data.')), ...data, `pairs.file=${pairs}`];
}

export interface Ending {
  readonly code: number | null;
  readonly said: string;
  /** Milliseconds from the last word, or from the interruption, to the end of the process. */
  readonly endedMs: number;
  /** Processes that it started and that were there a while after its end. */
  readonly left: readonly number[];
}

/** Starts the command, interrupts it where the plant says so, and waits for its end. */
export async function tryStart(plant: Plant, home: string, number: number): Promise<Ending> {
  const mark = join(home, `mark-${number}`);
  const child = spawn(process.execPath, [gqProgram(), ...wordsOf(plant, home, number)], {
    env: {
      ...process.env,
      GQ_CACHE: join(home, `cache-${number}`),
      // Python that never answers is waited for as long as users wait for it.
      GQ_GRACE: '',
      GQ_PLANT: plant.plant ?? '',
      GQ_PLANT_MARK: mark,
      ...(plant.plant === 'python waits' ? { PATH: `${join(home, 'bin')}:${process.env['PATH']}` } : {}),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [said, since] = ['', performance.now()];
  const hear = (text: string): void => {
    said += text;
    if (!plant.name.startsWith('Ctrl-C')) since = performance.now();
  };
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', hear);
  const answers = plant.code === 0;
  const started = new Set<number>();
  const look = setInterval(() => {
    for (const pid of descendants(child.pid ?? 0)) started.add(pid);
    const isOpening =
      existsSync(mark) || (plant.plant === undefined && (answers ? said.includes('http:') : started.size > 2));
    if (!plant.name.startsWith('Ctrl-C') || !isOpening || said.includes('interrupted')) return;
    since = performance.now();
    child.kill('SIGINT');
    clearInterval(look);
  }, 25);
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  const endedMs = performance.now() - since;
  clearInterval(look);
  return { code, said, endedMs, left: await leftOf(started) };
}

export function wordsOf({ command, settings = [], words = [], plant }: Plant, home: string, number: number): string[] {
  if (command === 'export') return ['export', ...words, '--to', join(home, `export-${number}`)];
  if (command !== 'train') return [command, ...words];
  const plugins = plant === undefined || plant.startsWith('python') ? [] : [`plugins=["${join(home, 'plugin.mjs')}"]`];
  const isOther = settings.some((setting) => setting.startsWith('data={'));
  const usual = settingsIn(home).filter((setting) => !isOther || !setting.startsWith('data.'));
  const all = [...usual, `model=${join(home, 'model')}`, ...plugins, ...settings];
  const out = words.includes('--out') ? [] : ['--out', join(home, `run-${number}`)];
  return ['train', ...words, ...out, ...all.flatMap((setting) => ['--set', setting])];
}

/** The processes that a process has started, and those that they have. */
function descendants(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  if (!existsSync(file)) return [];
  const children = readText(file).split(' ').filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...descendants(child)]);
}

const readText = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The process has just ended.
    return '';
  }
};

/** Those that do not end by themselves: the kernel takes a moment for those whose parent has gone. */
async function leftOf(pids: ReadonlySet<number>): Promise<number[]> {
  const isThere = (pid: number): boolean => !/^(?:\d+ \(.*\) Z .*)?$/s.test(readText(`/proc/${pid}/stat`));
  const until = performance.now() + 600_000;
  while (performance.now() < until && [...pids].some(isThere)) await new Promise((go) => setTimeout(go, 50));
  return [...pids].filter(isThere);
}

/** A port that something listens on. */
export async function takePort(): Promise<AsyncDisposable & { readonly number: string }> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  return { number: `${port}`, [Symbol.asyncDispose]: async () => void server.close() };
}
