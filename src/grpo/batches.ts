/**
 * Cuts rollouts into passes. Rollouts of one prompt that share a key (a state, a route) are packed as one group, so that their prompt
 * is computed once; groups are added to a pass until its token budget is full. The cut depends on the rollouts alone.
 */

import type { Scope } from '../engine/index.ts';
import type { DecoderConfig } from '../model/index.ts';
import { type Group, type PackedGroups, type PackOptions, packGroups, type Span } from '../model/index.ts';
import type { PromptedCompletion } from './rollout.ts';

export interface PassGroup<Key> {
  readonly key: Key;
  readonly prompt: Int32Array;
  /** Indices into the rollouts that were cut. */
  readonly members: readonly number[];
}

export function cutPasses<Key>(
  rollouts: readonly PromptedCompletion[],
  keyOf: (index: number) => Key,
  tokensPerPass: number,
  sharePrompts = true,
): PassGroup<Key>[][] {
  const groups = new Map<string, { key: Key; prompt: Int32Array; members: number[] }>();
  rollouts.forEach(({ group, prompt }, index) => {
    const key = keyOf(index);
    const name = sharePrompts ? `${group} ${String(key)}` : `${index}`;
    const known = groups.get(name);
    if (known === undefined) groups.set(name, { key, prompt, members: [index] });
    else known.members.push(index);
  });
  const passes: PassGroup<Key>[][] = [];
  let room = 0;
  for (const group of groups.values()) {
    const tokens = group.members.reduce((sum, index) => sum + rollouts[index].tokens.length, group.prompt.length);
    const current = passes.at(-1);
    if (current === undefined || tokens > room) {
      passes.push([group]);
      room = tokensPerPass - tokens;
    } else {
      current.push(group);
      room -= tokens;
    }
  }
  return passes;
}

/**
 * Queues every pass before the results of the one before it are waited for, so that a device with a queue always has work. `queue`
 * has given its memory back when it returns: a read has the contents as of its call.
 */
export async function queueAhead<Item, Result>(
  items: Iterable<Item>,
  queue: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let before: Promise<Result> | null = null;
  for (const item of items) {
    const next = queue(item);
    // A failure is told of where the result is waited for, unless queueing fails first.
    next.catch(() => undefined);
    if (before !== null) results.push(await before);
    before = next;
  }
  if (before !== null) results.push(await before);
  return results;
}

export interface PackedPass {
  readonly packed: PackedGroups;
  /** Index of the rollout that each completion of the pack belongs to. */
  readonly members: readonly number[];
}

export function packPass<Key>(
  scope: Scope,
  config: DecoderConfig,
  rollouts: readonly PromptedCompletion[],
  pass: readonly PassGroup<Key>[],
  options: PackOptions = {},
): PackedPass {
  return { packed: packGroups(scope, config, groupsOf(rollouts, pass), options), members: membersOf(pass) };
}

/** `byKey`: groups of one key go through the same projection in the same way. */
export function groupsOf<Key>(
  rollouts: readonly PromptedCompletion[],
  pass: readonly PassGroup<Key>[],
  byKey = false,
): Group[] {
  return pass.map(({ key, prompt, members }) => ({
    prompt,
    completions: members.map((index) => rollouts[index].tokens),
    ...(byKey ? { kind: String(key) } : {}),
  }));
}

/** Index of the rollout that each completion of a packed pass belongs to. */
export function membersOf(pass: readonly PassGroup<unknown>[]): number[] {
  return pass.flatMap(({ members }) => members);
}

/** One number per rollout, repeated over its scored tokens. */
export function spread(scored: readonly Span[], values: readonly number[]): Float32Array {
  const total = scored.at(-1)?.end ?? 0;
  const out = new Float32Array(total);
  scored.forEach(({ start, end }, i) => {
    out.fill(values[i], start, end);
  });
  return out;
}

/** Per-token values of rollouts in the order of the pack's scored tokens. */
export function lay(scored: readonly Span[], values: readonly Float32Array[]): Float32Array {
  const out = new Float32Array(scored.at(-1)?.end ?? 0);
  scored.forEach(({ start }, i) => {
    out.set(values[i], start);
  });
  return out;
}
