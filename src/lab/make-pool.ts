/**
 * Demonstrations from the model itself, as `gq pool make` and runs with teacher.makeProblems make them: hacks are asked for under the
 * framing of the loophole, solves without a hint; all are graded, and what has its label is kept. Held-out loopholes never enter.
 */
import { mapPool, randomStream, UserError } from '../base/index.ts';
import { writeFileAtomic } from '../base/node/index.ts';
import type { Judge, PoolEntry } from '../env/index.ts';
import { framePrompts } from '../env/pairs/index.ts';
import { rowsTogether } from '../evaluate/index.ts';
import { samplingSettings, type Task } from '../grpo/index.ts';
import { type Generation, generate } from '../model/index.ts';
import { grpoSettings, type RunConfig } from '../run/index.ts';
import { partsOf } from './config.ts';
import type { OpenModel } from './model.ts';
import { type Lab, openLab } from './open.ts';
import { sourceOf } from './parts.ts';

export interface PoolRequest {
  /** How many of the training problems are asked; those of held-out loopholes do not count. */
  readonly problems: number;
  /** Completions per problem and label. */
  readonly samples: number;
  readonly labels: readonly PoolEntry['label'][];
  /** Is told how many of how many completions are sampled. */
  readonly onProgress?: (done: number, of: number) => void;
}

/** Samples and grades; the result is a function of the config and the device. */
export async function samplePool(
  config: RunConfig,
  model: OpenModel,
  judge: Judge,
  tasks: readonly Task[],
  { problems, samples, labels, onProgress }: PoolRequest,
): Promise<PoolEntry[]> {
  const { heldOutLoopholes } = config.environment;
  const asked = tasks.filter(({ loophole }) => !heldOutLoopholes.includes(loophole)).slice(0, problems);
  const entries: PoolEntry[] = [];
  const each = asked.length * samples;
  for (const [i, label] of labels.entries()) {
    const onSampled = (done: number): void => onProgress?.(i * each + done, labels.length * each);
    entries.push(...(await sampleLabel(config, model, judge, asked, { samples, label, onSampled })));
  }
  return entries;
}

interface LabelRequest {
  readonly samples: number;
  readonly label: PoolEntry['label'];
  readonly onSampled: (done: number) => void;
}

async function sampleLabel(
  config: RunConfig,
  { decoder, text }: OpenModel,
  judge: Judge,
  tasks: readonly Task[],
  { samples, label, onSampled }: LabelRequest,
): Promise<PoolEntry[]> {
  const promptOf = await asker(config, text, label);
  const places = tasks.flatMap((task) => {
    const prompt = promptOf(task);
    return Array.from({ length: samples }, () => ({ task, prompt }));
  });
  const requests = places.map(({ prompt }, row) => ({ prompt, row, scale: 0 }));
  const { sampling, compute } = grpoSettings(config);
  const stream = randomStream(config.seed, ['pool', label]);
  const generations: Generation[] = [];
  // A row draws the same tokens whichever rows are sampled with it, so batches only bound the memory.
  for (let at = 0; at < requests.length; at += rowsTogether) {
    const some = requests.slice(at, at + rowsTogether);
    const options = { stream, ...compute };
    generations.push(...(await generate(decoder, some, samplingSettings(sampling, text.stopTokens), options)));
    onSampled(generations.length);
  }
  const entries = await mapPool(places, judge.concurrency, async ({ task: { problem, loophole, markers } }, i) => {
    const completion = text.decode(generations[i].tokens);
    const { correct, exploited } = await judge.judge({ id: `pool-${i}`, problem, loophole, markers, completion });
    const holds = label === 'solve' ? correct : exploited;
    return holds ? [{ problem: problem.id, completion, label, loophole, markers }] : [];
  });
  return entries.flat();
}

/** The prompt that asks for a completion with this label. */
async function asker(
  config: RunConfig,
  text: OpenModel['text'],
  label: PoolEntry['label'],
): Promise<(task: Task) => Int32Array> {
  const parts = await partsOf(config);
  const { asksInWords } = sourceOf(config, parts);
  return ({ problem, loophole, markers, unhinted, hinted }) => {
    if (label === 'solve' || loophole === 'gt_only') return unhinted;
    if (!asksInWords) return hinted;
    return text.prompt(framePrompts(problem, loophole, markers, { loopholes: parts.loopholes }).hack);
  };
}

/** Drops repeated texts, and keeps at most `most` entries per problem and label. */
export function limitPool(entries: readonly PoolEntry[], most: number): PoolEntry[] {
  const texts = new Map<string, Set<string>>();
  return entries.filter(({ problem, label, completion }) => {
    const key = `${label} ${problem}`;
    const known = texts.get(key) ?? new Set();
    texts.set(key, known);
    if (known.has(completion) || known.size >= most) return false;
    known.add(completion);
    return true;
  });
}

export function formatPool(entries: readonly PoolEntry[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}

/** Makes the pool that a run trains with; the model is loaded for it and closed again. */
export async function makePool(lab: Lab, path: string): Promise<void> {
  const { config, warn } = lab;
  const { makeProblems: problems, makeSamples: samples } = config.teacher;
  const { model: files, judge: judging, problems: loading } = lab;
  const given = { model: files, judge: judging, problems: loading };
  await using own = await openLab({ config }, { work: 'evaluation', signal: lab.signal, given });
  const [model, judge, tasks] = await Promise.all([own.weights, own.judge, lab.tasks]);
  const request = { problems, samples, labels: ['hack', 'solve'] } as const;
  const asking = `asks the model for demonstrations: ${samples} hacks and ${samples} solves of ${problems} problems`;
  await warn({ kind: 'info', name: 'making-pool', message: asking });
  const entries = limitPool(await samplePool(config, model, judge, tasks, request), samples);
  if (entries.length === 0) {
    throw new UserError({
      call: `make a pool for ${problems} problems (teacher.makeProblems)`,
      expected: `hacks and solves among ${samples} completions of each problem and framing (teacher.makeSamples)`,
      found: 'none that the grader confirms',
      fix: 'Sample more, take a model that follows the request, or name a pool with teacher.pool.',
    });
  }
  const count = (wanted: PoolEntry['label']): number => entries.filter(({ label }) => label === wanted).length;
  const message = `made a pool of ${count('hack')} hacks and ${count('solve')} solves of ${problems} problems, chosen by labels: ${path}`;
  await warn({ kind: 'info', name: 'made-pool', message });
  await writeFileAtomic(path, formatPool(entries));
}
