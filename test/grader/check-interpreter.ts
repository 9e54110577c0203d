/**
 * The long check of the interpreter: 100,000 random programs against Python, and every program of a run of all micro loopholes against the
 * verdicts that the sandbox gave while it trained. Prints what it counted and exits 1 when something differs.
 * `node test/grader/check-interpreter.ts [programs] [run]`; without a run, one is trained.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtinLoopholes, namesOf, writableLoopholes } from '../../src/env/loopholes/registry.ts';
import { gq } from '../run-gq.ts';
import { compareInterpreter, compareRun, type InterpreterReport } from './interpreter.ts';

const programs = Number(process.argv[2] ?? 100_000);
if (!(programs >= 1)) throw new Error(`check:interpreter: expected a number of programs, found ${process.argv[2]}`);
const recipe = fileURLToPath(new URL('../../recipes/micro-vanilla.toml', import.meta.url));
const updates = 120;
let failures = 0;

function report(what: string, { differences, ...counts }: InterpreterReport): void {
  console.log(`${what}:`, { ...counts, differences: differences.length });
  for (const difference of differences.slice(0, 20)) console.log(`FAILED ${difference}`);
  failures += differences.length;
}

async function trainRun(folder: string): Promise<string> {
  const path = join(folder, 'run');
  const loopholes = JSON.stringify(namesOf(writableLoopholes(builtinLoopholes)));
  const changes = [`environment.loopholes=${loopholes}`, `updates=${updates}`, 'environment.interpreter=false'];
  const settings = changes.flatMap((text) => ['--set', text]);
  console.log(`training ${updates} updates with the loopholes ${loopholes}`);
  const { code, err } = await gq('train', recipe, ...settings, '--out', path);
  if (code !== 0) throw new Error(`check:interpreter: gq train ended with ${code}: ${err}`);
  return path;
}

report('random programs', compareInterpreter(programs, 1));
const folder = mkdtempSync(join(tmpdir(), 'check-interpreter-'));
try {
  report('programs of a run', await compareRun(process.argv[3] ?? (await trainRun(folder))));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(failures === 0 ? 'everything holds' : `${failures} differences`);
process.exitCode = failures === 0 ? 0 : 1;
