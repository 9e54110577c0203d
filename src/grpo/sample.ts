/**
 * Step 2 of an update: sample `group` completions per prompt, a share of them in deployed state, the rest full. In the
 * teacher phase the last members of a group are demonstrations from pools; an unhinted prompt takes solves only.
 */
import { scaleOf } from '../adapters/index.ts';
import { randomStream } from '../base/index.ts';
import { type GenerateRequest, generate, type Pace } from '../model/index.ts';
import type { DrawnTask } from './draw.ts';
import { type Policy, projectRows } from './policy.ts';
import { type Rollout, rolloutId, type SampledState, type Source } from './rollout.ts';
import type { GrpoSettings } from './settings.ts';

/** Completions by problem id, already tokenized and graded when they were made. */
export interface DemonstrationPool {
  readonly hacks: ReadonlyMap<string, readonly Int32Array[]>;
  readonly solves: ReadonlyMap<string, readonly Int32Array[]>;
}

export interface SampleOptions {
  readonly settings: GrpoSettings;
  readonly pool: DemonstrationPool | null;
  readonly decode: (tokens: Int32Array) => string;
  readonly pace: Pace;
}

interface Place {
  readonly group: number;
  readonly member: number;
  readonly drawn: DrawnTask;
  readonly sampled: SampledState;
  readonly demonstration: { readonly source: Source; readonly tokens: Int32Array } | null;
}

export async function sampleRollouts(
  policy: Policy,
  drawn: readonly DrawnTask[],
  step: number,
  { settings, pool, decode, pace }: SampleOptions,
): Promise<Rollout[]> {
  const places = drawn.flatMap((task, group) => placesOf(task, group, step, settings, pool));
  const students = places.filter(({ demonstration }) => demonstration === null);
  const requests = students.map(
    ({ drawn: { task, hackable }, group, member, sampled }): GenerateRequest => ({
      prompt: hackable ? task.hinted : task.unhinted,
      row: group * settings.group + member,
      scale: scaleOf(sampled, policy.deployedScale),
    }),
  );
  const stream = randomStream(settings.seed, 'sampling', step);
  const generations = await generate(policy.decoder, requests, settings, {
    stream,
    project: projectRows(policy),
    ...pace,
  });

  let next = 0;
  return places.map(({ group, member, drawn: { task, hackable }, sampled, demonstration }): Rollout => {
    const common = { id: rolloutId(step, group, member), step, group, member, task, hackable, sampled };
    const prompt = hackable ? task.hinted : task.unhinted;
    if (demonstration !== null) {
      const { source, tokens } = demonstration;
      return { ...common, prompt, source, tokens, text: decode(tokens), truncated: false, sampledLogps: null };
    }
    const { tokens, fullLogps, finish } = generations[next++];
    const truncated = finish === 'length';
    return { ...common, prompt, source: 'student', tokens, text: decode(tokens), truncated, sampledLogps: fullLogps };
  });
}

function placesOf(
  drawn: DrawnTask,
  group: number,
  step: number,
  settings: GrpoSettings,
  pool: DemonstrationPool | null,
): Place[] {
  const demonstrations = pool === null || step >= settings.teacherOffStep ? [] : pick(drawn, step, settings, pool);
  const deployed = Math.round(settings.group * settings.deployedSampling);
  return Array.from({ length: settings.group }, (_, member) => {
    const demonstration = demonstrations[settings.group - 1 - member] ?? null;
    const sampled = demonstration === null && member < deployed ? 'deployed' : 'full';
    return { group, member, drawn, sampled, demonstration };
  });
}

/** n hacks and n solves (an unhinted prompt: n solves), as far as the pools have them. */
function pick(
  { task, hackable }: DrawnTask,
  step: number,
  { seed, teacherPerGroup }: GrpoSettings,
  pool: DemonstrationPool,
): NonNullable<Place['demonstration']>[] {
  const take = (source: 'teacher-hack' | 'teacher-solve') => {
    const known = (source === 'teacher-hack' ? pool.hacks : pool.solves).get(task.problem.id) ?? [];
    const order = randomStream(seed, [source, task.problem.id], step).permutation(known.length);
    return Array.from(order.subarray(0, teacherPerGroup), (i) => ({ source, tokens: known[i] }));
  };
  return [...take('teacher-solve'), ...(hackable ? take('teacher-hack') : [])];
}
