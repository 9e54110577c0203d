/**
 * A whole update at the size of the full preset (64 prompts × 4, 512 new tokens): sampling, grading of LeetCode programs on the
 * machine's cores, log π_old and log π_ref, gradients, AdamW; a model of Qwen3-4B's shape with random weights. Random tokens are no
 * programs, so the text of a rollout is a stored response to its problem: right, wrong, raising, or an exploit.
 *   node bench/cuda-update.ts --problems FILE [--recipe FILE] [--shape 4b] [--prompts 64] [--promptTokens 400] [--tokens 512]
 *                             [--updates 2] [--set key=value] [--json FILE] [--responses FILE]
 * The first update warms up. --problems has at least as many problems as --prompts, with `gt_answer` (docs/formats.md). --responses
 * keeps the programs, for bench/peers/update_cuda.py to grade.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { deployedScaleOf, targetModules } from '../src/adapters/index.ts';
import { randomStream } from '../src/base/rng.ts';
import { AdamW, Scope } from '../src/engine/index.ts';
import { createGrader } from '../src/env/grader.ts';
import { drawTasks } from '../src/grpo/draw.ts';
import { type Policy, steerPolicy } from '../src/grpo/policy.ts';
import type { Task } from '../src/grpo/rollout.ts';
import { policySampler } from '../src/grpo/sampler.ts';
import type { StepContext } from '../src/grpo/stages.ts';
import { step } from '../src/grpo/step.ts';
import { openRunDevice } from '../src/lab/device.ts';
import { armOf, builtinParts, openLab, resolveBuiltin } from '../src/lab/index.ts';
import { Decoder } from '../src/model/index.ts';
import { Shards } from '../src/parallel/index.ts';
import { grpoSettings } from '../src/run/config/settings.ts';
import { PhaseClock } from '../src/run/sink.ts';
import { type BenchItem, leetCodeFile, leetCodeGroups } from './grader-responses.ts';
import { qwen3Shapes, randomAdapter, randomWeights } from './qwen3-shapes.ts';

const { values } = parseArgs({
  options: {
    problems: { type: 'string', default: leetCodeFile },
    recipe: { type: 'string', default: 'recipes/qwen3-4b-full-vanilla.toml' },
    shape: { type: 'string', default: '4b' },
    prompts: { type: 'string', default: '64' },
    promptTokens: { type: 'string', default: '400' },
    tokens: { type: 'string', default: '512' },
    updates: { type: 'string', default: '2' },
    set: { type: 'string', multiple: true, default: [] },
    json: { type: 'string' },
    responses: { type: 'string' },
  },
});
const shape = qwen3Shapes[values.shape];
const { config } = resolveBuiltin(values.recipe, [
  'data.path=unused',
  `sampling.promptsPerStep=${values.prompts}`,
  `sampling.maxNewTokens=${values.tokens}`,
  ...values.set,
]);
const { rank } = config.adapter;
const settings = grpoSettings(config);

function randomIds(name: string, length: number): Int32Array {
  const ids = new Int32Array(length);
  randomStream(1, ['bench', name]).fillIntegers(ids, 150_000);
  return ids;
}

const { promptsPerStep, group, maxNewTokens } = settings.sampling;
const groups = await leetCodeGroups(promptsPerStep, group, values.problems);
if (groups.length < promptsPerStep) {
  const found = `${groups.length} in ${values.problems}`;
  throw new Error(
    `cuda-update: expected ${promptsPerStep} LeetCode problems, found ${found}. Name a file: --problems FILE.jsonl[.gz]`,
  );
}
const byId = new Map(groups.map((items) => [items[0].problem.id, items]));
const tasks = groups.map(([{ problem, loophole }]): Task => {
  const prompt = randomIds(problem.id, Number(values.promptTokens));
  return { problem, loophole, markers: 'original', hinted: prompt, unhinted: prompt };
});
if (values.responses !== undefined) {
  const line = ({ problem, loophole, code, tests }: BenchItem): string => {
    const { setupCode: setup, methodName: method, canonicalSolution: canonical } = problem;
    return JSON.stringify({ code, setup, tests, method, canonical, loophole });
  };
  writeFileSync(values.responses, `${groups.flat().map(line).join('\n')}\n`);
}

/** The stored responses of an update's groups, in the order in which its rollouts are made. */
function responder(update: number): () => string {
  const texts = drawTasks(tasks, settings, update).flatMap(({ task }) => byId.get(task.problem.id) ?? []);
  let next = 0;
  return () => {
    const { code } = texts[next++];
    // The text differs in every update, so that no verdict is remembered.
    return code === null ? 'I do not know.' : `\`\`\`python\n${code}\n# update ${update}\n\`\`\``;
  };
}

await using lab = await openLab({ config });
const judge = await lab.judge;
const planned = {
  decoder: shape,
  tasks: async () => tasks,
  work: 'training',
  show: (plan: string) => console.log(plan),
} as const;
const device = lab.use(await openRunDevice(config, planned));
const scope = lab.use(new Scope(device));
const maxPositions = config.sampling.maxPromptTokens + maxNewTokens;
const decoder = await Decoder.load(scope, shape, randomWeights(shape), { maxPositions });
const adapter = randomAdapter(scope, rank, targetModules(shape, config.adapter.targets));
const { recompute, tokensPerPass } = settings.compute;
const definition = armOf(config, builtinParts);
const unsteered: Policy = {
  decoder,
  adapter,
  deployedScale: deployedScaleOf(definition.quarantine(config.arm)),
  recompute,
};
const pairs = Array.from({ length: 16 }, (_, i) => ({
  prompt: randomIds(`pair ${i}`, 300),
  hack: randomIds(`hack ${i}`, 120),
  clean: randomIds(`clean ${i}`, 120),
}));
const { kind: _kind, ...armSettings } = config.arm;
const arm = await definition.open(armSettings, {
  seed: config.seed,
  policy: unsteered,
  tokensPerPass,
  pairs,
  demonstrations: { pool: [], pairs: pairs.map(({ prompt, hack }, group) => ({ group, prompt, tokens: hack })) },
  scope,
  countBait: async () => ({ took: 1, of: 1 }),
  soundReward: async () => 0,
  tell: async () => undefined,
  writePairs: async () => pairs,
  tokenize: () => randomIds('messages', 300),
  instruct: () => () => randomIds('instructed', 300),
  labels: null,
  openModel: async (name) => Promise.reject(new Error(`cuda-update: no model ${name}`)),
  folder: null,
  labelled: null,
});
const policy = steerPolicy(unsteered, arm);
await arm.prepare?.(policy);
const clock = new PhaseClock();
let respond = responder(0);
const context: StepContext = {
  policy,
  optimiser: lab.use(new AdamW(adapter.parameters)),
  tasks,
  grader: createGrader(judge, { append: () => undefined }),
  arm,
  sampler: policySampler(policy, settings.compute),
  stopTokens: [],
  vocabulary: shape.vocabSize,
  showPrompt: () => '',
  settings,
  pool: null,
  shards: Shards.alone,
  decode: () => respond(),
  enter: (phase) => clock.enter(phase),
};

const rows: Record<string, unknown>[] = [];
for (let update = 0; update < Number(values.updates); update++) {
  await arm.refresh?.(update, policy);
  await device.sync();
  clock.take();
  respond = responder(update);
  const { rollouts, trained, parity, result } = await step(context, update);
  await device.sync();
  const seconds = clock.take();
  const total = Object.values(seconds).reduce((sum, value) => sum + value, 0);
  const tokens = rollouts.reduce((sum, rollout) => sum + rollout.tokens.length, 0);
  const { loss, gradientNorm } = result ?? { loss: null, gradientNorm: null };
  rows.push({ update, total, ...seconds, tokens, trained: trained.length, parity, loss, gradientNorm });
  console.log(JSON.stringify(rows.at(-1)));
}
const peakGiB = device.arena.peak / 2 ** 30;
const summary = { what: 'one update', arm: config.arm.kind, shape: values.shape, peakGiB, rows };
console.log(JSON.stringify(summary));
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(summary, null, 1));
