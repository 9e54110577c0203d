/**
 * Which mode each problem is graded in. Known modes may be seen by a gate or its pairs, held-out modes may not: the two
 * lists are disjoint, and every problem's mode is in one of them.
 */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { writeFileAtomic } from '../base/atomic-file.ts';
import { UserError } from '../base/errors.ts';
import { randomStream } from '../base/rng.ts';
import { type Mode, modes } from './modes.ts';

const mode = z.enum(modes);
const shape = z.strictObject({
  known: z.array(mode),
  heldOut: z.array(mode),
  problems: z.record(z.string(), mode),
});

export interface Partition {
  readonly known: readonly Mode[];
  readonly heldOut: readonly Mode[];
  /** Problem id → mode. */
  readonly problems: Readonly<Record<string, Mode>>;
}

function complain(found: string, expected: string): never {
  throw new UserError({ call: 'partition', expected, found });
}

export function checkPartition(partition: Partition): Partition {
  const { known, heldOut, problems } = partition;
  const both = known.filter((name) => heldOut.includes(name));
  if (both.length > 0) complain(`${both.join(', ')} in both`, 'known and held-out modes that are disjoint');
  for (const [id, name] of Object.entries(problems)) {
    if (!known.includes(name) && !heldOut.includes(name))
      complain(`${name} for problem ${id}`, 'a known or held-out mode');
  }
  return partition;
}

/** Shares the problems out evenly over the modes, in an order that depends on the seed and the ids only. */
export function makePartition(
  problemIds: readonly string[],
  { known, heldOut, seed }: { known: readonly Mode[]; heldOut: readonly Mode[]; seed: number },
): Partition {
  const all = [...known, ...heldOut];
  if (all.length === 0) complain('none', 'at least one mode');
  const ids = [...problemIds].sort();
  if (new Set(ids).size !== ids.length) complain('an id twice', 'ids that differ');
  const order = randomStream(seed, 'partition').permutation(ids.length);
  const problems = Object.fromEntries(ids.map((id, index) => [id, all[order[index] % all.length]]));
  return checkPartition({ known, heldOut, problems });
}

export async function readPartition(path: string): Promise<Partition> {
  const text = await readFile(path, 'utf8').catch((cause: Error) => {
    throw new UserError({ call: `read ${path}`, expected: 'a partition file', found: cause.message }, { cause });
  });
  const result = shape.safeParse(JSON.parse(text));
  if (!result.success) {
    const found = z.prettifyError(result.error);
    throw new UserError({ call: `read ${path}`, expected: 'known, heldOut, problems', found });
  }
  return checkPartition(result.data);
}

export async function writePartition(path: string, partition: Partition): Promise<void> {
  await writeFileAtomic(path, `${JSON.stringify(checkPartition(partition), null, 2)}\n`);
}

/** The mode of a problem; a problem that the partition does not name is an error. */
export function modeOf({ problems }: Partition, problemId: string): Mode {
  return problems[problemId] ?? complain(`no mode for problem ${problemId}`, 'a mode for every problem');
}
