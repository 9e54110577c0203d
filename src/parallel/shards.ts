/**
 * An update's prompts in shards. A run says how many shards it has, whatever the number of ranks; each rank owns as many of them, one
 * after another, and what is summed is summed in one fixed binary tree over shards: the same bytes for every number of ranks.
 *
 *   shard    0   1   2   3   4   5   6   7
 *   2 ranks  ───── rank 0 ── ───── rank 1 ──      sum = ((0+1)+(2+3)) + ((4+5)+(6+7))
 */
import { UserError } from '../base/index.ts';
import { deserialize, serialize } from '../base/node/index.ts';
import { alone, type Communicator } from './communicator.ts';

export class Shards {
  /** The one shard of a run in one process that asked for none. */
  static readonly alone = new Shards(alone, 1);
  readonly communicator: Communicator;
  readonly count: number;

  constructor(communicator: Communicator, count: number) {
    expectDivision(communicator.size, count);
    this.communicator = communicator;
    this.count = count;
  }

  get ranks(): number {
    return this.communicator.size;
  }

  /** The shards of this rank, in order. */
  get own(): number[] {
    const { rank, size } = this.communicator;
    const each = this.count / size;
    return Array.from({ length: each }, (_, i) => rank * each + i);
  }

  /** The shard of one of so many prompts. */
  of(prompt: number, prompts: number): number {
    return Math.floor((prompt * this.count) / prompts);
  }

  owns(shard: number): boolean {
    const each = this.count / this.communicator.size;
    return Math.floor(shard / each) === this.communicator.rank;
  }

  /** The values of every rank, in the order of ranks, which is that of the shards. */
  async gather<Value>(own: Value): Promise<Value[]> {
    if (this.ranks === 1) return [own];
    const bytes = await this.communicator.allGather(serialize(own));
    return bytes.map((each) => deserialize(each) as Value);
  }

  /** What rank 0 makes, on every rank: for work that must be done once, such as asking an endpoint. */
  async fromFirst<Value>(make: () => Promise<Value>): Promise<Value> {
    if (this.ranks === 1) return make();
    const { rank } = this.communicator;
    const bytes = await this.communicator.broadcast(0, rank === 0 ? serialize(await make()) : new Uint8Array());
    return deserialize(bytes) as Value;
  }

  /** Refuses to go on when a rank has another value than most have. */
  async expectSame(what: string, own: string): Promise<void> {
    const values = await this.gather(own);
    const times = (value: string): number => values.filter((each) => each === value).length;
    const usual = values.reduce((best, value) => (times(value) > times(best) ? value : best));
    const other = values.findIndex((value) => value !== usual);
    if (other < 0) return;
    throw new UserError({
      call: `rank ${other} of ${values.length}`,
      expected: `${what} of the other ranks (${shorten(usual)})`,
      found: shorten(values[other]),
      fix: 'All ranks were stopped: every rank must compute the same run.',
    });
  }

  /** Sums the values that `make` gives for each shard of this rank with those of all others, in the tree. */
  async sum(make: (shard: number) => Promise<Float32Array>): Promise<Float32Array> {
    const { rank, size } = this.communicator;
    const sums: { level: number; values: Float32Array }[] = [];
    for (const shard of this.own) {
      let level = 0;
      let values = await make(shard);
      for (let last = sums.at(-1); last?.level === level; last = sums.at(-1)) {
        sums.pop();
        values = addInto(last.values, values);
        level++;
      }
      sums.push({ level, values });
    }
    let [{ values }] = sums;
    for (let distance = 1; distance < size; distance *= 2) {
      const others = new Float32Array(values.length);
      await this.communicator.exchange(rank ^ distance, bytesOf(values), bytesOf(others));
      values = addInto(values, others);
    }
    return values;
  }
}

/** Sums of two numbers do not depend on their order, so it does not matter which half is this rank's. */
function addInto(target: Float32Array, others: Float32Array): Float32Array {
  for (let i = 0; i < target.length; i++) target[i] += others[i];
  return target;
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

function shorten(value: string): string {
  return value.length > 24 ? `${value.slice(0, 24)}…` : value;
}

function expectDivision(ranks: number, shards: number): void {
  if (shards % ranks === 0 && Number.isInteger(Math.log2(ranks))) return;
  throw new UserError({
    call: 'ranks',
    expected: `a power of two that is at most parallel.shards (${shards})`,
    found: `${ranks}`,
    fix: 'The sum of gradients is a binary tree over the shards, so that every number of ranks gives the same bytes.',
  });
}
