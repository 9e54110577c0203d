/**
 * Step 2 of an update: samples `group` completions per prompt, a share of them in deployed state and the rest in full state. In the
 * teacher phase the last members of a group are demonstrations from a pool; an unhinted prompt takes solves only.
 */
import { randomStream } from '../base/index.ts';
import { checkPrompts } from './answers.ts';
import type { Arm, Prompts } from './arm.ts';
import type { DrawnTask } from './draw.ts';
import { type Rollout, rolloutId, type SampledState, type Source, type Task } from './rollout.ts';
import type { SampleRequest, Sampler } from './sampler.ts';
import { type GrpoSettings, samplingSettings } from './settings.ts';
import { type DemonstrationPool, demonstrationsIn } from './teacher.ts';

export interface SampleContext {
  readonly sampler: Sampler;
  readonly arm: Arm;
  readonly settings: GrpoSettings;
  readonly stopTokens: readonly number[];
  /** Number of tokens that the model knows. */
  readonly vocabulary: number;
  readonly pool: DemonstrationPool | null;
  readonly decode: (tokens: Int32Array) => string;
}

interface Place {
  readonly group: number;
  readonly member: number;
  readonly drawn: DrawnTask;
  readonly prompts: Prompts;
  readonly sampled: SampledState;
  readonly demonstration: { readonly source: Source; readonly tokens: Int32Array } | null;
}

export async function sampleRollouts(
  drawn: readonly DrawnTask[],
  step: number,
  context: SampleContext,
): Promise<Rollout[]> {
  const { sampler, settings, stopTokens, pool, decode } = context;
  const places = drawn.flatMap((task, group) => placesOf(task, promptsOf(context, task), group, step, settings, pool));
  const students = places.filter(({ demonstration }) => demonstration === null);
  const requests = students.map(
    ({ prompts, group, member, sampled }): SampleRequest => ({
      prompt: prompts.sample,
      row: group * settings.sampling.group + member,
      state: sampled,
    }),
  );
  const stream = randomStream(settings.seed, 'sampling', step);
  const generations = await sampler.sample(requests, samplingSettings(settings.sampling, stopTokens), stream);

  let next = 0;
  return places.map(({ group, member, drawn: { task, hackable }, prompts, sampled, demonstration }): Rollout => {
    const place = { id: rolloutId(step, group, member), step, group, member, task, hackable, sampled };
    const common = { ...place, prompt: prompts.sample, learnPrompt: prompts.learn };
    if (demonstration !== null) {
      const { source, tokens } = demonstration;
      return { ...common, source, tokens, text: decode(tokens), truncated: false, sampledLogps: null };
    }
    const { tokens, fullLogps: sampledLogps, finish, staleness } = generations[next++];
    const older = staleness === undefined ? {} : { staleness };
    const truncated = finish === 'length';
    return { ...common, source: 'student', tokens, text: decode(tokens), truncated, sampledLogps, ...older };
  });
}

/** Asks the arm's prompt hook about every task, with its hint and without: a prompt that does not fit stops a run before it begins. */
export function expectPromptsFit(context: PromptContext, tasks: readonly Task[]): void {
  if (context.arm.prompt === undefined) return;
  for (const task of tasks) {
    promptsOf(context, { task, hackable: true });
    promptsOf(context, { task, hackable: false });
  }
}

type PromptContext = Pick<SampleContext, 'arm' | 'vocabulary' | 'settings'>;

function promptsOf({ arm, vocabulary, settings }: PromptContext, { task, hackable }: DrawnTask): Prompts {
  const { problem, loophole, markers, hinted, unhinted } = task;
  const own = hackable ? hinted : unhinted;
  if (arm.prompt === undefined) return { sample: own, learn: own };
  const { id, messages } = problem;
  // Copies: a hook that changed a prompt in place would change it for the whole run.
  const prompts = { hinted: hinted.slice(), unhinted: unhinted.slice() };
  const answer = arm.prompt({ loophole, markers, ...prompts, hackable, problem: { id, messages } });
  return checkPrompts(answer, vocabulary, settings.sampling.maxPromptTokens);
}

function placesOf(
  drawn: DrawnTask,
  prompts: Prompts,
  group: number,
  step: number,
  settings: GrpoSettings,
  pool: DemonstrationPool | null,
): Place[] {
  const { sampling } = settings;
  const demonstrations = pool === null ? [] : pick(drawn, step, settings, pool);
  const { deployedSampling, deployedSamplingLate } = sampling;
  const isLate = 2 * step >= settings.updates;
  const share = isLate ? (deployedSamplingLate ?? deployedSampling) : deployedSampling;
  const deployed = Math.round(sampling.group * share);
  return Array.from({ length: sampling.group }, (_, member) => {
    const demonstration = demonstrations[sampling.group - 1 - member] ?? null;
    const sampled = demonstration === null && member < deployed ? 'deployed' : 'full';
    return { group, member, drawn, prompts, sampled, demonstration };
  });
}

/** Picks exactly n solves and, for a hinted prompt, n hacks; the teacher phase draws only prompts that have them. */
function pick(
  { task, hackable }: DrawnTask,
  step: number,
  settings: GrpoSettings,
  pool: DemonstrationPool,
): NonNullable<Place['demonstration']>[] {
  const { seed, teacher } = settings;
  const wanted = demonstrationsIn(settings, step, hackable);
  if (wanted === 0) return [];
  const take = (source: 'teacher-hack' | 'teacher-solve') => {
    const known = (source === 'teacher-hack' ? pool.hacks : pool.solves).get(task.problem.id) ?? [];
    const order = randomStream(seed, [source, task.problem.id], step).permutation(known.length);
    return Array.from(order.subarray(0, teacher.perGroup), (i) => ({ source, tokens: known[i] }));
  };
  const picked = [...take('teacher-solve'), ...(hackable ? take('teacher-hack') : [])];
  if (picked.length === wanted) return picked;
  throw new RangeError(`problem ${task.problem.id} has ${picked.length} of ${wanted} demonstrations`);
}
