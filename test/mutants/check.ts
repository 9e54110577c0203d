/**
 * `npm run check:mutants`: plants the mistakes of mutants.ts in a copy of the repository, one at a time, and asserts that the test
 * that each names fails. First it asserts that all of these tests pass without a mistake. `--only TEXT` takes those whose words have it.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Mutant, mutants, plant } from './mutants.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const kernels = 'src/engine/wasm/kernels';

/** A copy of all files that git knows or would add, with the built kernels and the packages of the original. */
function copyRepository(): string {
  const listed = spawnSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8' });
  if (listed.status !== 0) throw new Error(`git ls-files: ${listed.stderr}`);
  const built = readdirSync(join(root, kernels)).filter((name) => name.endsWith('.wasm'));
  const copy = mkdtempSync(join(tmpdir(), 'gq-mutants-'));
  process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
  for (const file of [...listed.stdout.split('\0'), ...built.map((name) => join(kernels, name))]) {
    if (file !== '') cpSync(join(root, file), join(copy, file), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

interface Report {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly {
      readonly title: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

interface Outcome {
  /** passed or failed; missing where the test did not run. */
  readonly status: string;
  readonly why: string;
}

/** What became of the named tests. */
function runTests(copy: string, wanted: readonly Mutant[]): (mutant: Mutant) => Outcome {
  const report = `${copy}.json`;
  const names = wanted.map(({ test }) => test.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  const files = new Set(wanted.map(({ testFile }) => testFile));
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const args = ['run', ...files, '-t', names, '--reporter=json', `--outputFile=${report}`];
  const { stdout, stderr } = spawnSync(process.execPath, [vitest, ...args], { cwd: copy, encoding: 'utf8' });
  try {
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report;
    const all = testResults.flatMap(({ assertionResults }) => assertionResults);
    const noTest = testResults.map(({ message }) => message).join('\n') || 'there is no test of that name';
    return ({ test }) => {
      const found = all.find(({ title, status }) => title === test && status !== 'skipped');
      if (found === undefined) return { status: 'missing', why: noTest };
      return { status: found.status, why: found.failureMessages.join('\n').split('\n', 1)[0] };
    };
  } catch (error) {
    throw new Error(`vitest left no report: ${error}\n${stdout}\n${stderr}`);
  } finally {
    rmSync(report, { force: true });
  }
}

const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });
const chosen = mutants.filter(({ mistake, file }) => `${mistake} ${file}`.includes(values.only));
if (chosen.length === 0) throw new Error(`no mistake has "${values.only}" in its words or its file`);
process.on('SIGINT', () => process.exit(130));
const copy = copyRepository();
let wrong = 0;
const say = (holds: boolean, text: string): void => {
  if (!holds) wrong++;
  console.log(`${holds ? 'right' : 'WRONG'}  ${text}`);
};

const untouched = runTests(copy, chosen);
for (const mutant of chosen) {
  const { status, why } = untouched(mutant);
  say(status === 'passed', `without a mistake, "${mutant.test}": ${status} ${why}`);
}
for (const mutant of chosen) {
  const path = join(copy, mutant.file);
  const source = readFileSync(path, 'utf8');
  writeFileSync(path, plant(mutant, source));
  const { status, why } = runTests(copy, [mutant])(mutant);
  writeFileSync(path, source);
  say(status === 'failed', `${mutant.mistake} (${mutant.file}): the test ${status}: ${why}`);
}
console.log(wrong === 0 ? `${chosen.length} mistakes, each found by its test` : `${wrong} wrong`);
process.exit(wrong === 0 ? 0 : 1);
