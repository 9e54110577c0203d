/**
 * Seconds, loss and memory of pre-training the micro documents, by shape and number format, and how long the whole recipe would take.
 * Every case is a process of its own that takes the first steps of the recipe and is ended when its time is over: one that fails or hangs
 * is a row that says so. All take at most --total seconds; `--steps 2200 --seconds 300 --total 2000` trains to the end.
 *   node bench/pretrain.ts [--device cuda] [--shapes 2M,8M,27M,100M,300M,1B] [--precisions f32,bf16] [--steps 120] [--seconds 6]
 *     [--total 100] [--json]
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openDevice } from '../src/lab/index.ts';
import { type MicroRecipe, microShapes, planPretraining, pretrainMicro } from '../src/pretrain/index.ts';

interface Case {
  readonly shape: string;
  readonly precision: string;
}

interface Measured extends Case {
  readonly steps: number;
  /** Seconds before the first step: the plan, the device and its kernels, the first weights. */
  readonly startSeconds: number;
  readonly secondsPerStep: number;
  readonly tokensPerSecond: number;
  /** NLL per token after every step. */
  readonly losses: readonly number[];
  readonly plannedBytes: number;
  readonly usedBytes: number;
  readonly recipeSeconds: number;
}

type Row = Measured | (Case & { readonly failed: string });

const { values: options } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda' },
    shapes: { type: 'string', default: Object.keys(microShapes).join(',') },
    precisions: { type: 'string', default: 'f32,bf16' },
    steps: { type: 'string', default: '120' },
    seconds: { type: 'string', default: '6' },
    total: { type: 'string', default: '100' },
    json: { type: 'boolean', default: false },
    case: { type: 'string' },
  },
});
const [mostSteps, mostSeconds, total] = [options.steps, options.seconds, options.total].map(Number);
const start = performance.now();
/** Steps that are not timed: kernels are compiled in them. */
const warmingSteps = 3;
/** Seconds that a case may take beside its steps before it is ended. */
const patience = 40;
/** Losses of the last steps that are averaged, since those of single steps scatter. */
const averaged = 10;

function recipeOf({ shape, precision }: Case): MicroRecipe {
  if (!Object.hasOwn(microShapes, shape)) throw new Error(`expected a shape of ${Object.keys(microShapes).join(', ')}`);
  const recipe = microShapes[shape as keyof typeof microShapes];
  return precision === 'bf16' ? { ...recipe, precision } : recipe;
}

async function measure(one: Case): Promise<Measured> {
  const begun = performance.now();
  const recipe = recipeOf(one);
  const { totalBytes } = await planPretraining(recipe);
  const { precision = 'f32' } = recipe;
  using device = await openDevice(options.device, { precision, arenaMiB: Math.ceil(totalBytes / 2 ** 20) });
  const stop = new AbortController();
  const losses: number[] = [];
  const times: number[] = [];
  await pretrainMicro(
    device,
    recipe,
    ({ loss }) => {
      if (loss === null) return;
      losses.push(loss);
      times.push(performance.now());
      if (losses.length >= mostSteps || times[times.length - 1] - times[0] > 1000 * mostSeconds) stop.abort();
    },
    stop.signal,
  );
  const from = Math.min(warmingSteps, times.length - 2);
  const secondsPerStep = (times[times.length - 1] - times[from]) / 1000 / (times.length - 1 - from);
  const startSeconds = (times[0] - begun) / 1000;
  return {
    ...{ ...one, steps: losses.length, startSeconds, secondsPerStep, losses },
    tokensPerSecond: tokensPerStep / secondsPerStep,
    ...{ plannedBytes: totalBytes, usedBytes: device.arena.peak },
    recipeSeconds: startSeconds + recipe.steps * secondsPerStep,
  };
}

/** Tokens of a step of 96 documents, prompts included, in the mean over thirty steps. */
const tokensPerStep = 4476;

function inProcess(one: Case): Promise<Row> {
  const left = total - (performance.now() - start) / 1000;
  const most = Math.min(mostSeconds + patience, left);
  if (most < mostSeconds) return Promise.resolve({ ...one, failed: `not begun: ${total} s were nearly over` });
  const own = ['--case', `${one.shape}:${one.precision}`, '--device', options.device];
  const limits = ['--steps', options.steps, '--seconds', options.seconds];
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), ...own, ...limits]);
  let [out, err] = ['', ''];
  child.stdout.on('data', (text) => {
    out += text;
  });
  child.stderr.on('data', (text) => {
    err += text;
  });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    child.kill('SIGKILL');
  }, 1000 * most);
  return new Promise((resolve) => {
    child.on('close', (code) => {
      clearTimeout(timer);
      if (code === 0 && out.trim() !== '') resolve(JSON.parse(out));
      else if (late) resolve({ ...one, failed: `had not ended after ${most.toFixed(0)} s` });
      else resolve({ ...one, failed: err.split('\n').find((line) => /^\w*Error/.test(line)) ?? `exit ${code}` });
    });
  });
}

function meanLoss({ losses }: Measured, end: number): number {
  const last = losses.slice(Math.max(0, end - averaged), end);
  return last.reduce((sum, loss) => sum + loss, 0) / last.length;
}

/** The row's cells; losses of a shape are compared after as many steps as all its cases took. */
function cellsOf(row: Row, rows: readonly Row[]): string[] {
  if ('failed' in row) return [row.shape, row.precision, row.failed];
  const alike = rows.filter((other): other is Measured => other.shape === row.shape && !('failed' in other));
  const common = Math.min(...alike.map(({ steps }) => steps));
  return [
    ...[row.shape, row.precision, row.startSeconds.toFixed(1), `${row.steps}`, row.secondsPerStep.toFixed(4)],
    ...[row.tokensPerSecond.toFixed(0), `${meanLoss(row, common).toFixed(4)} (${common})`],
    ...[row.plannedBytes, row.usedBytes].map((bytes) => (bytes / 2 ** 30).toFixed(2)),
    `${Math.floor(row.recipeSeconds / 60)} min ${Math.round(row.recipeSeconds % 60)} s`,
  ];
}

const heads = [
  ...['shape', 'numbers', 'start, s', 'steps', 's a step', 'tok/s', 'NLL (after steps)', 'planned, GiB', 'used'],
  'whole recipe',
];

if (options.case !== undefined) {
  const [shape, precision] = options.case.split(':');
  process.stdout.write(`${JSON.stringify(await measure({ shape, precision }))}\n`);
} else {
  const rows: Row[] = [];
  for (const shape of options.shapes.split(',')) {
    for (const precision of options.precisions.split(',')) {
      if (!options.json) process.stderr.write(`${shape} in ${precision}\n`);
      rows.push(await inProcess({ shape, precision }));
    }
  }
  if (options.json) console.log(JSON.stringify({ device: options.device, averaged, rows }));
  else {
    const table = [heads, heads.map(() => '---'), ...rows.map((row) => cellsOf(row, rows))];
    console.log(table.map((cells) => `| ${cells.join(' | ')} |`).join('\n'));
    console.log(
      `NLL: mean of the last ${averaged} of those steps. Whole recipe: start, and 2200 steps as fast as these.`,
    );
  }
  process.exitCode = rows.some((row) => 'failed' in row) ? 1 : 0;
}
