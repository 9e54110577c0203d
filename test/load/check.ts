/**
 * `npm run check:load [-- FILES]`: all tests, or those of some files, beside sixteen processes that keep two cores busy, on this Node and on
 * the machine's own where that is another. No test may fail because a machine is slow. Where there are more cores and `taskset`, two are used.
 * Eight workers share the cores with the busy processes, so that the tests have a third of them: `-- --maxWorkers=3` takes the usual number.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { delimiter, join } from 'node:path';
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

const asked = process.argv.find((word) => word.startsWith('--maxWorkers='));
let failures = 0;
for (const node of nodes()) {
  const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim();
  console.log(
    `tests on Node ${version} by ${asked?.split('=')[1] ?? workers} workers beside ${busyProcesses} busy processes`,
  );
  const args = [
    join(root, 'node_modules/vitest/vitest.mjs'),
    'run',
    ...(asked === undefined ? [`--maxWorkers=${workers}`] : []),
    ...process.argv.slice(2),
  ];
  const code = await new Promise((ended) => start(words, node, args, true).on('close', ended));
  if (code !== 0) failures++;
}
console.log(failures === 0 ? 'no test depends on the load' : `failed on ${failures} of ${nodes().length} Nodes`);
process.exit(failures === 0 ? 0 : 1);
