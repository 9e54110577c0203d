/**
 * Which loophole each problem is graded in. Known loopholes are those that the pairs of a gate may show, held-out ones are the
 * others: the two lists are disjoint, and every problem's loophole is in one of them.
 */
import { z } from 'zod';
import { messageOf, randomStream, UserError } from '../base/index.ts';
import { decodeText, readRegular, systemComplaint } from '../base/node/index.ts';
import { describeFaults } from './importers/records.ts';
import type { Loophole, LoopholeName } from './loopholes/loophole.ts';
import { builtinLoopholes, openLoopholes, openNames } from './loopholes/registry.ts';

const shape = z.strictObject({
  known: z.array(z.string()),
  heldOut: z.array(z.string()),
  problems: z.record(z.string(), z.string()),
});

export interface Partition {
  readonly known: readonly LoopholeName[];
  readonly heldOut: readonly LoopholeName[];
  /** The loophole of each problem, by the problem's id. */
  readonly problems: Readonly<Record<string, LoopholeName>>;
}

function complain(found: string, expected: string): never {
  throw new UserError({ call: 'partition', expected, found });
}

/** Returns the partition, or throws. `loopholes` lists all that a partition may name. */
export function checkPartition(partition: Partition, loopholes: readonly Loophole[] = builtinLoopholes): Partition {
  const { known, heldOut, problems } = partition;
  for (const name of known) openLoopholes(name, loopholes, 'partition, known');
  for (const name of heldOut) openLoopholes(name, loopholes, 'partition, heldOut');
  const heldOutParts = heldOut.flatMap(openNames);
  const both = known.flatMap(openNames).filter((name) => heldOutParts.includes(name));
  if (both.length > 0) complain(`${both.join(', ')} in both`, 'known and held-out loopholes that are disjoint');
  for (const [id, name] of Object.entries(problems)) {
    openLoopholes(name, loopholes, `partition, problem ${id}`);
    if (!known.includes(name) && !heldOut.includes(name))
      complain(`${name} for problem ${id}`, 'a known or held-out loophole');
  }
  return partition;
}

export interface PartitionOptions {
  readonly known: readonly LoopholeName[];
  readonly heldOut: readonly LoopholeName[];
  readonly seed: number;
  readonly loopholes?: readonly Loophole[];
}

/** Shares the problems out evenly over the loopholes, in an order that depends on the seed and the ids only. */
export function makePartition(
  problemIds: readonly string[],
  { known, heldOut, seed, loopholes = builtinLoopholes }: PartitionOptions,
): Partition {
  const all = [...known, ...heldOut];
  if (all.length === 0) complain('none', 'at least one loophole');
  const ids = [...problemIds].sort();
  if (new Set(ids).size !== ids.length) complain('an id twice', 'problem ids that differ');
  const order = randomStream(seed, 'partition').permutation(ids.length);
  const problems = Object.fromEntries(ids.map((id, index) => [id, all[order[index] % all.length]]));
  return checkPartition({ known, heldOut, problems }, loopholes);
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const found = messageOf(cause);
    throw new UserError({ call: `read ${path}`, expected: 'a partition file, as JSON', found }, { cause });
  }
}

function readPartitionBytes(path: string): Buffer {
  try {
    return readRegular(path);
  } catch (cause) {
    const found = systemComplaint(cause)?.found ?? String(cause);
    throw new UserError({ call: `read ${path}`, expected: 'a partition file', found }, { cause });
  }
}

export async function readPartition(
  path: string,
  loopholes: readonly Loophole[] = builtinLoopholes,
): Promise<Partition> {
  const value = parseJson(decodeText(readPartitionBytes(path), path), path);
  const result = shape.safeParse(value);
  if (!result.success) {
    const found = describeFaults(result.error.issues, value);
    throw new UserError({ call: `read ${path}`, expected: 'known, heldOut, problems', found });
  }
  return checkPartition(result.data, loopholes);
}

/** The loophole of a problem; a problem that the partition does not name is an error. */
export function loopholeOf({ problems }: Partition, problemId: string): LoopholeName {
  return problems[problemId] ?? complain(`no loophole for problem ${problemId}`, 'a loophole for every problem');
}
