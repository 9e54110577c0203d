/**
 * The learning rate of a base of another size, by the rule that study E states (recipes/atlas-e-rates.toml): the largest whose vanilla
 * runs move, in every seed, at most 1.5 times as far from their base as the shipped one moves at 4e-4, and the least where none does. What is read is the KL.
 *   node bench/rate-by-kl.ts REFERENCE DIR        (folders of the experiment, with the shipped base and with the other)
 * The last line is the rate alone. Every run must have come to its end.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readJsonl } from '../src/base/node/index.ts';
import { RunDirectory } from '../src/run/index.ts';
import { average } from '../src/stats/index.ts';

const [updates, times, shippedRate] = [20, 1.5, 4e-4];

/** By rate: the mean KL of each run over its last updates; null for one that its tripwire stopped. */
async function movesOf(study: string): Promise<Map<number, (number | null)[]>> {
  const moves = new Map<number, (number | null)[]>();
  for (const name of readdirSync(study).filter((each) => each.startsWith('vanilla-'))) {
    const run = RunDirectory.open(join(study, name));
    const { learningRate } = run.readManifest().config.optimiser;
    const kls: number[] = [];
    let end: string | undefined;
    for await (const event of readJsonl(run.ledger('events'))) {
      const { kind, kl, reason } = event as { kind: string; kl?: number; reason?: string };
      if (kind === 'step' && kl !== undefined) kls.push(kl);
      if (kind === 'stop') end = reason;
    }
    // A run that was lost could have been the one to choose.
    if (end === undefined) throw new Error(`rate-by-kl: ${name} did not come to its end: call the experiment again`);
    const own = end === 'finished' ? average(kls.slice(-updates)) : null;
    moves.set(learningRate, [...(moves.get(learningRate) ?? []), own]);
  }
  return moves;
}

const [reference, study] = process.argv.slice(2);
if (study === undefined) throw new Error('rate-by-kl: expected two folders, of the shipped base and of the other');
const shipped = (await movesOf(reference)).get(shippedRate)?.filter((move) => move !== null) ?? [];
if (shipped.length === 0) throw new Error(`rate-by-kl: expected a finished run at ${shippedRate} in ${reference}`);
const bound = times * average(shipped);
console.log(
  `KL of the shipped base at ${shippedRate}: ${average(shipped).toPrecision(3)}, bound ${bound.toPrecision(3)}`,
);
const moves = [...(await movesOf(study))].sort(([a], [b]) => a - b);
if (moves.length === 0) throw new Error(`rate-by-kl: expected runs in ${study}`);
for (const [rate, kls] of moves) {
  console.log(`${rate}: ${kls.map((kl) => kl?.toPrecision(3) ?? 'stopped by its tripwire').join(' ')}`);
}
const bounded = moves.filter(([, kls]) => kls.every((kl) => kl !== null && kl <= bound));
console.log(`${(bounded.at(-1) ?? moves[0])[0]}`);
