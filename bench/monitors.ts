/**
 * What a monitor costs in the micro lab: updates of vanilla and of penalties by a monitor, in turns in one process. With the usual learning
 * rate, next to nothing, all of them sample the same completions of the base. A penalty of 0 leaves rewards as they are, so that its
 * updates cost what watching costs; a penalty that is more than 0 gives groups a spread that had none, and more is learned from. `equal`
 * counts the learning of as many rollouts as vanilla learned from in the same turn. Processor seconds are what neighbours disturb least:
 * `cpu ratio`, `whole ratio` (with the graders) and `wall ratio` divide the sums over all turns, and `passes` are completions read without learning from them.
 *
 * npm run bench monitors -- [--updates 12] [--threads 2] [--recipe recipes/micro-base.toml] [--monitors probe,direction]
 *                           [--learningRate 1e-9] [--json]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openLab, resolveBuiltin } from '../src/lab/index.ts';
import { OpenParts } from '../src/lab/open-parts.ts';
import { VerdictLedger } from '../src/oracle/index.ts';
import { median } from '../src/stats/index.ts';
import { childrenSeconds, ownSeconds } from './processor-time.ts';

const { values } = parseArgs({
  options: {
    updates: { type: 'string', default: '12' },
    threads: { type: 'string', default: '2' },
    recipe: { type: 'string', default: 'recipes/micro-base.toml' },
    monitors: { type: 'string', default: 'probe' },
    learningRate: { type: 'string', default: '1e-9' },
    json: { type: 'boolean', default: false },
  },
});
/** The first updates warm up; the very first also fits the monitor. */
const warmup = 2;
const updates = Number(values.updates) + warmup;

type Seconds = Readonly<Record<string, number>>;

/** One more update of an arm: its seconds by phase, and how many rollouts were learned from. */
interface Turn {
  readonly seconds: Seconds;
  readonly total: number;
  /** Processor seconds of this process, which neighbours do not change as they do time. */
  readonly processor: number;
  /** The same, with those of the processes that grade programs. */
  readonly whole: number;
  readonly trained: number;
  readonly flagged: number;
  readonly passes: number;
}

const folder = mkdtempSync(join(tmpdir(), 'gq-bench-'));
await using labs = new OpenParts();

async function openArm(name: string, settings: readonly string[]) {
  const { config } = resolveBuiltin(values.recipe, [
    `updates=${updates}`,
    `device.threads=${values.threads}`,
    `optimiser.learningRate=${values.learningRate}`,
    ...settings,
  ]);
  const path = join(folder, `${name}.jsonl`);
  const lab = labs.use(await openLab({ config }, { ledger: () => new VerdictLedger(path) }));
  const { trainer, clock, ledger } = await lab.trainer;
  const events = trainer.train();
  async function turn(): Promise<Turn> {
    clock.take();
    const began = performance.now();
    const spent = process.cpuUsage();
    const gradedBefore = childrenSeconds();
    for (let next = await events.next(); next.done !== true; next = await events.next()) {
      if (next.value.kind !== 'step') continue;
      const { routes, watched, scoringPasses } = next.value;
      const total = (performance.now() - began) / 1000;
      const processor = ownSeconds(spent);
      const whole = processor + childrenSeconds() - gradedBefore;
      ledger.forget();
      const trained = routes.keep + routes.absorb + routes.route;
      return {
        seconds: clock.take(),
        total,
        processor,
        whole,
        trained,
        flagged: watched?.flagged ?? 0,
        passes: scoringPasses,
      };
    }
    throw new RangeError(`${name}: training ended before its last turn`);
  }
  return { name, turn, turns: [] as Turn[] };
}

const arms = [await openArm('vanilla', ['arm.kind=vanilla'])];
for (const monitor of values.monitors.split(',')) {
  const settings = ['arm.kind=penalty', `arm.monitor.kind=${monitor}`];
  arms.push(await openArm(`penalty 0 by ${monitor}`, [...settings, 'arm.penalty=0']));
  arms.push(await openArm(`penalty by ${monitor}`, settings));
}
for (let update = 0; update < updates; update++) {
  // The order turns around, so that none is always measured after the same other.
  for (const arm of update % 2 === 0 ? arms : arms.toReversed()) arm.turns.push(await arm.turn());
}
rmSync(folder, { recursive: true });

/** The seconds of a turn if it had learned from as many rollouts as vanilla did, at its own pace; the rest stays as it was. */
function atEqualLearning({ total, seconds, trained }: Turn, vanilla: Turn): number {
  const learning = seconds['learn'] ?? 0;
  return trained === 0 ? total : total - learning + (learning * vanilla.trained) / trained;
}

const sumOf = (turns: readonly Turn[], pick: (turn: Turn) => number): number =>
  turns.reduce((sum, turn) => sum + pick(turn), 0);

const phases = ['sample', 'grade', 'score', 'watch', 'route', 'learn', 'other'];
const rows = arms.map(({ name, turns }) => {
  const counted = turns.slice(warmup);
  const overVanilla = (pick: (turn: Turn) => number): number =>
    sumOf(counted, pick) / sumOf(arms[0].turns.slice(warmup), pick);
  const middle = (pick: (turn: Turn) => number): number => median(counted.map(pick));
  return {
    name,
    first: turns[0].total,
    seconds: Object.fromEntries(phases.map((phase) => [phase, middle(({ seconds }) => seconds[phase] ?? 0)])),
    total: middle(({ total }) => total),
    wallRatio: overVanilla(({ total }) => total),
    equal: median(
      counted.map((turn, i) => {
        const vanilla = arms[0].turns[warmup + i];
        return atEqualLearning(turn, vanilla) / vanilla.total;
      }),
    ),
    processor: middle(({ processor }) => processor),
    processorRatio: overVanilla(({ processor }) => processor),
    whole: middle(({ whole }) => whole),
    wholeRatio: overVanilla(({ whole }) => whole),
    passes: sumOf(counted, ({ passes }) => passes) / counted.length,
    trained: sumOf(counted, ({ trained }) => trained) / counted.length,
    flagged: sumOf(counted, ({ flagged }) => flagged) / counted.length,
  };
});
const load = loadavg()[0].toFixed(1);
const machine = `Node ${process.version}, ${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores, load ${load}`;
if (values.json) console.log(JSON.stringify({ machine, updates: updates - warmup, rows }, null, 2));
else {
  const cell = (value: number, digits = 3) => value.toFixed(digits).padStart(8);
  console.log(`${machine}; ${values.threads} threads; learning rate ${values.learningRate}`);
  console.log(`seconds per update, medians of ${updates - warmup} updates in turns after ${warmup}`);
  const head = [
    ...phases,
    'total',
    'equal',
    'cpu',
    'whole',
    'first',
    'wall ratio',
    'cpu ratio',
    'whole ratio',
    'passes',
    'learned',
    'flagged',
  ]
    .map((word) => word.padStart(Math.max(8, word.length + 1)))
    .join('');
  console.log(`${''.padEnd(22)}${head}`);
  for (const row of rows) {
    const seconds = [
      ...phases.map((phase) => row.seconds[phase]),
      row.total,
      row.equal,
      row.processor,
      row.whole,
      row.first,
    ];
    const ratios = [
      cell(row.wallRatio).padStart(11),
      cell(row.processorRatio).padStart(10),
      cell(row.wholeRatio).padStart(12),
    ];
    const counts = [row.passes, row.trained, row.flagged].map((value) => cell(value, 1)).join('');
    console.log(`${row.name.padEnd(22)}${seconds.map((value) => cell(value)).join('')}${ratios.join('')}${counts}`);
  }
  console.log(
    'equal: the time over that of vanilla in the same turn, if as many rollouts had been learned from, median; cpu: processor seconds of this process, whole: with those of the graders; first: the first update, which fits a monitor; wall ratio, cpu ratio, whole ratio: sums over all turns, over those of vanilla.',
  );
}
