/** Demonstrations, of a file or made by the model itself: all are graded, and held-out loopholes never enter. */
import { mapPool, randomStream, UserError } from '../base/index.ts';
import { writeFileAtomic } from '../base/node/index.ts';
import { importPool, isShown, type Judge, type PoolEntry } from '../env/index.ts';
import { framePrompts } from '../env/pairs/index.ts';
import { expectNoTestDemonstrations } from '../env/sources/index.ts';
import { rowsTogether } from '../evaluate/index.ts';
import { type DemonstrationPool, expectCovered, samplingSettings, type Task } from '../grpo/index.ts';
import { type Generation, generate, type ModelText } from '../model/index.ts';
import { openJudged } from '../oracle/index.ts';
import { grpoSettings, type RunConfig, type RunDirectory } from '../run/index.ts';
import { partsOf } from './config.ts';
import type { OpenModel } from './model.ts';
import { type Lab, openLab } from './open.ts';
import { sourceOf } from './parts.ts';

export async function openPool(
  { config: { teacher, sampling, environment }, parts: { loopholes }, pool: path, warn }: Lab,
  tasks: readonly Task[],
  judge: Judge,
  {
    text,
    decoder: {
      config: { maxPositions },
    },
  }: Pick<OpenModel, 'text' | 'decoder'>,
): Promise<DemonstrationPool | null> {
  if (path === null) return null;
  const byId = new Map(tasks.map((task) => [task.problem.id, task]));
  const problems = new Map(tasks.map(({ problem }) => [problem.id, problem]));
  const { hacks, solves, refused } = await importPool(path, problems, judge, loopholes);
  const graded = [...hacks.values(), ...solves.values()].flat();
  expectNoTestDemonstrations(
    graded.map(({ completion }) => completion),
    path,
  );
  for (const { line, reason } of refused) {
    const message = `${path}, line ${line}, is left out: ${reason}`;
    await warn({ kind: 'warning', name: 'demonstration-left-out', message, detail: { line, reason } });
  }
  const fits = (entry: PoolEntry): boolean => isShown(entry, byId.get(entry.problem), environment.heldOutLoopholes);
  const misfits = [...hacks.values()].flat().filter((entry) => !fits(entry));
  if (misfits.length > 0) {
    const message = `${misfits.length} hacks of ${teacher.pool} are left out: their loophole or markers are not those of the problem in this run, or the loophole is held out`;
    await warn({ kind: 'warning', name: 'demonstration-left-out', message, detail: { hacks: misfits.length } });
  }
  let long = 0;
  const tokensOf = (entries: readonly PoolEntry[]): Int32Array[] =>
    entries.filter(fits).flatMap(({ problem, completion }) => {
      const tokens = text.completion(completion);
      const { hinted, unhinted } = byId.get(problem) as Task;
      if (Math.max(hinted.length, unhinted.length) + tokens.length <= maxPositions) return [tokens];
      long++;
      return [];
    });
  const tokenize = (entries: typeof hacks) => new Map([...entries].map(([id, each]) => [id, tokensOf(each)]));
  const pool = { hacks: tokenize(hacks), solves: tokenize(solves) };
  if (long > 0) {
    const message = `${long} demonstrations of ${path} are left out: with their prompts they have more than ${maxPositions} tokens, the context of this run`;
    await warn({ kind: 'warning', name: 'demonstration-left-out', message, detail: { demonstrations: long } });
  }
  if (teacher.offStep > 0) expectCovered(tasks, pool, { teacher, sampling }, path);
  return pool;
}

export interface PoolRequest {
  readonly problems: number;
  readonly samples: number;
  readonly labels: readonly PoolEntry['label'][];
  readonly onProgress?: (done: number, of: number) => void;
}

const askable = ({ environment }: RunConfig, tasks: readonly Task[]): readonly Task[] =>
  tasks.filter(({ loophole }) => !environment.heldOutLoopholes.includes(loophole));

export async function samplePool(
  config: RunConfig,
  { decoder, text }: OpenModel,
  judge: Judge,
  tasks: readonly Task[],
  { problems, samples, labels, onProgress }: PoolRequest,
): Promise<PoolEntry[]> {
  const asked = askable(config, tasks).slice(0, problems);
  const { sampling, compute } = grpoSettings(config);
  const settings = samplingSettings(sampling, text.stopTokens);
  const entries: PoolEntry[] = [];
  for (const [turn, label] of labels.entries()) {
    const promptOf = await asker(config, text, label);
    const places = asked.flatMap((task) => {
      const prompt = promptOf(task);
      return Array.from({ length: samples }, () => ({ task, prompt }));
    });
    const requests = places.map(({ prompt }, row) => ({ prompt, row, scale: 0 }));
    const options = { stream: randomStream(config.seed, ['pool', label]), ...compute };
    const generations: Generation[] = [];
    // A row draws the same tokens whichever rows are sampled with it, so batches only bound the memory.
    for (let at = 0; at < requests.length; at += rowsTogether) {
      generations.push(...(await generate(decoder, requests.slice(at, at + rowsTogether), settings, options)));
      onProgress?.(turn * places.length + generations.length, labels.length * places.length);
    }
    const judged = await mapPool(places, judge.concurrency, async ({ task: { problem, loophole, markers } }, i) => {
      const completion = text.decode(generations[i].tokens);
      const { correct, exploited } = await judge.judge({ id: `pool-${i}`, problem, loophole, markers, completion });
      const holds = label === 'solve' ? correct : exploited;
      return holds ? [{ problem: problem.id, completion, label, loophole, markers }] : [];
    });
    entries.push(...judged.flat());
  }
  return entries;
}

async function asker(
  config: RunConfig,
  text: ModelText,
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

export const formatPool = (entries: readonly PoolEntry[]): string =>
  entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');

export async function makePool(lab: Lab, path: string): Promise<void> {
  const { config, warn, signal } = lab;
  const { makeProblems, makeSamples: samples } = config.teacher;
  const given = { model: lab.model, judge: lab.judge, problems: lab.problems };
  await using own = await openLab({ config }, { work: 'evaluation', signal, given });
  const [model, judge, tasks] = await Promise.all([own.weights, own.judge, lab.tasks]);
  const problems = Math.min(makeProblems, askable(config, tasks).length);
  const few = problems < makeProblems ? `, all that there are (teacher.makeProblems is ${makeProblems})` : '';
  const asking = `asks the model for demonstrations: ${samples} hacks and ${samples} solves of each of ${problems} problems${few}`;
  await warn({ kind: 'info', name: 'making-pool', message: asking });
  const request = { problems, samples, labels: ['hack', 'solve'] } as const;
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

export type GradedPool = { readonly entries: readonly PoolEntry[]; readonly source: Readonly<Record<string, unknown>> };

export async function poolOfRun(run: RunDirectory): Promise<GradedPool> {
  const { config, identity } = run.readManifest();
  const { loopholes, heldOutLoopholes } = config.environment;
  const entries: PoolEntry[] = [];
  for (const { problem, completion, source, ...row } of await (await openJudged(run)).rows()) {
    if (source !== 'student') continue;
    const { markers, hack, solve } = row;
    const loophole = row.hackable ? row.loophole : 'gt_only';
    const entry = { problem, completion, loophole, markers };
    if (solve) entries.push({ ...entry, label: 'solve' });
    else if (hack && loopholes.includes(loophole) && !heldOutLoopholes.includes(loophole))
      entries.push({ ...entry, label: 'hack' });
  }
  return {
    entries,
    source: { run: run.path, configHash: identity.config, modelHash: identity.model, seed: config.seed },
  };
}
