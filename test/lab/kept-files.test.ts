/** Nothing is overwritten without --force, and what can be checked is checked before work begins. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { gq } from '../run-gq.ts';

const home = mkdtempSync(join(tmpdir(), 'gq-kept-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

function file(name: string, text: string): string {
  const path = join(home, name);
  writeFileSync(path, text);
  return path;
}

const [benchmark] = readFileSync('test/data/problems-benchmark.jsonl', 'utf8').split('\n');

describe('files that exist', () => {
  it('gq pool make refuses them before it samples', async () => {
    const mine = file('mine.jsonl', 'notes\n');
    const { code, err } = await gq('pool', 'make', 'recipes/micro-base.toml', '--out', mine);
    expect(code).toBe(2);
    expect(err).toContain('--force');
    expect(readFileSync(mine, 'utf8')).toBe('notes\n');
    const folder = await gq('pool', 'make', 'recipes/micro-base.toml', '--out', home);
    expect([folder.code, folder.err.includes(home)]).toEqual([2, true]);
  });

  it('gq verify problems --write refuses them, and its own input even with --force', async () => {
    const source = file('source.jsonl', `${benchmark}\n`);
    const other = file('other.jsonl', 'notes\n');
    expect(await gq('verify', 'problems', source, '--write', other)).toMatchObject({ code: 2 });
    for (const force of [[], ['--force']]) {
      const { code, err } = await gq('verify', 'problems', source, '--write', source, ...force);
      expect(code).toBe(2);
      expect(err).toContain('--write');
    }
    expect(readFileSync(source, 'utf8')).toBe(`${benchmark}\n`);
    expect(readFileSync(other, 'utf8')).toBe('notes\n');
  });

  it('gq grade refuses a file that it did not begin, even one line without a newline', async () => {
    const responses = file('responses.jsonl', '{"id": "1", "completion": "x", "loophole": "run_tests"}\n');
    const problems = file('graded-problems.jsonl', `${benchmark}\n`);
    for (const text of ['notes', 'notes\n', '{"a": 1}\n']) {
      const out = file('imp.txt', text);
      const { code, err } = await gq('grade', '--problems', problems, '--responses', responses, '--out', out);
      expect(code).toBe(2);
      expect(err).toContain(out);
      expect(readFileSync(out, 'utf8')).toBe(text);
    }
  });

  it('gq micro pretrain refuses the folder before it trains', async () => {
    for (const to of [home, join(file('plain', ''), 'model')]) {
      const { code, err } = await gq('micro', 'pretrain', '--to', to);
      expect(code).toBe(2);
      expect(err).toContain(home);
      expect(err).not.toMatch(/\d+ steps/);
    }
  });

  it('gq export and gq model init refuse the folder before they compute', async () => {
    const exported = await gq('export', join(home, 'no-run'), '--to', home);
    expect(exported.code).toBe(2);
    expect(exported.err).toContain('--to');
  });
});

describe('input files', () => {
  it.each(['problems', 'responses'])('an empty file of %s is an error', async (what) => {
    const empty = file('empty.jsonl', '\n');
    const problems = what === 'problems' ? empty : file('one.jsonl', `${benchmark}\n`);
    const argv =
      what === 'problems'
        ? ['verify', 'problems', problems]
        : ['grade', '--problems', problems, '--responses', empty, '--out', join(home, 'out.jsonl')];
    const { code, err } = await gq(...argv);
    expect(code).toBe(2);
    expect(err).toContain('empty.jsonl');
    expect(existsSync(join(home, 'out.jsonl'))).toBe(false);
  });

  it('all faults of a file of problems come at once', async () => {
    const broken = JSON.parse(benchmark) as Record<string, unknown>;
    const lines = [
      JSON.stringify({
        ...broken,
        id: 1,
        setup_code: 3,
        difficulty: null,
        prompt: [{ role: 'user', content: 'Do it.' }],
      }),
      JSON.stringify({ id: 'x', prompt: 'Do it.', tests: [] }),
      '{"id": ',
    ];
    const { code, err } = await gq('verify', 'problems', file('broken.jsonl', `${lines.join('\n')}\n`));
    expect(code).toBe(2);
    for (const word of [
      'line 1',
      'setup_code',
      'difficulty',
      'should pass all tests',
      'line 2',
      'gt_answer',
      'line 3',
    ]) {
      expect(err).toContain(word);
    }
  });
});

describe('gq smoke', () => {
  it.each([
    ['--device', 'foo'],
    ['--golden', 'nope'],
  ])('checks %s %s first', async (option, value) => {
    const { code, out, err } = await gq('smoke', option, value);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(option);
  });
});
