import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gq as run } from '../../../test/run-gq.ts';
import { loadProblems } from '../../env/importers/load.ts';
import { microTokens } from '../../env/micro/tokens.ts';
import { formatPairsJson } from '../../env/pairs/json.ts';
import { loadPairs, pairFilePath } from '../../env/pairs/load.ts';

const benchmark = fileURLToPath(new URL('../../../../shared/data/leetcode_test_medhard.jsonl.gz', import.meta.url));
let home = '';
const path = (name: string) => join(home, name);

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'gq-pairs-'));
  await writeFile(path('tokens.json'), JSON.stringify(microTokens));
  const made = await run('model', 'init', '--config', 'nano', '--tokenizer-from', path('tokens.json'), '--seed', '1', '--to', path('model')); // biome-ignore format: one call
  expect(made).toMatchObject({ code: 0, err: '' });
});
afterAll(() => rm(home, { recursive: true, force: true }));

describe('gq pairs check', () => {
  it('accepts the shipped pairs and prints lengths, styles and bounds', async () => {
    const { code, out, err } = await run('pairs', 'check', 'hack');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/hack\.md: 26 pairs, content [0-9a-f]{12}\n/);
    expect(out).toMatch(/length +characters +hack \/ clean \d\.\d\d +worst \d+ \/ \d+: /);
    expect(out).toMatch(/style +blank lines +hack .* p = /);
    expect(out).toMatch(/\n0 errors, 0 warnings\.\n$/);
  });

  it('lists every error of a broken file and exits 1', async () => {
    const text = await readFile(pairFilePath('hack'), 'utf8');
    const broken = text
      .replace('### Ferry: a number that equals every number', '### Plateau: a test that cannot fail')
      .replace('Tags: behaviour, exit_code, code\n', '');
    await writeFile(path('broken.md'), broken);
    const { code, out: wrapped } = await run('pairs', 'check', path('broken.md'));
    const out = wrapped.replaceAll('\n', ' ');
    expect(code).toBe(1);
    expect(out).toMatch(/error: format: line \d+, "Plateau: .*the heading of line \d+ again/);
    expect(out).toMatch(/error: format: line \d+, "Thermostat: .*expected a Tags: line/);
    expect(out).toContain('24 pairs');
    expect(wrapped).toMatch(/\n2 errors, /);
    await writeFile(path('empty.md'), '# Nothing\n');
    expect(await run('pairs', 'check', path('empty.md'))).toMatchObject({ code: 1, err: '' });
  });

  it('selects, reads JSON, and hashes only what was selected', async () => {
    const { pairs } = await loadPairs('hack');
    await writeFile(path('all.json'), formatPairsJson(pairs));
    await writeFile(path('part.json'), formatPairsJson(pairs.filter(({ tags }) => tags.includes('sentinel'))));
    const report = async (...argv: string[]) => JSON.parse((await run('pairs', 'check', ...argv, '--json')).out);
    const markdown = await report('hack', '--select', 'tag:sentinel');
    expect(markdown).toMatchObject({ pairs: 4, lengths: [{ unit: 'pieces' }, { unit: 'characters' }] });
    expect((await report(path('all.json'), '--select', 'tag:sentinel')).hash).toBe(markdown.hash);
    expect((await report(path('part.json'))).hash).toBe(markdown.hash);
    expect((await report('hack')).hash).not.toBe(markdown.hash);
  });

  it("counts in a model's tokens when told to", async () => {
    const { code, out } = await run('pairs', 'check', 'micro', '--tokenizer', path('model'), '--json');
    expect(code).toBe(0);
    const { lengths, findings } = JSON.parse(out);
    expect(lengths.map(({ unit }: { unit: string }) => unit)).toEqual(['tokens', 'characters']);
    expect(findings.some(({ message }: { message: string }) => message.includes('tokens'))).toBe(false);
  });

  it('has an error for each pair that gq train refuses as a test problem of the benchmark', async (context) => {
    if (!existsSync(benchmark)) return context.skip(`${benchmark} is missing`);
    const { loaded } = await loadProblems(benchmark);
    const { pairs } = await loadPairs('hack');
    const known = { ...pairs[0], heading: 'Known', clean: loaded[0].problem.canonicalSolution };
    await writeFile(path('known.json'), formatPairsJson([...pairs, known]));
    const { code, out } = await run('pairs', 'check', path('known.json'), '--json');
    expect(code).toBe(1);
    const errors = JSON.parse(out).findings.filter(({ level }: { level: string }) => level === 'error');
    expect(errors).toMatchObject([{ check: 'test problem', headings: ['Known'] }]);
  });

  it.each([
    [['hack', '--select', 'tag:sentinle'], 'Did you mean "sentinel"?'],
    [['hak'], 'Did you mean hack?'],
    [['none.md'], 'no such file'],
    [['hack', '--tokenizer', 'nowhere'], 'no such file'],
  ])('exits 2 for %j', async (argv, message) => {
    const { code, out, err } = await run('pairs', 'check', ...argv);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(message);
  });
});

describe('gq pairs score', () => {
  const score = (...argv: string[]) => run('pairs', 'score', path('model'), 'micro', '--device', 'reference', ...argv);

  it('prints paired accuracy, AUROC and leave one out, with counts and intervals', async () => {
    const { code, out, err } = await score();
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/paired accuracy +\d+\/18 = \d\.\d{3} \(95% /);
    expect(out).toMatch(/AUROC +\d\.\d{3} \(95% /);
    expect(out).toMatch(/leave one out +\d+\/18 = /);
    expect(out).toContain('family lora, rank 8, seed 1, kind activation, score dot, standardise false');
  });

  it('is the same each time, and says in JSON which pairs are wrong', async () => {
    const loopholes = ['--select', 'tag:sentinel,exit_code'];
    const [first, second] = [await score(...loopholes, '--json'), await score(...loopholes, '--json')];
    expect(second.out).toBe(first.out);
    const report = JSON.parse(first.out);
    expect(report).toMatchObject({ pairs: 6, settings: { family: 'lora' } });
    expect(report.hackScores).toHaveLength(6);
    const wrong = report.hackScores.filter((value: number, i: number) => !(value > report.cleanScores[i])).length;
    expect(report.wrongPairs).toHaveLength(wrong);
    expect(report.pairedAccuracy).toBeCloseTo(1 - wrong / 6);
    expect(report.wrongWhenLeftOut.length).toBeGreaterThanOrEqual(wrong);
  });

  it.each([
    ['--kind', 'gradient'],
    ['--family', 'scorda', '--rank', '4'],
    ['--score', 'cosine', '--standardise'],
  ])('runs with %s %s', async (...argv) => {
    const { code, out, err } = await score('--select', 'tag:sentinel', ...argv);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/paired accuracy +\d\/3 = /);
  });

  it.each([
    [['--family', 'lorra'], 'Did you mean lora?'],
    [['--seed', 'x'], 'a whole number of at least 0.'],
    [['--seed', '99999999999999999999'], 'a whole number of at least 0, of at most 9007199254740991.'],
    [['--kind', 'both'], 'activation'],
  ])('exits 2 for %j', async (argv, message) => {
    const { code, err } = await score(...argv);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });

  it("exits 2 where the model's tokenizer does not know the text, naming the pair", async () => {
    const { code, err } = await run('pairs', 'score', path('model'), 'hack', '--device', 'reference');
    expect(code).toBe(2);
    expect(err).toContain('pair "Plateau: a test that cannot fail"');
  });
});
