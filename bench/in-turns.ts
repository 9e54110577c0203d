/**
 * Commands of these sources and of an earlier commit, in turns: `gq demo --quick`, or what follows `--`, and with `--claim SEEDS` five arms
 * of the claim, trained and evaluated, two runs at a time. Prints time and processor seconds (with those of all processes that it started)
 * of every turn, then a table of the medians, their ratios, and how long a hundred runs of the claim would take. Which goes first alternates.
 *   node bench/in-turns.ts [--before f87b8ad3] [--turns 5] [--claim 1] [-- demo --quick --seed 3]
 * The earlier sources are taken out of the repository into a temporary folder, with these node_modules; `OUT` among the arguments stands for
 * a fresh folder, and `--out OUT` is added where nothing names one.
 * Both are called as `npm run gq` calls the sources.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    before: { type: 'string', default: 'f87b8ad3' },
    turns: { type: 'string', default: '5' },
    claim: { type: 'string', default: '0' },
  },
});
const here = fileURLToPath(new URL('..', import.meta.url));
const home = mkdtempSync(join(tmpdir(), 'gq-turns-'));
const claimArms = ['vanilla', 'absorb', 'activation', 'haar', 'mass-matched'];
const claimSeeds = Array.from({ length: Number(values.claim) }, (_, i) => 1000 + i);

interface Work {
  readonly name: string;
  /** The words of the call in a folder of sources. */
  readonly words: (folder: string) => readonly string[];
  /** Runs of the claim; 0: something else. */
  readonly runs: number;
}

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

/** The claim's arms without the attacks that follow them. */
function writeClaim(folder: string): string {
  const arms = claimArms.map((arm) => `[[arms]]\nname = "${arm}"\nrecipe = "${folder}/recipes/micro-${arm}.toml"\n`);
  const head = `name = "claim"\nseeds = [${claimSeeds.join(', ')}]\n[evaluation]\ncurveEvery = 20\n`;
  const path = join(home, `claim-${folder === here ? 'now' : 'before'}.toml`);
  writeFileSync(path, head + arms.join(''));
  return path;
}

function measure(folder: string, name: string, words: readonly string[]): Cost {
  const out = join(home, 'out');
  const environment = { ...process.env, GQ_CACHE: join(home, `cache-${folder === here ? 'now' : 'before'}`) };
  const [start, before] = [performance.now(), childrenSeconds()];
  const asked = words.includes('OUT') ? words : [...words, '--out', 'OUT'];
  const argv = ['src/cli/gq.ts', ...asked.map((word) => (word === 'OUT' ? out : word))];
  const { status, stderr } = spawnSync(process.execPath, argv, { cwd: folder, env: environment, maxBuffer: 1 << 28 });
  if (status !== 0) throw new Error(`gq ${words.join(' ')} in ${folder} ended with ${status}: ${stderr}`);
  const cost = { seconds: (performance.now() - start) / 1000, processorSeconds: childrenSeconds() - before };
  rmSync(out, { recursive: true, force: true });
  const busy = cost.processorSeconds / cost.seconds / availableParallelism();
  console.log(
    `${name}: ${cost.seconds.toFixed(1)} s, ${cost.processorSeconds.toFixed(1)} processor seconds, cores ${(100 * busy).toFixed(0)}% busy`,
  );
  return cost;
}

const median = (numbers: readonly number[]): number => {
  const sorted = numbers.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
};

/** The lines of a table about a work: medians of time and of processor seconds, and their ratios. */
function rowsOf({ name, runs }: Work, costs: Readonly<Record<'before' | 'now', readonly Cost[]>>): string[] {
  const row = (what: string, of: (cost: Cost) => number, unit: string): string => {
    const [before, now] = [median(costs.before.map(of)), median(costs.now.map(of))];
    return `| ${what} | ${before.toFixed(1)} ${unit} | ${now.toFixed(1)} ${unit} | ${(now / before).toFixed(3)} |`;
  };
  return [
    row(`${name}: time`, ({ seconds }) => seconds, 's'),
    row(`${name}: processor`, ({ processorSeconds }) => processorSeconds, 's'),
    ...(runs === 0
      ? []
      : [row(`a hundred runs of the claim, from ${runs}`, ({ seconds }) => (100 * seconds) / runs / 60, 'min')]),
  ];
}

const command = positionals.length === 0 ? ['demo', '--quick'] : positionals;
const runs = claimArms.length * claimSeeds.length;
const works: readonly Work[] = [
  { name: `gq ${command.join(' ')}`, words: () => command, runs: 0 },
  ...(runs === 0
    ? []
    : [{ name: `${runs} runs`, words: (folder: string) => ['experiment', writeClaim(folder), '--jobs', '2'], runs }]),
];

try {
  const before = checkOut(values.before);
  const rows: string[] = [];
  for (const work of works) {
    const costs: Record<'before' | 'now', Cost[]> = { before: [], now: [] };
    for (let turn = 1; turn <= Number(values.turns); turn++) {
      const order = turn % 2 === 1 ? (['before', 'now'] as const) : (['now', 'before'] as const);
      for (const which of order) {
        const folder = which === 'now' ? here : before;
        costs[which].push(measure(folder, `${work.name}, ${which}, turn ${turn}`, work.words(folder)));
      }
    }
    rows.push(...rowsOf(work, costs));
  }
  console.log(`\n| medians of ${values.turns} turns | ${values.before} | now | ratio |\n| --- | --- | --- | --- |`);
  console.log(rows.join('\n'));
} finally {
  rmSync(home, { recursive: true, force: true });
}
