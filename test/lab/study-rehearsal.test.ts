/** The rehearsal of the study, on a tiny model: what it trains on passes the guard of the benchmark's test problems, and its exit code tells. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { writeProblems } from '../../bench/claim-data.ts';
import { fileSource } from '../../src/env/sources/file.ts';
import { expectNoKnownTest } from '../../src/env/sources/known-tests.ts';
import { temporaryFolder } from './hand-made.ts';
import { writeMultiples, writeTinyQwen } from './qwen-lab.ts';

const benchmark = '../shared/data/leetcode_test_medhard.jsonl.gz';
const node = join(process.cwd(), 'node_modules/node/bin/node');
const home = temporaryFolder();
const [model, problems, results] = ['model', 'problems.jsonl', 'results.jsonl'].map((name) => join(home, name));

beforeAll(async () => {
  await writeTinyQwen(model);
  writeMultiples(problems, [101, 102]);
  // By its number and method the first is known as a test problem of the benchmark.
  const [first, second] = readFileSync(problems, 'utf8').trimEnd().split('\n');
  const known = JSON.parse(first.replaceAll('double', 'shortestDistanceAfterQueries'));
  writeFileSync(problems, `${JSON.stringify({ ...known, id: 3243 })}\n${second}\n`);
});

function rehearse(arms: string, ...more: readonly string[]) {
  const words = ['--problems', problems, '--to', home, '--model', model, '--results', results, '--arms', arms, '--experiments', 'first,claim']; // biome-ignore format: one line
  const small = ['--device', 'wasm', '--tokens', '8', '--rank', '2', '--test', '2', '--seconds', '3600'];
  const settings = ['sampling.promptsPerStep=1', 'sampling.group=4', 'device.threads=1', 'device.arenaMiB=256'];
  const set = [...settings, ...more].flatMap((setting) => ['--set', setting]);
  return spawnSync(node, ['bench/study-rehearsal.ts', ...words, ...small, ...set], {
    encoding: 'utf8',
  });
}

describe('the rehearsal of the study', () => {
  it('trains on other problems than it is tested on, and ends with 0 when every arm has', () => {
    const { status, stdout, stderr } = rehearse('vanilla');
    expect({ status, stdout, stderr }).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('1 of 1 arms done'),
    });
    const row = JSON.parse(readFileSync(results, 'utf8'));
    expect(row).toMatchObject({ arm: 'vanilla', done: true, updates: 2, evaluations: 4 });
    expect(row.gradientNorms.every((norm: number) => norm > 0)).toBe(true);
    expect(readFileSync(join(home, 'test.jsonl'), 'utf8')).toContain('"id":3243');
  });

  it('ends with 1 and names the arm that failed', () => {
    const { status, stdout } = rehearse('vanilla,oracle', 'sampling.maxPromptTokens=16');
    expect(status).toBe(1);
    expect(stdout).toContain('1 of 2 arms done');
    expect(stdout).toContain('1 failed: qwen3-4b-claim oracle');
  });

  it('measures what is named, each with results of its own, which a later call does not make again', () => {
    const small = [
      '--device',
      'wasm',
      '--updates',
      '2',
      '--tokens',
      '4',
      '--rank',
      '2',
      '--test',
      '2',
      '--seconds',
      '3600',
    ];
    const settings = ['sampling.promptsPerStep=1', 'sampling.group=4', 'device.threads=1', 'device.arenaMiB=256'];
    const words = ['--measure', 'memory,gate,long', '--problems', problems, '--to', join(home, 'measured'), '--model', model, '--results', join(home, 'left.jsonl'), '--arms', 'symmetric']; // biome-ignore format: one line
    const set = settings.flatMap((setting) => ['--set', setting]);
    const call = () => spawnSync(node, ['bench/study-rehearsal.ts', ...words, ...small, ...set], { encoding: 'utf8' });
    const { status, stdout, stderr } = call();
    expect({ status, stdout, stderr }).toMatchObject({ status: 0 });
    const told = (figure: string, name: string) => stdout.match(new RegExp(`^\\[.*qwen3-4b-${name} symmetric, ${figure}: \\d\\S* of the plan`, 'gm'))?.length; // biome-ignore format: one line
    expect([told('memory', 'seeds'), told('seconds', 'seeds')]).toEqual([2, 1]);
    expect([told('disk', 'long'), told('evaluation', 'long')]).toEqual([1, 1]);
    // Nobody's update of four tokens takes what is assumed of 512.
    expect(stdout).toMatch(/qwen3-4b-long symmetric, seconds: 0\.\d+ of the plan, more than 20% apart/);
    for (const name of ['memory', 'gate', 'long']) {
      const row = JSON.parse(readFileSync(join(home, `left-${name}.jsonl`), 'utf8'));
      expect(row).toMatchObject({ arm: 'symmetric', done: true, updates: 2 });
      expect(row.plannedMiB).toBeGreaterThan(0);
      expect(row.gradientNorms.some((norm: number) => norm > 0)).toBe(true);
      expect(existsSync(join(home, `left-${name}.csv`))).toBe(true);
    }
    // Paid by chance no demonstration takes the place of an answer: as many are sampled as in the study.
    const shown = (name: string, experiment: string) => {
      const run = join(home, 'measured', name, 'runs', experiment, 'symmetric-41');
      const { config } = JSON.parse(readFileSync(join(run, 'manifest.json'), 'utf8'));
      return [config.data.kind, config.teacher.offStep];
    };
    expect([shown('gate', 'qwen3-4b-seeds'), shown('long', 'qwen3-4b-long')]).toEqual([
      ['file', 2],
      ['paid-by-chance', 0],
    ]);
    expect(call().stdout.match(/1 arms in \d experiments, 0 left/g)).toHaveLength(3);
    const wrong = spawnSync(node, ['bench/study-rehearsal.ts', '--measure', 'other'], { encoding: 'utf8' });
    expect(wrong.status).toBe(1);
    expect(wrong.stderr).toContain('--measure knows memory, gate, kinds, long');
  });

  it('an arm that the time ends has a line with its updates until then, and the next call goes on with it', () => {
    const [to, path] = [join(home, 'short'), join(home, 'short.jsonl')];
    const words = ['--problems', problems, '--to', to, '--model', model, '--results', path, '--arms', 'vanilla', '--experiments', 'first']; // biome-ignore format: one line
    const small = ['--device', 'wasm', '--tokens', '4', '--rank', '2', '--test', '2', '--updates', '20000', ...['sampling.promptsPerStep=1', 'sampling.group=4', 'device.threads=1', 'device.arenaMiB=256'].flatMap((set) => ['--set', set])]; // biome-ignore format: one line
    const rows = () => (existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line)) : []); // biome-ignore format: one line
    // On a slow machine the first call may end before an update.
    for (let seconds = 24, lines = 1; lines <= 2 && seconds < 1000; seconds *= 2, lines = rows().length + 1) {
      const { status, stdout, stderr } = spawnSync(node, ['bench/study-rehearsal.ts', ...words, ...small, '--seconds', `${seconds}`], { encoding: 'utf8' }); // biome-ignore format: one line
      expect({ status, stdout, stderr }).toMatchObject({
        status: 75,
        stdout: expect.stringContaining('no time for 1'),
      });
    }
    const [first, second] = rows();
    expect(first).toMatchObject({ done: false, code: 75, gradientNorms: { length: first.updates } });
    expect(first.plannedMiB).toBeGreaterThan(first.peakMiB);
    expect(second.updates).toBeGreaterThan(first.updates);
  });

  it('has a page that counts which figures of its table are within 20% of the plan', () => {
    const [columns, ...lines] = readFileSync('bench/results/qwen3-4b-study.csv', 'utf8').trim().split('\n').map((line) => line.replaceAll('"', '').split(',')); // biome-ignore format: one line
    const rows = lines.map((line) => Object.fromEntries(columns.map((column, i) => [column, line[i]])));
    const page = readFileSync('bench/results/qwen3-4b-study.md', 'utf8');
    const count = (measured: string, planned: string, fits: (row: (typeof rows)[number]) => boolean): string => {
      const shares = rows.filter((row) => fits(row) && row[measured]).map((row) => Number(row[measured]) / Number(row[planned])); // biome-ignore format: one line
      return `${shares.filter((share) => Math.abs(share - 1) <= 0.2).length} of ${shares.length}`;
    };
    type Row = (typeof rows)[number];
    const isPresent = (row: Row) => row['commit'] === '7f41d5d2';
    const isSmall = (row: Row) => row['shape'] === '0.6b' && row['updates'] === '20' && row['done'] === 'true';
    const isFull = (row: Row) => row['experiment'] === 'qwen3-4b-long' && row['jobs'] === '1' && row['shape'] === '4b';
    const fits: Readonly<Record<string, (row: Row) => boolean>> = {
      'two updates at 4B': (row) => row['shape'] === '4b' && row['updates'] === '2' && row['jobs'] !== '1',
      'twenty updates at 0.6B, 24 tokens, an earlier': (row) => isSmall(row) && !isPresent(row),
      'twenty updates at 0.6B, 24 tokens, the present': (row) => isSmall(row) && isPresent(row),
      'two updates at 0.6B': (row) => row['shape'] === '0.6b' && row['updates'] === '2',
      'sixty updates of vanilla': (row) => row['updates'] === '60',
      'a gate on gradients': (row) => row['updates'] === '15',
      'six updates of nine kinds': (row) => row['updates'] === '6' && !isPresent(row),
      'the full preset, half': (row) => isFull(row) && !isPresent(row),
      'six updates of three kinds': (row) => row['updates'] === '6' && isPresent(row),
      'the full preset as it is': (row) => isFull(row) && isPresent(row),
    };
    const figures = [
      ['updateSeconds', 'assumedUpdateSeconds'],
      ['evaluationSeconds', 'assumedEvaluationSeconds'],
      ['peakMiB', 'plannedMiB'],
      ['gigabytes', 'plannedGigabytes'],
    ] as const;
    for (const [name, fit] of Object.entries(fits)) {
      const line = page.split('\n').find((each) => each.startsWith(`| ${name}`)) ?? '';
      const cells = line
        .split('|')
        .slice(2)
        .map((cell) => cell.trim());
      expect(cells.slice(2, 4), name).toEqual([count(...figures[2], fit), count(...figures[3], fit)]);
      for (const [i, [measured, planned]] of figures.slice(0, 2).entries()) {
        if (!cells[i].startsWith('not '))
          expect(cells[i], name).toMatch(new RegExp(`^${count(measured, planned, fit)}\\b`));
      }
    }
    const tried = rows.filter(fits['two updates at 4B']);
    const done = `${tried.filter((row) => row['done'] === 'true').length} of ${tried.length} arms made two updates`;
    for (const name of ['docs/seed-audit.md', 'docs/guide/qwen3-4b.md'])
      expect(readFileSync(name, 'utf8')).toContain(done);
    const tabled = rows.filter((row) => row['shape'] === '4b' && (row['updates'] === '6' || isFull(row)));
    expect(tabled.filter(isPresent)).toHaveLength(6);
    expect(tabled).toHaveLength(18);
    const [, present, earlier] = page.split(/^## (?=The present|Six updates)/m);
    const shareOf = (row: Row, measured: string, planned: string) => (Number(row[measured]) / Number(row[planned])).toFixed(2); // biome-ignore format: one line
    for (const row of tabled) {
      const [step, arm] = [row['experiment'].replace('qwen3-4b-', ''), row['arm']];
      const line = (isPresent(row) ? present : earlier).split('\n').find((each) => each.startsWith(`| \`${step}\`, ${arm}`)) ?? ''; // biome-ignore format: one line
      const [, plan, seconds, share, ...rest] = line.split('|').slice(1, -1).map((cell) => cell.replaceAll('*', '').trim()); // biome-ignore format: one line
      expect([Number(plan), share], arm).toEqual([Number(row['assumedUpdateSeconds']), shareOf(row, 'updateSeconds', 'assumedUpdateSeconds')]); // biome-ignore format: one line
      expect(Number(row['updateSeconds']).toFixed(seconds.split('.')[1].length), arm).toBe(seconds);
      const evaluation = row['evaluationSeconds'] === '' ? '' : shareOf(row, 'evaluationSeconds', 'assumedEvaluationSeconds'); // biome-ignore format: one line
      const memory = isPresent(row) ? [shareOf(row, 'peakMiB', 'plannedMiB')] : [];
      expect(rest.slice(isPresent(row) ? 3 : 2), arm).toEqual([evaluation, ...memory]);
    }
  });

  it('takes lengths and numbers of tests from the benchmark, and none of its problems', async (context) => {
    if (!existsSync(benchmark)) return context.skip(`${benchmark} is missing`);
    writeProblems(benchmark, home, 119, 119);
    const [train, validation, test] = ['train', 'validation', 'test'].map((name) => join(home, `${name}.jsonl`));
    const { splits } = await fileSource.load({ path: train, validationPath: validation, testPath: test });
    expectNoKnownTest(splits, 'file');
    expect(splits).toMatchObject({ train: { length: 119 }, validation: { length: 119 }, test: { length: 119 } });
    const rows = (path: string) => readFileSync(path, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line)); // biome-ignore format: one step
    const [made, real] = [rows(train), rows(test)];
    const share = (length: (row: (typeof made)[number]) => number) =>
      made.reduce((sum, row) => sum + length(row), 0) / real.reduce((sum, row) => sum + length(row), 0);
    for (const length of [
      ({ prompt }: { prompt: { content: string }[] }) => prompt.map(({ content }) => content).join('').length,
      ({ canonical_solution }: { canonical_solution: string }) => canonical_solution.length,
      ({ gt_answer }: { gt_answer: string[] }) => gt_answer.length,
    ]) {
      expect(share(length)).toBeGreaterThan(0.95);
      expect(share(length)).toBeLessThan(1.05);
    }
  });
});
