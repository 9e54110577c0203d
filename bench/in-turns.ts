/**
 * A command of these sources and of an earlier commit, in turns: `gq demo --quick`, or what follows `--`. Prints time and processor seconds
 * (with those of all processes that it started) of every turn, and the medians' ratios. Which goes first alternates.
 *   node bench/in-turns.ts [--before f87b8ad3] [--turns 5] [-- demo --quick --seed 3]
 * The earlier sources are taken out of the repository into a temporary folder, with these node_modules; `OUT` among the arguments stands for
 * a fresh folder, and `--out OUT` is added where nothing names one.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { before: { type: 'string', default: 'f87b8ad3' }, turns: { type: 'string', default: '5' } },
});
const command = positionals.length === 0 ? ['demo', '--quick'] : positionals;
const asked = command.includes('OUT') ? command : [...command, '--out', 'OUT'];
const here = fileURLToPath(new URL('..', import.meta.url));
const home = mkdtempSync(join(tmpdir(), 'gq-turns-'));

interface Cost {
  readonly seconds: number;
  readonly processorSeconds: number;
}

/** Processor seconds of all children that have ended, and of theirs. */
function childrenSeconds(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

/** The earlier sources with their kernels. */
function checkOut(commit: string): string {
  const folder = join(home, 'before');
  mkdirSync(folder);
  const archive = execFileSync('git', ['archive', commit], { cwd: here, maxBuffer: 1 << 30 });
  execFileSync('tar', ['x', '-C', folder], { input: archive });
  symlinkSync(join(here, 'node_modules'), join(folder, 'node_modules'));
  execFileSync(process.execPath, ['scripts/build-kernels.mjs'], { cwd: folder, stdio: 'ignore' });
  return folder;
}

function measure(folder: string, name: string): Cost {
  const out = join(home, name);
  const environment = { ...process.env, GQ_CACHE: join(home, `cache-${folder === here ? 'now' : 'before'}`) };
  const [start, before] = [performance.now(), childrenSeconds()];
  const argv = ['src/cli/gq.ts', ...asked.map((word) => (word === 'OUT' ? out : word))];
  const { status, stderr } = spawnSync(process.execPath, argv, { cwd: folder, env: environment, maxBuffer: 1 << 28 });
  if (status !== 0) throw new Error(`gq ${asked.join(' ')} in ${folder} ended with ${status}: ${stderr}`);
  const cost = { seconds: (performance.now() - start) / 1000, processorSeconds: childrenSeconds() - before };
  rmSync(out, { recursive: true, force: true });
  console.log(`${name}: ${cost.seconds.toFixed(1)} s, ${cost.processorSeconds.toFixed(1)} processor seconds`);
  return cost;
}

const median = (numbers: readonly number[]): number => {
  const sorted = numbers.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
};

try {
  const before = checkOut(values.before);
  const costs: Record<'before' | 'now', Cost[]> = { before: [], now: [] };
  for (let turn = 1; turn <= Number(values.turns); turn++) {
    const order = turn % 2 === 1 ? (['before', 'now'] as const) : (['now', 'before'] as const);
    for (const which of order) costs[which].push(measure(which === 'now' ? here : before, `${which}-${turn}`));
  }
  const ratio = (cost: (each: Cost) => number): string =>
    (median(costs.now.map(cost)) / median(costs.before.map(cost))).toFixed(3);
  const [time, processor] = [ratio(({ seconds }) => seconds), ratio(({ processorSeconds }) => processorSeconds)];
  console.log(
    `gq ${command.join(' ')}: now / ${values.before}: ${time} of the time, ${processor} of the processor seconds`,
  );
} finally {
  rmSync(home, { recursive: true, force: true });
}
