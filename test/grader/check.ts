/**
 * The long check of the grader: all 119 canonical solutions in all loopholes, equality against Python on 300,000 pairs of
 * values, messages from program to program by every way, a soak of 10,000 programs with hostile ones, and how far three flooders slow right programs down. Prints what it counted and exits 1 when something does not hold. `node test/grader/check.ts [programs]`
 */
import { existsSync } from 'node:fs';
import { Sandbox } from '../../src/env/sandbox/sandbox.ts';
import { SandboxJudge } from '../../src/env/sandbox-judge.ts';
import { benchmarkFile, findUnsound } from './canonical.ts';
import { compareWithPython } from './equality.ts';
import { questionFlooders } from './forge.ts';
import { closedWays, gaugesThatSpeak, levels, type Sending } from './messages.ts';
import { flooders } from './pressure.ts';
import { slowdownBy, soak } from './soak.ts';

const largestGrowthBytes = 200 << 20;
const largestSlowdown = 1.5;
const equalityParts = 10;
const pairsPerPart = 30_000;
const programs = Number(process.argv[2] ?? 10_000);
if (!(programs >= 1)) throw new Error(`check:grader: expected a number of programs, found ${process.argv[2]}`);
const failures: string[] = [];

if (existsSync(benchmarkFile)) {
  const { problems, tests, unsound } = await findUnsound(() => true);
  console.log(`canonical: ${problems} problems, ${tests} tests, seven loopholes, ${unsound.length} not correct`);
  failures.push(...unsound);
} else {
  failures.push(`${benchmarkFile} is not here: canonical solutions were not checked`);
}

let equalPairs = 0;
for (let part = 0; part < equalityParts; part += 1) {
  const { pairs, equal, differences } = compareWithPython(pairsPerPart, 100 + part);
  equalPairs += equal;
  if (pairs !== pairsPerPart) failures.push(`${pairsPerPart - pairs} pairs were not compared`);
  failures.push(...differences);
}
console.log(`equality: ${equalityParts * pairsPerPart} pairs against Python, ${equalPairs} of them equal`);

for (const { level, layers } of levels) {
  await using sandbox = await Sandbox.start({ workers: 1, layers, strictLevel: 0 });
  if (sandbox.report.level < level) {
    console.log(`messages at level ${level}: not tried, this machine gives level ${sandbox.report.level}`);
    continue;
  }
  for (const [name, send] of closedWays(level)) {
    const sendings: Sending[] = [{ inThread: true }];
    if (level === 3 && name !== 'times of files') sendings.push({ inThread: true, shared: 'all' });
    for (const sending of sendings) {
      const heard = await gaugesThatSpeak(sandbox, send, sending);
      failures.push(...heard.map((gauge) => `at level ${level}, ${name}: ${gauge}`));
    }
  }
  console.log(`messages at level ${level}: ${closedWays(level).length} ways tried`);
}

const start = Date.now();
const report = await soak({
  programs,
  seed: 1,
  workers: 2,
  onProgress: (done) => {
    if (done % 1000 === 0) console.log(`soak: ${done}/${programs}`);
  },
});
const { mistaken, ...counts } = report;
console.log('soak:', { ...counts, mistaken: mistaken.length, seconds: (Date.now() - start) / 1000 });
failures.push(...mistaken);
if (report.lost > 0) failures.push(`${report.lost} programs lost`);
if (report.unknown > 0) failures.push(`${report.unknown} of ${report.askers} honest askers are unknown`);
if (report.processesLeft.length > 0) failures.push(`processes left: ${report.processesLeft.join(', ')}`);
if (report.descriptorsAfter > report.descriptorsBefore) failures.push('descriptors left open');
if (report.directoriesLeft.length > 0) failures.push(`directories left: ${report.directoriesLeft.join(', ')}`);
if (report.memoryAfterBytes - report.memoryBeforeBytes > largestGrowthBytes) failures.push('memory grew');

await using sandbox = await Sandbox.start({ workers: 4 });
const beside = { output: flooders, questions: Object.values(questionFlooders) };
for (const [what, programsBeside] of Object.entries(beside)) {
  const slowdown = await slowdownBy(programsBeside, new SandboxJudge(sandbox), Math.min(400, programs));
  console.log(`flooders: right programs take ${slowdown.toFixed(2)} times as long beside three floods of ${what}`);
  if (slowdown > largestSlowdown)
    failures.push(`three floods of ${what} slow right programs ${slowdown.toFixed(2)} times`);
}

for (const failure of failures) console.log(`FAILED ${failure}`);
console.log(failures.length === 0 ? 'everything holds' : `${failures.length} failures`);
process.exitCode = failures.length === 0 ? 0 : 1;
