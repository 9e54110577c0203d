/**
 * `npm run check:crash`: kills runs at more than a hundred random moments and packs of runs at 50, damages every file of an unfinished and of a finished run in
 * seven ways, trains on disks that are too small, lets processes contend for a lock 600 times,
 * begins parts of one experiment together 50 times, has two viewers write 1,000 labels at once, and turns the clock back under a run, a viewer and the queue. Everything must end as if nothing had happened, or with an error that says what is wrong. Prints
 * the counts; exits 1 if anything was wrong silently or ended with a stack trace.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gatedKills, killAndCompare, singularKills } from '../resume/kill.ts';
import { killPacks } from '../resume/packs.ts';
import { turnClocksBack } from './clocks.ts';
import { type DamageReport, damagesOf, tryDamage } from './damage.ts';
import { diskSizes, fillDisk } from './disks.ts';
import { contendForLocks } from './locks.ts';
import { beginTogether } from './parts.ts';
import { makeRuns, trainArguments } from './runs.ts';
import { makeStarts, plantsIn, takePort, tryStart } from './starts.ts';
import { labelFromTwo } from './viewers.ts';

let failures = 0;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function count(title: string, outcomes: readonly { readonly outcome: string }[]): void {
  const counts = new Map<string, number>();
  for (const { outcome } of outcomes) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  failures += (counts.get('silent') ?? 0) + (counts.get('stack') ?? 0);
  say(`${title}: ${outcomes.length} tried; ${[...counts].map(([outcome, n]) => `${n} ${outcome}`).join(', ')}`);
}

async function checkDamage(home: string, run: string, whole: string): Promise<void> {
  const reports: DamageReport[] = [];
  for (const damage of damagesOf(run)) {
    const report = await tryDamage(damage, { run, whole, copy: join(home, 'damaged') });
    reports.push(report);
    if (report.outcome === 'silent' || report.outcome === 'stack') {
      say(`${report.outcome}: ${report.file} ${report.kind}: ${report.detail}`);
    }
  }
  count(run === whole ? 'damage to a finished run' : 'damage to an unfinished run', reports);
}

async function checkDisks(home: string, whole: string): Promise<void> {
  const reports = [];
  for (const kibibytes of diskSizes) {
    const report = await fillDisk(kibibytes, home, await trainArguments(), whole);
    if (report === null) return say('full disks: skipped, since file systems cannot be mounted here');
    reports.push(report);
    if (report.outcome === 'silent' || report.outcome === 'stack') say(`${kibibytes} KiB: ${report.detail}`);
  }
  count('full disks', reports);
}

async function checkKills(): Promise<void> {
  for (const options of [
    { kills: 100, updates: 40, checkpointEvery: 2, seed: 11, settings: [] },
    gatedKills,
    singularKills,
  ]) {
    const { kills, resumedFrom, differences } = await killAndCompare(options);
    const enough = kills >= options.kills && new Set(resumedFrom).size > 1;
    failures += differences.length + (enough ? 0 : 1);
    const bytes = differences.length === 0 ? 'identical' : `other bytes in ${differences.join(', ')}`;
    say(
      `kill -9: ${kills} kills at ${new Set(resumedFrom).size} checkpoints; ${bytes}${enough ? '' : '; too few kills'}`,
    );
  }
}

async function checkPacks(home: string): Promise<void> {
  const { kills, resumedFrom, differences } = await killPacks(home, 50, 24, 17);
  failures += differences.length + (resumedFrom > 1 ? 0 : 1);
  for (const difference of differences) say(difference);
  const bytes = differences.length === 0 ? 'identical' : 'not identical';
  say(`kill -9 of a pack, one of whose runs diverges: ${kills} kills at ${resumedFrom} states; ${bytes}`);
}

async function checkLocks(): Promise<void> {
  const surprises = await contendForLocks(600);
  failures += surprises.length;
  for (const surprise of surprises) say(surprise);
  say(`three processes at a stale lock: 600 rounds; ${surprises.length} without exactly one holder`);
}

async function checkParts(): Promise<void> {
  const surprises = await beginTogether(50);
  failures += surprises.length;
  for (const surprise of surprises) say(surprise);
  say(`parts of an experiment begun together: 50 rounds; ${surprises.length} in which anything was lost`);
}

/** Milliseconds that a start which fails, or is interrupted, may take to end once that is so. */
const endingMs = 1000;

async function checkStarts(home: string): Promise<void> {
  await using port = await takePort();
  await makeStarts(home);
  const ended: number[] = [];
  for (const [i, plant] of plantsIn(home, port.number).entries()) {
    const { code, said, endedMs, left } = await tryStart(plant, home, i);
    ended.push(endedMs);
    const isRight = code === plant.code && plant.said.test(said) && left.length === 0 && endedMs <= endingMs;
    failures += isRight ? 0 : 1;
    if (isRight) continue;
    say(`${plant.command}, ${plant.name}: code ${code} after ${endedMs.toFixed(0)} ms, left ${left.length}: ${said}`);
  }
  say(
    `starts that cannot succeed: ${ended.length} tried; ended at most ${Math.max(...ended).toFixed(0)} ms after their last word`,
  );
}

async function checkViewers(home: string, whole: string): Promise<void> {
  const run = join(home, 'labelled');
  cpSync(whole, run, { recursive: true });
  const surprises = await labelFromTwo(run, 500);
  failures += surprises.length;
  for (const surprise of surprises) say(surprise);
  say(`two viewers: 500 labels each at once; ${surprises.length} lost, twice or refused`);
}

async function checkClocks(home: string, whole: string): Promise<void> {
  const surprises = await turnClocksBack(home, await trainArguments(), whole);
  failures += surprises.length;
  for (const surprise of surprises) say(surprise);
  say(`a clock that goes back, for a run, a viewer and the queue: ${surprises.length} wrong`);
}

const home = mkdtempSync(join(tmpdir(), 'gq-crash-'));
try {
  const { whole, part } = await makeRuns(home);
  await checkStarts(mkdtempSync(join(home, 'starts-')));
  await checkDamage(home, part, whole);
  await checkDamage(home, whole, whole);
  await checkDisks(home, whole);
  await checkLocks();
  await checkViewers(home, whole);
  await checkClocks(home, whole);
  await checkParts();
  await checkKills();
  await checkPacks(mkdtempSync(join(home, 'packs-')));
} finally {
  rmSync(home, { recursive: true, force: true });
}
say(failures === 0 ? 'Nothing was silently wrong.' : `${failures} wrong.`);
process.exitCode = failures === 0 ? 0 : 1;
