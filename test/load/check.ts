/**
 * `npm run check:load [-- FILES]`: all tests, or those of some files, beside sixteen processes that keep two cores busy, on this Node and on
 * the machine's own where that is another, three times (`-- --rounds=1`: once); at the end it says what failed. No test may fail because a
 * machine is slow. An older Node runs what was built. Where there are more cores and `taskset`, two are used. Eight workers share the cores with the busy processes, so that the tests have a third of them: `-- --maxWorkers=3` takes the usual number.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const [busyProcesses, cores, workers] = [16, 2, 8];

/** The words before a command that keep it on two cores; none where the machine has no more, or cannot. */
function onTwoCores(): string[] {
  if (availableParallelism() <= cores) return [];
  const words = ['taskset', '--cpu-list', `0-${cores - 1}`];
  if (spawnSync(words[0], [...words.slice(1), 'true']).status === 0) return words;
  console.log(`not kept on ${cores} cores: taskset cannot be used here, so the load is lighter`);
  return [];
}

function start(words: readonly string[], program: string, args: readonly string[], shows: boolean): ChildProcess {
  const [command, ...rest] = [...words, program, ...args];
  return spawn(command, rest, { cwd: root, stdio: shows ? 'inherit' : 'ignore' });
}

/** Nodes of different versions: this one, and that of the path without the repository's own commands. */
function nodes(): string[] {
  const path = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  const env = { ...process.env, PATH: path.join(delimiter) };
  const question = 'console.log(process.execPath + "\\n" + process.version)';
  const { stdout, status } = spawnSync('node', ['-e', question], { env, encoding: 'utf8' });
  const [other, version] = stdout?.split('\n') ?? [];
  return status === 0 && version !== process.version ? [process.execPath, other] : [process.execPath];
}

const words = onTwoCores();
const busy = Array.from({ length: busyProcesses }, () => start(words, process.execPath, ['-e', 'for (;;);'], false));
const stop = (): void => busy.forEach((child) => void child.kill('SIGKILL'));
process.on('exit', stop);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));

const given = process.argv.slice(2);
const rounds = Number(given.find((word) => word.startsWith('--rounds='))?.split('=')[1] ?? 3);
if (!(rounds >= 1)) throw new Error(`check:load: expected a number of rounds, found ${rounds}`);
const forVitest = given.filter((word) => !word.startsWith('--rounds='));
const asked = forVitest.find((word) => word.startsWith('--maxWorkers='));
const report = join(mkdtempSync(join(tmpdir(), 'gq-load-')), 'report.json');

interface Report {
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** Which tests failed, and files that could not be read; null where vitest left no report. */
function readReport(): { readonly passed: number; readonly failed: readonly string[] } | null {
  if (!existsSync(report)) return null;
  const { numPassedTests, testResults }: Report = JSON.parse(readFileSync(report, 'utf8'));
  const failed = testResults.flatMap(({ name, status, assertionResults }) => {
    const tests = assertionResults.filter((test) => test.status === 'failed').map(({ fullName }) => fullName);
    const file = relative(root, name);
    return tests.length > 0
      ? tests.map((test) => `${file}: ${test}`)
      : status === 'failed'
        ? [`${file}: no test ran`]
        : [];
  });
  return { passed: numPassedTests, failed };
}

const lines: string[] = [];
let failures = 0;
for (let round = 1; round <= rounds; round += 1) {
  for (const node of nodes()) {
    const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim();
    const title = `round ${round} of ${rounds}, Node ${version}`;
    const by = asked?.split('=')[1] ?? workers;
    console.log(`${title}: tests by ${by} workers beside ${busyProcesses} busy processes`);
    rmSync(report, { force: true });
    const args = [
      join(root, 'node_modules/vitest/vitest.mjs'),
      'run',
      ...(asked === undefined ? [`--maxWorkers=${workers}`] : []),
      ...['--reporter=default', '--reporter=json', `--outputFile.json=${report}`],
      ...forVitest,
    ];
    const started = performance.now();
    const code = await new Promise((ended) => start(words, node, args, true).on('close', ended));
    const { passed = 0, failed = [] } = readReport() ?? {};
    if (code !== 0) failures += 1;
    const seconds = ((performance.now() - started) / 1000).toFixed(0);
    lines.push(
      `${title}: ${passed} passed, ${failed.length} failed in ${seconds} s${code === 0 ? '' : `, ended with ${code}`}`,
    );
    lines.push(...failed.map((test) => `  FAILED ${test}`));
  }
}
rmSync(dirname(report), { recursive: true });
for (const line of lines) console.log(line);
console.log(
  failures === 0 ? 'no test depends on the load' : `failed in ${failures} of ${rounds * nodes().length} runs`,
);
process.exit(failures === 0 ? 0 : 1);
