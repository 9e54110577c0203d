/**
 * What a judge costs: seconds of an update with it and without it, in turns on one device, with a policy of a given folder. Prompts and
 * responses are Python of the asked lengths and rewards alternate, so that nothing is graded and every group is learned from.
 *   node bench/make-model.ts --to DIR --shape 4b
 *   node bench/judge.ts --model DIR [--device cuda|wasm] [--judge base|DIR] [--answer probability|text] [--turns 3] [--prompts 8]
 *                       [--group 8] [--promptTokens 400] [--tokens 512] [--set key=value] [--json FILE]
 * On a GPU, the default, the arena is that of the memory plan, as in training; wasm holds a tiny model only. The first turn of each
 * warms up. `ratio` is the median with the judge over the median without it.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { targetModules } from '../src/adapters/index.ts';
import { AdamW, Scope } from '../src/engine/index.ts';
import type { Arm } from '../src/grpo/arm.ts';
import type { Policy } from '../src/grpo/policy.ts';
import type { Task } from '../src/grpo/rollout.ts';
import { policySampler } from '../src/grpo/sampler.ts';
import type { StepContext } from '../src/grpo/stages.ts';
import { step } from '../src/grpo/step.ts';
import { openRunDevice } from '../src/lab/device.ts';
import { armOf, builtinParts, openLab, resolveBuiltin } from '../src/lab/index.ts';
import { loadDecoder, modelOpener } from '../src/lab/model.ts';
import type { ModelText } from '../src/model/index.ts';
import { Shards } from '../src/parallel/index.ts';
import { grpoSettings } from '../src/run/config/settings.ts';
import { PhaseClock } from '../src/run/sink.ts';
import { median } from '../src/stats/index.ts';
import { randomAdapter } from './qwen3-shapes.ts';

const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    device: { type: 'string', default: 'cuda' },
    judge: { type: 'string', default: 'base' },
    answer: { type: 'string', default: 'probability' },
    turns: { type: 'string', default: '3' },
    prompts: { type: 'string', default: '8' },
    group: { type: 'string', default: '8' },
    promptTokens: { type: 'string', default: '400' },
    tokens: { type: 'string', default: '512' },
    set: { type: 'string', multiple: true, default: [] },
    json: { type: 'string' },
  },
});
if (values.model === undefined) throw new Error('judge: expected --model DIR, such as bench/make-model.ts writes');
const { config } = resolveBuiltin(null, [
  `model=${JSON.stringify(values.model)}`,
  `device.kind=${values.device}`,
  `sampling.promptsPerStep=${values.prompts}`,
  `sampling.group=${values.group}`,
  `sampling.maxNewTokens=${values.tokens}`,
  'environment.unhackableFraction=0',
  'data.problems=16',
  ...values.set,
  'arm.kind=penalty',
  'arm.abstain=clean',
  'arm.monitor.kind=judge',
  `arm.monitor.model=${JSON.stringify(values.judge)}`,
  `arm.monitor.answer=${values.answer}`,
]);
const settings = grpoSettings(config);
const { promptsPerStep, group } = settings.sampling;

const sentence = 'total = total + values[index] * weights[index]  # one more term\n';

/** Text of about so many tokens. No two are the same, so that none is read for another. */
function textOf(text: ModelText, tokens: number, name: string): string {
  const line = `${name} = ${sentence}`;
  return line.repeat(Math.max(1, Math.round(tokens / text.encode(line).length)));
}

await using lab = await openLab({ config });
const [files, armModels, { splits }] = await Promise.all([lab.model, lab.armModels, lab.problems]);
const { text, folder } = files;
const tasks = splits.train.slice(0, promptsPerStep).map((problem, i): Task => {
  const content = textOf(text, Number(values.promptTokens), `task_${i}`);
  const prompt = text.prompt([{ role: 'user', content }]);
  return { problem, loophole: 'run_tests', markers: 'original', hinted: prompt, unhinted: prompt };
});
const models = new Map(
  [...armModels, ['base', files] as const].map(([name, own]) => [name, { decoder: own.folder.config, text: own.text }]),
);
const planned = { decoder: folder.config, tasks: async () => tasks, work: 'training', models } as const;
const device = lab.use(await openRunDevice(config, { ...planned, show: (plan) => console.log(plan) }));
const scope = lab.use(new Scope(device));
const { maxPromptTokens, maxNewTokens } = config.sampling;
const model = { ...files, scope, decoder: await loadDecoder(scope, files, maxPromptTokens + maxNewTokens) };
const adapter = randomAdapter(model.scope, config.adapter.rank, targetModules(folder.config, config.adapter.targets));
const { tokensPerPass, recompute } = settings.compute;
const policy: Policy = { decoder: model.decoder, adapter, deployedScale: 1, recompute };
const { kind: _kind, ...armSettings } = config.arm;
const judged = await armOf(config, builtinParts).open(armSettings, {
  seed: config.seed,
  policy,
  tokensPerPass,
  pairs: [],
  demonstrations: { pool: [], pairs: [] },
  scope: model.scope,
  countBait: async () => ({ took: 0, of: 0 }),
  soundReward: async () => 0,
  tell: async () => undefined,
  instruct: () => () => new Int32Array(1),
  writePairs: async () => [],
  tokenize: (messages) => text.prompt(messages),
  labels: null,
  labelled: null,
  openModel: modelOpener(model, armModels, lab),
  folder: null,
});
const arms: Readonly<Record<string, Arm>> = {
  without: { sees: { features: null, text: false } },
  with: judged,
};

const clock = new PhaseClock();
let written = 0;
const context: Omit<StepContext, 'arm'> = {
  policy,
  optimiser: lab.use(new AdamW(adapter.parameters)),
  tasks,
  grader: { grade: async ({ length }) => Float32Array.from({ length }, (_, i) => i % 2) },
  sampler: policySampler(policy, settings.compute),
  stopTokens: [],
  vocabulary: folder.config.vocabSize,
  showPrompt: (tokens) => text.show(tokens),
  settings,
  pool: null,
  shards: Shards.alone,
  decode: ({ length }) => textOf(text, length, `response_${written++}`),
  enter: (phase) => clock.enter(phase),
};

const seconds: Record<string, number[]> = { without: [], with: [] };
const watching: number[] = [];
let costs: Readonly<Record<string, number>> = {};
for (let turn = 0; turn <= Number(values.turns); turn++) {
  for (const [name, arm] of Object.entries(arms)) {
    await device.sync();
    clock.take();
    const { watched } = await step({ ...context, arm }, turn);
    await device.sync();
    const phases = clock.take();
    const total = Object.values(phases).reduce((sum, value) => sum + value, 0);
    console.log(JSON.stringify({ turn, name, total, ...phases, ...(watched?.costs ?? {}) }));
    costs = watched?.costs ?? costs;
    if (turn === 0) continue;
    seconds[name].push(total);
    if (name === 'with') watching.push(phases['watch'] ?? 0);
  }
}
const [without, withJudge] = [median(seconds['without']), median(seconds['with'])];
const summary = {
  ...{ what: 'one update with a judge', judge: values.judge, answer: values.answer, device: device.name },
  ...{ rollouts: promptsPerStep * group, newTokens: Number(values.tokens), promptTokens: Number(values.promptTokens) },
  ...{ without, with: withJudge, watch: median(watching), ratio: withJudge / without, costs },
};
console.log(JSON.stringify(summary));
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(summary, null, 1)}\n`);
