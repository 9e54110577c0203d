/**
 * How many runs of the micro lab a machine trains and evaluates in half an hour: runs in processes of their own, and packs of runs in several
 * processes. A way is PROCESSES×RUNS, the runs that each process has at a time. Each is measured for some seconds, from the start of its
 * processes on; what it has not finished then is left. Prints a line every 20 seconds, and the rates at the end: of runs that ended, the
 * start of their processes included, and of updates from the first one to the last.
 *   node bench/packed.ts [--ways 8×1,4×16] [--seconds 200] [--updates 100] [--device cuda] [--model DIR] [--seeds 400] [--set KEY=VALUE] [--to FILE]
 * The model is the shipped one of 2M, or a folder that `gq micro pretrain --shape 27M` made.
 */
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { shippedRecipe } from '../src/lab/index.ts';
import { writeExperiment } from '../src/study/directory.ts';
import { planExperiment, readExperiment } from '../src/study/experiment.ts';
import { runInProcesses } from '../src/study/job.ts';
import { gpusFor, planSlots } from '../src/study/slots.ts';

const { values } = parseArgs({
  options: {
    ways: { type: 'string', default: '8×1,4×16' },
    seconds: { type: 'string', default: '200' },
    updates: { type: 'string', default: '100' },
    device: { type: 'string', default: 'cuda' },
    model: { type: 'string', default: 'micro' },
    seeds: { type: 'string', default: '400' },
    set: { type: 'string', multiple: true, default: [] },
    to: { type: 'string' },
  },
});
const halfAnHour = 1800;
const arms = ['vanilla', 'activation', 'haar'];

function tell(line: string): void {
  console.log(line);
  if (values.to !== undefined) appendFileSync(values.to, `${line}\n`);
}

async function measure(jobs: number, pack: number): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'gq-packed-'));
  try {
    const seeds = Array.from({ length: Number(values.seeds) }, (_, i) => 1000 + i);
    const list = arms.map((arm) => `[[arms]]\nname = "${arm}"\nrecipe = "${shippedRecipe(`micro-${arm}`)}"\n`);
    const path = join(home, 'packed.toml');
    writeFileSync(path, `name = "packed"\nseeds = [${seeds.join(', ')}]\n${list.join('\n')}`);
    const settings = [
      `updates=${values.updates}`,
      `device.kind=${values.device}`,
      `model=${values.model}`,
      ...values.set,
    ];
    const plan = await planExperiment(readExperiment(path), path, settings);
    const directory = join(home, 'runs');
    await writeExperiment(directory, plan);
    await run(plan, directory, jobs, pack);
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function run(plan: Awaited<ReturnType<typeof planExperiment>>, directory: string, jobs: number, pack: number) {
  const slots = planSlots(jobs, plan.runs.length, gpusFor(plan));
  const stop = new AbortController();
  const start = performance.now();
  const timer = setTimeout(() => stop.abort(), 1000 * Number(values.seconds));
  const ends: number[] = [];
  const failures: string[] = [];
  let [updates, first, last] = [0, 0, 0];
  const evaluations: number[] = [];
  const seconds = (): number => (performance.now() - start) / 1000;
  const ticker = setInterval(
    () => tell(`  ${seconds().toFixed(0)} s: ${updates} updates, ${ends.length} runs`),
    20_000,
  );
  await runInProcesses(plan, directory, {
    pack,
    signal: stop.signal,
    slots: slots.map(({ environment }) => environment),
    reportOf: () => (report) => {
      if (report.kind === 'evaluated') evaluations.push(report.seconds);
      if (report.kind !== 'step') return;
      last = seconds();
      if (updates++ === 0) first = last;
    },
    onEnd: (_index, { end, detail }) => {
      if (end === 'finished' || end === 'tripwire') ends.push(seconds());
      else if (end === 'failed' && !stop.signal.aborted) failures.push(detail);
    },
  });
  clearTimeout(timer);
  clearInterval(ticker);
  const end = ends.at(-1) ?? Number.POSITIVE_INFINITY;
  const way = `${jobs} processes of ${pack} runs`;
  const evaluation = evaluations.reduce((total, each) => total + each, 0) / evaluations.length;
  tell(
    `${values.model}, ${way}: ${ends.length} runs of ${values.updates} updates trained and evaluated in ${end.toFixed(1)} s, ` +
      `${Math.floor((halfAnHour * ends.length) / end)} in half an hour; ${updates} updates, ${(updates / (last - first)).toFixed(1)} a second ` +
      `from the first after ${first.toFixed(1)} s on; an evaluation took ${evaluation.toFixed(1)} s; ${failures.length} runs failed`,
  );
  for (const failure of new Set(failures.slice(0, 3))) tell(`  ${failure.slice(0, 1500)}`);
}

for (const way of values.ways.split(',')) {
  const [jobs, pack] = way.split(/[×x]/).map(Number);
  await measure(jobs, pack);
}
