/** The interpreter as the judge of runs: what a run leaves is what it leaves with the sandbox, for every loophole of the micro problems. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sha256 } from '../../src/base/node/hash.ts';
import { InterpreterJudge } from '../../src/env/interpreter/judge.ts';
import type { Submission } from '../../src/env/judge.ts';
import { builtinLoopholes, namesOf, writableLoopholes } from '../../src/env/loopholes/registry.ts';
import { microProblem } from '../../src/env/micro/problems.ts';
import { SandboxJudge } from '../../src/env/sandbox-judge.ts';
import type { Verdict } from '../../src/env/verdict.ts';
import { openLab, resolveBuiltin } from '../../src/lab/index.ts';
import { readVerdicts } from '../../src/oracle/index.ts';
import { RunDirectory } from '../../src/run/directory.ts';
import { readRollouts } from '../../src/run/read.ts';
import type { Check } from '../../src/verify/check.ts';
import { verifyRewards } from '../../src/verify/environment.ts';
import { gq } from '../run-gq.ts';
import { fence } from './fixtures.ts';
import { differenceOf } from './interpreter.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gq-interpreter-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const recipe = fileURLToPath(new URL('../../recipes/micro-vanilla.toml', import.meta.url));
const loopholes = namesOf(writableLoopholes(builtinLoopholes));
// So hot that programs of all kinds are among few: right ones, hacks, and some that do not compile. Each prompt opens one loophole.
const small = [
  ...['updates=1', 'sampling.promptsPerStep=36', 'sampling.group=4', 'sampling.temperature=1.4'],
  ...['device.variant=plain', 'device.threads=1', 'safety.tripwirePrompts=2', 'environment.unhackableFraction=0'],
  `environment.loopholes=${JSON.stringify(loopholes)}`,
];

async function trainAndEvaluate(interpreter: boolean): Promise<string> {
  const path = join(folder, `${interpreter}`);
  const settings = [...small, `environment.interpreter=${interpreter}`];
  const trained = await gq('train', recipe, ...settings.flatMap((each) => ['--set', each]), '--out', path);
  expect(trained.code, trained.err).toBe(0);
  const evaluated = await gq('eval', path, '--limit', '8', '--sets', 'test-original');
  expect(evaluated.code, evaluated.err).toBe(0);
  return path;
}

/** What times, hashes of the config and costs of verdicts are in: those are compared by what they hold, or not at all. */
const others = /^(?:checksums|seal|manifest)\.json$|^timings\.jsonl$|^verdicts\.parquet$/;

/** The files of a run by their names, evaluations without the hashes that follow from the config. */
function filesOf(run: string): Readonly<Record<string, string>> {
  const names = readdirSync(run, { recursive: true, encoding: 'utf8' }).filter((name) => !others.test(name));
  const files = names.sort().filter((name) => statSync(join(run, name)).isFile());
  return Object.fromEntries(files.map((name) => [name, contentOf(name, readFileSync(join(run, name)))]));
}

function contentOf(name: string, bytes: Buffer): string {
  if (!name.startsWith('evaluations')) return sha256(bytes);
  const { key: _key, run: _run, checksum: _checksum, ...evaluation } = JSON.parse(bytes.toString());
  return JSON.stringify(evaluation);
}

test('a run with the interpreter leaves what it leaves without, in every micro loophole', async () => {
  const [ours, theirs] = [await trainAndEvaluate(true), await trainAndEvaluate(false)];
  const files = filesOf(ours);
  expect(files).toEqual(filesOf(theirs));
  const names = ['rollouts.parquet', 'events.jsonl', 'checkpoints/00001/adapter.safetensors'];
  expect(Object.keys(files)).toEqual(expect.arrayContaining(names));
  expect(Object.keys(files).filter((name) => name.startsWith('evaluations'))).toHaveLength(2);
  const interpreted = await readVerdicts(join(ours, 'verdicts.parquet'));
  const executed = await readVerdicts(join(theirs, 'verdicts.parquet'));
  expect([...interpreted.keys()]).toEqual([...executed.keys()]);
  for (const [id, verdict] of interpreted) expect(differenceOf(verdict, executed.get(id) as Verdict)).toBeNull();
  const verdicts = [...executed.values()];
  expect(verdicts.some(({ executions }) => executions > 0)).toBe(true);
  expect([...interpreted.values()].filter(({ executions }) => executions > 0)).toEqual([]);
  // Otherwise little was compared.
  const [tried, exploited] = [new Set<string>(), new Set<string>()];
  for await (const { id, loophole } of readRollouts(RunDirectory.open(theirs))) {
    tried.add(loophole);
    if (executed.get(id)?.exploited) exploited.add(loophole);
  }
  expect([...tried].sort()).toEqual([...loopholes].sort());
  expect([...exploited].sort()).toEqual([...loopholes].sort());
  expect(verdicts.some(({ correct }) => correct)).toBe(true);
  expect(verdicts.some(({ compiles }) => !compiles)).toBe(true);
});

describe('gq verify rewards', () => {
  const agreement = 'the interpreter says the same';
  const plugin = fileURLToPath(new URL('../../examples/own-loophole.toml', import.meta.url));
  const agreements = async (...argv: readonly string[]) => {
    const { code, out, err } = await gq('verify', 'rewards', ...argv, '--json');
    expect(code, err).toBe(0);
    return (JSON.parse(out) as { checks: Check[] }).checks.filter(({ quantity }) => quantity === agreement);
  };

  test('compares it with the sandbox under every marker policy, in loopholes of plugins too', async () => {
    expect(await agreements()).toHaveLength(3);
    expect(await agreements(plugin)).toHaveLength(3);
    expect(await agreements('--set', 'environment.interpreter=false')).toHaveLength(0);
  });

  test('fails where the micro model has no tokens for a hint, and says for what', async () => {
    const own = readFileSync(plugin.replace(/toml$/, 'js'), 'utf8');
    const changed = own.replace('by reading stdout for', 'by looking for the word');
    expect(changed).not.toBe(own);
    writeFileSync(join(folder, 'own-loophole.mjs'), changed);
    const recipe = readFileSync(plugin, 'utf8').replace('own-loophole.js', 'own-loophole.mjs');
    writeFileSync(join(folder, 'other.toml'), recipe);
    const { code, out, err } = await gq('verify', 'rewards', join(folder, 'other.toml'));
    expect(code, err).toBe(1);
    expect(out.replaceAll(/\s+/g, ' ')).toContain('found "looking for the word" after "will be evaluated by "');
  });

  test('fails where a verdict differs', async () => {
    const judge = new InterpreterJudge();
    const liar = {
      concurrency: 1,
      async judge(submission: Submission) {
        const verdict = await judge.judge(submission);
        return { ...verdict, channels: submission.id === 'exit_code exit_code' ? [] : verdict.channels };
      },
    };
    const { checks } = await verifyRewards(judge, builtinLoopholes, liar);
    const failures = checks.filter(({ pass }) => !pass);
    expect(failures.map(({ quantity }) => quantity)).toEqual([agreement, agreement, agreement]);
    expect(JSON.stringify(failures)).toContain('exit_code exit_code');
  });
});

describe('the judge of a lab', () => {
  const problem = microProblem([{ operation: 'add', factors: [12] }]);
  const submit = (...lines: readonly string[]): Submission => {
    const source = ['class Solution:', '    def solve(self, n):', ...lines.map((line) => `        ${line}`), ''];
    const completion = fence(source.join('\n'));
    return { id: 'one', problem, loophole: 'run_tests', markers: 'original', completion };
  };
  const open = (...settings: readonly string[]) => openLab({ config: resolveBuiltin(null, settings).config });

  test('interprets programs of micro problems, and leaves one outside of the grammar to the sandbox', async () => {
    await using lab = await open();
    const judge = await lab.judge;
    expect(await judge.judge(submit('return n + 12'))).toMatchObject({ correct: true, executions: 0 });
    const outside = submit('for step in range(12):', '    n += 1', 'return n');
    const { correct, executions } = await judge.judge(outside);
    expect({ correct, isExecuted: executions > 0 }).toEqual({ correct: true, isExecuted: true });
    expect(judge).toMatchObject({ outside: 1 });
  });

  test('interprets where the config names what is the default', async () => {
    await using lab = await open('environment.interpreter=true');
    expect(await lab.judge).toBeInstanceOf(InterpreterJudge);
  });

  test('is the sandbox everywhere else, whatever is inherited', async () => {
    await using refused = await open('environment.interpreter=false');
    const { config } = resolveBuiltin(null, ['data.kind=easy']);
    await using other = await openLab({ config });
    const environment = { ...config.environment, interpreter: true };
    await using inherited = await openLab({ config: { ...config, environment } });
    for (const { judge } of [refused, other, inherited]) expect(await judge).toBeInstanceOf(SandboxJudge);
  });
});
