/**
 * Plans of attention (kernels/attention.ts): segments cut into items of bounded size, items gathered into groups; a group
 * and a key head, or all of them, make a shard. Forward, groups are runs of items of about equal work. Backward, a group is
 * a family: all segments that share keys, directly or through others, so that one shard adds up everything a key receives.
 */
import { DeviceError } from '../../base/index.ts';
import type { Kernels, Segment, Segments, Tensor } from '../index.ts';
import { runElements } from './elementwise.ts';
import { type Jobs, maxShards } from './jobs.ts';

/** Multiplications worth a shard: about 10 µs of one core. */
const shardWork = 125_000;
/** Number of groups that keep the cores level. Fewer are cut by heads too; otherwise a core has whole rows of keys and values. */
const manyGroups = 16;
/** Most queries of one item. A longer segment is cut, and a single query left over is computed in another order than queries in company. */
export const mostQueries = 256;

/** A plan. Its `numbers`, as the kernel reads them: the groups' first items and one past the last, then the items. */
interface Plan {
  readonly groups: number;
  readonly headsEach: number;
  readonly numbers: Int32Array;
}

function itemsOf(segment: Segment, queriesEach: number): number[][] {
  const { queryStart, queryEnd, prefixStart, prefixEnd, keyStart, keyEnd } = segment;
  const items: number[][] = [];
  for (let start = queryStart; start < queryEnd; start += queriesEach) {
    const queries = Math.min(queriesEach, queryEnd - start);
    const firstKeyEnd = keyEnd - (queryEnd - 1 - start);
    items.push([start, queries, prefixStart, prefixEnd, keyStart, firstKeyEnd]);
  }
  return items;
}

function planOf(groups: readonly (readonly number[][])[], headsEach: number): Plan {
  const starts = [0];
  for (const group of groups) starts.push((starts.at(-1) ?? 0) + group.length);
  return { groups: groups.length, headsEach, numbers: new Int32Array([...starts, ...groups.flat(2)]) };
}

function planForward(segments: readonly Segment[], queriesEach: number, workOfPair: number, keyHeads: number): Plan {
  const items = segments.flatMap((segment) => itemsOf(segment, queriesEach));
  const workOf = ([, queries, prefixStart, prefixEnd, keyStart, keyEnd]: number[]) =>
    queries * (prefixEnd - prefixStart + keyEnd - keyStart + queries / 2) * workOfPair;
  const total = items.reduce((sum, item) => sum + workOf(item), 0);
  const enough = Math.max(shardWork, total / Math.floor(maxShards / keyHeads / 2));
  const groups: number[][][] = [];
  let work = Number.POSITIVE_INFINITY;
  for (const item of items) {
    if (work >= enough) {
      groups.push([]);
      work = 0;
    }
    groups.at(-1)?.push(item);
    work += workOf(item);
  }
  const cut = groups.length < manyGroups && total / groups.length > 2 * shardWork;
  return planOf(groups, cut ? 1 : keyHeads);
}

/** Segments in families that share no key, in order of their first segment. */
export function familiesOf(segments: readonly Segment[]): Segment[][] {
  const spans = segments
    .flatMap((segment, index) => [
      { index, start: segment.prefixStart, end: segment.prefixEnd },
      { index, start: segment.keyStart, end: segment.keyEnd },
    ])
    .filter(({ start, end }) => end > start)
    .sort((a, b) => a.start - b.start);
  const parent = segments.map((_, index) => index);
  const rootOf = (index: number): number => {
    let root = index;
    while (parent[root] !== root) root = parent[root];
    parent[index] = root;
    return root;
  };
  let reach = Number.NEGATIVE_INFINITY;
  let member = 0;
  for (const { index, start, end } of spans) {
    if (start < reach) parent[rootOf(index)] = rootOf(member);
    member = index;
    reach = Math.max(reach, end);
  }
  const families = new Map<number, Segment[]>();
  for (const [index, segment] of segments.entries()) {
    const root = rootOf(index);
    families.set(root, [...(families.get(root) ?? []), segment]);
  }
  return [...families.values()];
}

function planBackward(segments: readonly Segment[], queriesEach: number, keyHeads: number): Plan {
  const families = familiesOf(segments).map((family) => family.flatMap((segment) => itemsOf(segment, queriesEach)));
  return planOf(families, families.length < manyGroups ? 1 : keyHeads);
}

function shapeOf(jobs: Jobs, q: Tensor, k: Tensor) {
  const [, heads, size] = q.shape;
  const keyHeads = k.shape[1];
  const queriesEach = Math.min(mostQueries, Math.floor((jobs.mostRows * keyHeads) / heads));
  if (size > jobs.mostSize || size % 2 !== 0 || queriesEach < 1) {
    throw new DeviceError({
      call: 'attention',
      expected: `an even head size of at most ${jobs.mostSize} and at most ${jobs.mostRows} query heads per key head`,
      found: `size ${size}, ${heads} query and ${keyHeads} key heads`,
    });
  }
  return { heads, keyHeads, size, queriesEach };
}

export function wasmAttentionKernels(jobs: Jobs): Pick<Kernels, 'attention' | 'attentionBackward'> {
  /** Layers share their segments: a plan is made once. */
  const plans = new WeakMap<Segments['list'], Map<string, Plan>>();
  const planFor = ({ list }: Segments, key: string, make: () => Plan): Plan => {
    const known = plans.get(list) ?? new Map<string, Plan>();
    plans.set(list, known);
    const plan = known.get(key) ?? make();
    known.set(key, plan);
    return plan;
  };
  const fieldsOf = (plan: Plan, heads: number, keyHeads: number, size: number) => {
    const at = jobs.stage(plan.numbers);
    return [at, at + (plan.groups + 1) * 4, heads, keyHeads, size, plan.headsEach];
  };
  return {
    attention(out, logSumExp, q, k, v, segments, scale) {
      const { heads, keyHeads, size, queriesEach } = shapeOf(jobs, q, k);
      const workOfPair = 2 * size * heads;
      const plan = planFor(segments, `forward ${heads} ${keyHeads} ${size}`, () =>
        planForward(segments.list, queriesEach, workOfPair, keyHeads),
      );
      const tensors = [q, k, v, out, logSumExp].map(({ offset }) => offset);
      const fields = fieldsOf(plan, heads, keyHeads, size);
      jobs.run('attention', (plan.groups * keyHeads) / plan.headsEach, [...fields, ...tensors, 0, 0, 0, 0], [scale]);
    },
    attentionBackward(dq, dk, dv, dOut, out, logSumExp, q, k, v, segments, scale) {
      const { heads, keyHeads, size, queriesEach } = shapeOf(jobs, q, k);
      const plan = planFor(segments, `backward ${queriesEach} ${keyHeads}`, () =>
        planBackward(segments.list, queriesEach, keyHeads),
      );
      for (const sum of [dk, dv]) runElements(jobs, 'fill', sum.offset, 0, sum.size);
      const tensors = [q, k, v, out, logSumExp, dOut, dq, dk, dv].map(({ offset }) => offset);
      jobs.run(
        'attentionBackward',
        (plan.groups * keyHeads) / plan.headsEach,
        [...fieldsOf(plan, heads, keyHeads, size), ...tensors],
        [scale],
      );
    },
  };
}
