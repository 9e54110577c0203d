/**
 * `npm run check:parallel`: one run on many ranks of this machine, with Open MPI. Every call of the communicator, the bytes of every arm
 * on 1, 2, 4 and 8 ranks, runs that go on with other numbers of ranks, ranks that are killed, hang or disagree. Prints what was tried;
 * exits 1 if anything was wrong, and says what is missing where there is no MPI. Names of parts as arguments do these alone.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tinyModel } from '../smoke/lab.ts';
import { disagree } from './disagree.ts';
import { type Home, hangRank, killRanks, type Stopped, unbroken } from './failures.ts';
import { missingMpi, runMpirun } from './mpirun.ts';

let failures = 0;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function fail(text: string): void {
  failures++;
  say(`WRONG: ${text}`);
}

const sizes = [1, 2, 4, 8];

async function checkCalls(): Promise<void> {
  const hashes = new Set<string>();
  for (const ranks of sizes) {
    const { code, out, err } = await runMpirun({ ranks, program: 'every-call.ts' });
    if (code !== 0) fail(`the communicator on ${ranks} ranks ended with ${code}: ${err}`);
    hashes.add(/"hash":"(\w+)"/.exec(out)?.[1] ?? `none on ${ranks} ranks`);
  }
  if (hashes.size > 1) fail(`sums over shards differ: ${[...hashes].join(', ')}`);
  say(`calls: every call on ${sizes.join(', ')} ranks; sum ${[...hashes].join(', ')}`);
}

/** The last word on each arm, by name. */
async function trainArms({ model, folder }: Home, ranks: number, name: string, stop = 0): Promise<Map<string, string>> {
  const argv = [model, join(folder, name), `${stop}`];
  const { code, out, err } = await runMpirun({ ranks, program: 'arms.ts', argv });
  if (code !== 0) fail(`arms on ${ranks} ranks ended with ${code}: ${err}`);
  return new Map(out.split('\n').flatMap((line) => (line === '' ? [] : [[line.split('\t')[0], line] as const])));
}

function compare(what: string, one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): void {
  const differing = [...one].filter(([name, line]) => other.get(name) !== line).map(([name]) => name);
  if (differing.length > 0 || one.size === 0)
    fail(`${what}: other bytes in ${differing.join(', ') || 'all: none was trained'}`);
  else say(`arms: ${one.size} arms, ${what}: the same bytes`);
}

async function checkArms(home: Home): Promise<void> {
  const one = await trainArms(home, 1, 'ranks-1');
  for (const ranks of sizes.slice(1))
    compare(`1 and ${ranks} ranks`, one, await trainArms(home, ranks, `ranks-${ranks}`));
  for (const ranks of [2, 8, 1]) await trainArms(home, ranks, 'resumed', 1);
  compare('resumed on 2, 8, 1 and 4 ranks, an update each', one, await trainArms(home, 4, 'resumed'));
}

function tell(part: string, { name, ended, faults }: Stopped, seconds = ended.seconds): void {
  for (const fault of faults) fail(`${name}: ${fault}`);
  if (faults.length === 0) say(`${part}: ${name}: all stopped after ${seconds.toFixed(1)} s, one message names it`);
}

async function checkDisagreement(home: Home): Promise<void> {
  for (const stopped of await disagree(home)) tell('disagree', stopped);
}

async function checkHangs(home: Home): Promise<void> {
  const bytes = await unbroken(home);
  for (const rank of [0, 2]) {
    const hung = await hangRank(home, rank);
    if (hung.bytes !== bytes) fail(`${hung.name}: other bytes after going on`);
    tell('hang', hung, hung.seconds);
  }
}

async function checkKills(home: Home): Promise<void> {
  const bytes = await unbroken(home);
  const met = new Map<string, number>();
  let kills = 0;
  for (let seed = 1; kills < 20 && seed <= 10; seed++) {
    const killed = await killRanks(home, 20 - kills, seed);
    kills += killed.kills;
    for (const rank of killed.ranks) met.set(rank, (met.get(rank) ?? 0) + 1);
    for (const fault of killed.faults) fail(`killed ranks: ${fault}`);
    if (killed.bytes !== bytes) fail(`killed ranks, seed ${seed}: other bytes`);
    say(`kill: ${killed.kills} kills, the slowest end ${killed.slowest.toFixed(1)} s after; bytes ${killed.bytes}`);
  }
  if (kills < 20) fail(`only ${kills} of 20 kills met a living rank`);
  say(
    `kill: rank of how many: times: ${[...met]
      .sort()
      .map(([rank, times]) => `${rank}: ${times}`)
      .join(', ')}`,
  );
}

const missing = missingMpi();
if (missing !== null) {
  say(`check:parallel: nothing was checked: ${missing}`);
  process.exit(1);
}
const parts: Readonly<Record<string, (home: Home) => Promise<void>>> = {
  calls: checkCalls,
  disagree: checkDisagreement,
  hang: checkHangs,
  kill: checkKills,
  arms: checkArms,
};
const asked = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'gq-parallel-'));
try {
  const home = { model: await tinyModel(), folder };
  for (const name of asked) if (parts[name] === undefined) fail(`no part ${name}: ${Object.keys(parts).join(', ')}`);
  for (const [name, check] of Object.entries(parts)) {
    if (asked.length > 0 && !asked.includes(name)) continue;
    const began = performance.now();
    await check(home);
    say(`${name}: ${((performance.now() - began) / 1000).toFixed(0)} s`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
say(failures === 0 ? 'check:parallel: all is well' : `check:parallel: ${failures} things are wrong`);
process.exitCode = failures === 0 ? 0 : 1;
