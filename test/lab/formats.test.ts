/** Every example of docs/formats.md is read by the reader that it is an example for. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadProblems, readResponses } from '../../src/env/index.ts';
import { checkPairs, loadPairs } from '../../src/env/pairs/index.ts';
import { readPartition } from '../../src/env/partition.ts';
import { EvaluationStore, openingProbe, writeCurve, writePrefillCurve } from '../../src/evaluate/index.ts';
import { readEvasion } from '../../src/measure/index.ts';
import { readTranscripts } from '../../src/monitors/transcripts.ts';
import { stampedJson } from '../../src/run/index.ts';
import { planExperiment, readExperiment } from '../../src/study/experiment.ts';
import { evaluationRows, temporaryFolder, writeEvaluations } from './hand-made.ts';

const home = mkdtempSync(join(tmpdir(), 'gq-formats-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const page = readFileSync('docs/formats.md', 'utf8');
const examples = [...page.matchAll(/^(`{3,})(\w+) (\w+)\n([\s\S]*?)^\1$/gm)].map(([, , language, kind, text]) => ({ language, kind, text })); // biome-ignore format: one line

function of(kind: string, language = 'json'): string[] {
  const found = examples.filter((each) => each.kind === kind && each.language === language).map(({ text }) => text);
  expect(found.length, kind).toBeGreaterThan(0);
  return found;
}

function file(name: string, text: string): string {
  const path = join(home, name);
  writeFileSync(path, text);
  return path;
}

const lines = (texts: readonly string[]): string =>
  texts.map((text) => `${JSON.stringify(JSON.parse(text))}\n`).join('');

describe('docs/formats.md', () => {
  it('has problems that are read', async () => {
    const { loaded, refused } = await loadProblems(file('problems.jsonl', lines(of('problem'))));
    expect([loaded.map(({ problem }) => problem.id), refused]).toEqual([['double', 'triple'], []]);
  });

  it('has responses, transcripts, partitions and pairs that are read', async () => {
    const transcripts = await readTranscripts(file('transcripts.jsonl', lines(of('transcript'))), 'label');
    expect(transcripts.map(({ id, isPositive }) => [id, isPositive])).toEqual([['a-7', true]]);
    expect(await readResponses(file('responses.jsonl', lines(of('response'))), undefined)).toHaveLength(1);
    expect((await readPartition(file('partition.json', of('partition')[0]))).heldOut).toEqual(['exit_code']);
    for (const [name, text] of [
      ['pairs.md', of('pairs', 'markdown')[0]],
      ['pairs.json', of('pairs')[0]],
    ]) {
      const { pairs } = await loadPairs(file(name, text));
      expect(pairs).toHaveLength(1);
      expect(checkPairs(pairs).findings.filter(({ level }) => level === 'error')).toEqual([]);
    }
  });

  it('has an experiment that is planned', async () => {
    const text = of('experiment', 'toml')[0].replaceAll('../recipes', resolve('recipes'));
    const path = file('experiment.toml', text);
    expect((await planExperiment(readExperiment(path), path)).runs).toHaveLength(18);
  });

  it('has an entry of a pool with the keys of the reader', () => {
    expect(Object.keys(JSON.parse(of('pool')[0]))).toEqual(['problem', 'completion', 'label', 'loophole', 'markers']);
  });

  it('has an evaluation that is read', () => {
    mkdirSync(join(home, 'evaluations'));
    file('evaluations/00100-test-novel-deployed.json', stampedJson(JSON.parse(of('evaluation')[0])));
    const name = { update: 100, set: 'test-novel', state: 'deployed', limit: null } as const;
    expect(new EvaluationStore(home).has(name)).toBe(true);
    expect(new EvaluationStore(home).find(name)?.rows).toHaveLength(1);
  });

  it('has a curve with the keys of the writer', async () => {
    const folder = temporaryFolder();
    await writeEvaluations(folder, [{ update: 0, set: 'test-original', state: 'base', outcomes: 'h-' }]);
    const { 'test-original': [made] = [] } = await writeCurve(folder, 'test-original');
    const [shown] = JSON.parse(of('curves')[0]).sets['test-original'];
    expect(Object.keys(shown)).toEqual(Object.keys(made));
    expect(Object.keys(shown.hack)).toEqual(Object.keys(made.hack));
  });

  it('has a prefill curve with the keys of the writer', async () => {
    const folder = temporaryFolder();
    const store = new EvaluationStore(folder);
    const rows = evaluationRows({ update: 20, set: 'curve', state: 'full', outcomes: 'h-' });
    for (const opening of ['hack', 'neutral'] as const) {
      const at = { update: 20, set: 'curve', state: 'full', limit: null } as const;
      await store.save({ ...at, seed: 1, key: 'k', problems: null, probe: openingProbe(opening), rows });
    }
    const { curve: [made] = [] } = await writePrefillCurve(folder);
    const [shown] = JSON.parse(of('prefills')[0]).sets.curve;
    expect(Object.keys(shown)).toEqual(Object.keys(made));
    for (const target of ['attempts', 'hacks'] as const) {
      expect(Object.keys(shown[target]).sort()).toEqual(Object.keys(made[target]).sort());
      expect(Object.keys(shown[target].interval)).toEqual(Object.keys(made[target].interval ?? {}));
    }
  });

  it('has an evasion split that is read', () => {
    const folder = temporaryFolder();
    const shown = JSON.parse(of('evasion')[0]);
    writeFileSync(join(folder, 'evasion.json'), stampedJson(shown));
    expect(readEvasion(folder)).toEqual(shown);
  });
});
