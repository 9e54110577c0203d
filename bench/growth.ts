/**
 * How the cost of an update grows on the cuda device: with the number of rollouts, the length of completions, the size of the model
 * and the rank of the adapter, one at a time from a middle point; planned and used memory beside. Random weights of Qwen3's shapes,
 * prompts of 400 tokens, the vanilla arm, rewards without programs. Each point is the second of two updates; under three minutes.
 *   node bench/growth.ts [--only rollouts,length,size,rank] [--middle 64,128,4b,32] [--prompt 400] [--markdown FILE]
 * `--markdown bench/results/growth.md` writes the table.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { findStart, targetModules } from '../src/adapters/index.ts';
import { randomStream } from '../src/base/rng.ts';
import { type CudaDevice, createCudaDevice } from '../src/engine/cuda/index.ts';
import { AdamW, Scope } from '../src/engine/index.ts';
import { seesNothing } from '../src/grpo/arm.ts';
import type { Policy } from '../src/grpo/policy.ts';
import type { Task } from '../src/grpo/rollout.ts';
import { policySampler } from '../src/grpo/sampler.ts';
import type { StepContext } from '../src/grpo/stages.ts';
import { step } from '../src/grpo/step.ts';
import { armOf, builtinParts, resolveBuiltin } from '../src/lab/index.ts';
import { planMemory } from '../src/lab/memory/plan.ts';
import { Decoder } from '../src/model/index.ts';
import { Shards } from '../src/parallel/index.ts';
import { grpoSettings } from '../src/run/config/settings.ts';
import { PhaseClock } from '../src/run/sink.ts';
import { qwen3Shapes, randomAdapter, randomWeights } from './qwen3-shapes.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: 'rollouts,length,size,rank' },
    middle: { type: 'string', default: '64,128,4b,32' },
    prompt: { type: 'string', default: '400' },
    markdown: { type: 'string' },
  },
});
const promptTokens = Number(options.prompt);
const group = 4;

interface Point {
  readonly rollouts: number;
  readonly length: number;
  readonly size: string;
  readonly rank: number;
}

interface Row extends Point {
  readonly seconds: Readonly<Record<string, number>>;
  readonly tokens: number;
  readonly plannedGiB: number;
  readonly usedGiB: number;
}

const [rollouts, length, size, rank] = options.middle.split(',');
const middle: Point = { rollouts: Number(rollouts), length: Number(length), size, rank: Number(rank) };
const curves: Readonly<Record<string, readonly Point[]>> = {
  rollouts: [16, 64, 256].map((many) => ({ ...middle, rollouts: many })),
  length: [32, 128, 512].map((long) => ({ ...middle, length: long })),
  size: ['0.6b', '1.7b', '4b', '8b'].map((large) => ({ ...middle, size: large })),
  rank: [8, 32, 64].map((high) => ({ ...middle, rank: high })),
};
const chosen = options.only.split(',').filter((name) => name in curves);
const nameOf = ({ rollouts, length, size, rank }: Point): string => [rollouts, length, size, rank].join(' ');

function configOf({ rollouts, length, rank }: Point) {
  return resolveBuiltin('recipes/qwen3-4b-full-vanilla.toml', [
    'data.path=unused',
    `sampling.promptsPerStep=${rollouts / group}`,
    `sampling.group=${group}`,
    `sampling.maxNewTokens=${length}`,
    `sampling.maxPromptTokens=${promptTokens}`,
    `adapter.rank=${rank}`,
  ]).config;
}

function tasksOf({ rollouts }: Point): Task[] {
  return Array.from({ length: rollouts / group }, (_, i) => {
    const prompt = new Int32Array(promptTokens);
    randomStream(1, ['growth', i]).fillIntegers(prompt, 150_000);
    const problem = { id: `growth ${i}` } as Task['problem'];
    return { problem, loophole: 'run_tests', markers: 'original', hinted: prompt, unhinted: prompt };
  });
}

async function planOf(point: Point): Promise<number> {
  const config = configOf(point);
  const start = findStart(config.adapter.family, builtinParts.starts);
  const floats = ['bf16', 'f32'] as const;
  const rehearsal = { config, arm: armOf(config, builtinParts), start, decoder: qwen3Shapes[point.size], floats };
  return (await planMemory({ ...rehearsal, tasks: tasksOf(point) })).totalBytes;
}

/** The second of two updates, which compile and plan nothing. */
async function measure(device: CudaDevice, decoder: Decoder, point: Point, plannedBytes: number): Promise<Row> {
  const settings = grpoSettings(configOf(point));
  using scope = new Scope(device);
  const adapter = randomAdapter(scope, point.rank, targetModules(decoder.config));
  using optimiser = new AdamW(adapter.parameters);
  const policy: Policy = { decoder, adapter, deployedScale: 1, recompute: settings.compute.recompute };
  const clock = new PhaseClock();
  const context: StepContext = {
    policy,
    optimiser,
    tasks: tasksOf(point),
    grader: { grade: async (given) => Float32Array.from(given, (_, i) => i % 2) },
    arm: { sees: seesNothing },
    sampler: policySampler(policy, settings.compute),
    stopTokens: [],
    vocabulary: decoder.config.vocabSize,
    showPrompt: () => '',
    settings,
    pool: null,
    shards: Shards.alone,
    decode: () => '',
    enter: (phase) => clock.enter(phase),
  };
  device.arena.peak = device.arena.used;
  await step(context, 0);
  await device.sync();
  clock.take();
  const { rollouts: made } = await step(context, 1);
  await device.sync();
  const seconds = clock.take();
  const tokens = made.reduce((sum, rollout) => sum + rollout.tokens.length, 0);
  const usedGiB = device.arena.peak / 2 ** 30;
  return { ...point, seconds, tokens, plannedGiB: plannedBytes / 2 ** 30, usedGiB };
}

const columns = ['sample', 'score', 'learn'] as const;
const header = [
  '',
  'rollouts',
  'new tokens',
  'model',
  'rank',
  ...columns,
  'update, s',
  'tok/s',
  'planned, GiB',
  'used',
];
const line = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;

function show(curve: string, row: Row): string {
  const total = Object.values(row.seconds).reduce((sum, value) => sum + value, 0);
  const phases = columns.map((phase) => (row.seconds[phase] ?? 0).toFixed(2));
  const memory = [row.plannedGiB, row.usedGiB].map((gib) => gib.toFixed(1));
  const speed = Math.round(row.tokens / total);
  return line([curve, row.rollouts, row.length, row.size, row.rank, ...phases, total.toFixed(2), speed, ...memory]);
}

const points = new Map(chosen.flatMap((name) => curves[name].map((point) => [nameOf(point), point])));
const rows = new Map<string, Row>();
let machine = '';
const began = performance.now();
for (const shape of Object.keys(qwen3Shapes)) {
  const own = [...points.values()].filter((point) => point.size === shape);
  if (own.length === 0) continue;
  const plans: number[] = [];
  for (const point of own) plans.push(await planOf(point));
  using device = await createCudaDevice({ precision: 'bf16', memoryBytes: Math.max(...plans) });
  machine = device.facts.name;
  using scope = new Scope(device);
  const maxPositions = promptTokens + Math.max(...own.map((point) => point.length));
  const decoder = await Decoder.load(scope, qwen3Shapes[shape], randomWeights(qwen3Shapes[shape]), { maxPositions });
  for (const [i, point] of own.entries()) {
    rows.set(nameOf(point), await measure(device, decoder, point, plans[i]));
    const seconds = ((performance.now() - began) / 1000).toFixed(0);
    console.log(`${seconds} s  ${show('', rows.get(nameOf(point)) as Row)}`);
  }
}
const table = chosen.flatMap((name) =>
  curves[name].flatMap((point) => {
    const row = rows.get(nameOf(point));
    return row === undefined ? [] : [show(name, row)];
  }),
);
const text = [line(header), line(header.map(() => '---')), ...table].join('\n');
console.log(text);
if (options.markdown !== undefined) {
  const about = `Random weights of Qwen3's shapes, bf16, prompts of ${promptTokens} tokens, ${group} completions a prompt, the vanilla arm, rewards without programs; the second of two updates. Planned: the rehearsal of this run; used: the most that was in use at once. \`node bench/growth.ts\` measures them again.`;
  writeFileSync(options.markdown, `# How an update grows (${machine})\n\n${about}\n\n${text}\n`);
}
