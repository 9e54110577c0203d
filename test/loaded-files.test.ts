/**
 * How many of the project's own files a command loads before it answers: whoever reads results waits for no engine, model, tokenizer
 * or sandbox. The files are those that V8 says it ran, so the count is the same from sources and from the build.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { readSources } from './architecture/files.ts';
import { readReferences, resolveRelative } from './architecture/modules.ts';
import { unpackStudy } from './golden-study/study.ts';
import { gqProgram } from './gq-command.ts';

const scratch = mkdtempSync(join(tmpdir(), 'gq-loaded-'));
const runs = join(scratch, 'runs');
beforeAll(() => unpackStudy(runs));

/** Folders that train, sample or grade. */
const heavy = /^src\/(?:engine|model|parallel|pretrain|lab|serve|verify|env\/sandbox)\//;

/** Files of these folders that load nothing else: they read a name. */
const light = ['src/model/hub/cache.ts'];

/** The project's own files that a command loads, as paths of the sources. */
function loadedBy(words: readonly string[]): string[] {
  const coverage = mkdtempSync(join(scratch, 'coverage-'));
  const env = { ...process.env, NODE_V8_COVERAGE: coverage, GQ_QUEUE: join(scratch, 'queue') };
  const { status, stderr } = spawnSync(process.execPath, [gqProgram(), ...words], { env, encoding: 'utf8' });
  expect(status, stderr).toBe(0);
  const urls = readdirSync(coverage).flatMap((name) => {
    const { result } = JSON.parse(readFileSync(join(coverage, name), 'utf8')) as { result: { url: string }[] };
    return result.map(({ url }) => url);
  });
  const [home, kind] = gqProgram().endsWith('.ts') ? ['src', 'ts'] : ['dist', 'js'];
  const root = new URL(`../${home}/`, import.meta.url).href;
  const own = urls.filter((url) => url.startsWith(root) && url.endsWith(`.${kind}`));
  return [...new Set(own)].map((url) => `src/${url.slice(root.length, -kind.length)}ts`).sort();
}

/** What to look at first: the loaded files of each folder, and the files that name the most of them. */
function explain(loaded: readonly string[]): string {
  const folders = new Map<string, number>();
  for (const path of loaded) {
    const folder = path.split('/').slice(0, -1).join('/');
    folders.set(folder, (folders.get(folder) ?? 0) + 1);
  }
  const importers = [...readSources(loaded)].map(([path, text]): [string, number] => {
    const targets = readReferences(path, text).specifiers.map((specifier) => resolveRelative(path, specifier));
    return [path, targets.filter((target) => loaded.includes(target)).length];
  });
  const largest = (counts: Iterable<[string, number]>) =>
    [...counts]
      .sort(([, a], [, b]) => b - a)
      .slice(0, 15)
      .map(([name, count]) => `  ${count} ${name}`);
  return [`${loaded.length} files`, ...largest(folders), 'imported by', ...largest(importers)].join('\n');
}

const study = join(runs, 'golden-study');
const readers = [
  ['--help', 50, ['--help']],
  ['results of a run', 250, ['results', join(study, 'activation-1')]],
  ['results of a study', 250, ['results', study]],
  ['runs', 200, ['runs', runs]],
  ['show', 250, ['show', join(study, 'activation-1'), '--limit', '1']],
] as const;
/** `gq config` names all arms and sources of problems, whose files have their code too. */
const commands = [...readers, ['config', 280, ['config', 'micro-activation']]] as const;

const counted = new Map<string, string[]>();
beforeAll(() => {
  for (const [name, , words] of commands) counted.set(name, loadedBy(words));
});

it.each(commands)('gq %s loads at most %i files', (name, most) => {
  const loaded = counted.get(name) ?? [];
  expect(loaded).toContain('src/cli/gq.ts');
  expect(loaded.length, explain(loaded)).toBeLessThanOrEqual(most);
});

it.each(readers)('gq %s loads nothing that trains, samples or grades', (name) => {
  expect(counted.get(name)?.filter((path) => heavy.test(path) && !light.includes(path))).toEqual([]);
});
