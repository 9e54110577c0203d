/** The architecture as a test: the import table, over the real graph, the rules on names, sizes and text, and what the workflow calls. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  isTypeScript,
  listFiles,
  readManifest,
  readSources,
  readText,
  root,
  runtimeDependencies,
} from './architecture/files.ts';
import { readExports } from './architecture/modules.ts';
import { checkExportedNames } from './architecture/names.ts';
import { checkImports } from './architecture/rules.ts';
import { checkText } from './architecture/text.ts';

const files = listFiles();
const dependencies = runtimeDependencies(readManifest());
const longestFile = 400;

const sources = readSources(files.filter((path) => path.startsWith('src/') && isTypeScript(path)));

describe('imports', () => {
  const report = checkImports(sources, dependencies);

  it('reads every file there is', () => {
    const existing = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .map((path) => `src/${path.replaceAll('\\', '/')}`)
      .filter(isTypeScript);
    expect(existing.length).toBeGreaterThan(0);
    expect(report.filesRead).toBe(existing.length);
  });

  it('point up the list of folders only', () => {
    expect(report.violations).toEqual([]);
  });
});

describe('planted violations are caught', () => {
  const plant = (planted: Record<string, string>) => {
    const oracle = {
      'src/oracle/gate.ts': 'export const labels = 1;',
      'src/oracle/index.ts': `export * from './gate.ts';`,
    };
    const base = { 'src/base/errors.ts': 'export class E {}', 'src/base/index.ts': `export * from './errors.ts';` };
    return checkImports(new Map(Object.entries({ ...oracle, ...base, ...planted })), new Set(['commander', 'koffi']));
  };
  const wrongFolder = expect.stringContaining('may not import');

  it('accepts what is allowed, so that the catches below mean something', () => {
    const { violations } = plant({
      'src/cli/gq.ts': `import { Command } from 'commander'; import '../oracle/index.ts'; await import('../base/index.ts');`,
      'src/engine/wasm/index.ts': `import { Worker } from 'node:worker_threads'; import type { E } from '../../base/index.ts';`,
      'src/engine/wasm/kernels.ts': `import '../tape.ts'; import './index.ts';`,
      'src/engine/tape.ts': `import { E } from '../base/errors.ts';`,
      'src/lab/plugins.ts': 'await import(pathToFileURL(path).href);',
      'src/view/page/app.tsx': `import { render } from 'preact'; render(<main>x</main>, place);`,
      'src/engine/cuda/driver.ts': `import koffi from 'koffi'; new URL('./kernels/gemm.cu', import.meta.url); new URL(\`./\${name}.cu\`, import.meta.url);`,
      'src/stats/wilson.test.ts': `import fc from 'fast-check'; import '../engine/wasm/kernels.ts'; import '../../test/suite.ts';`,
    });
    expect(violations).toEqual([]);
  });

  it.each([
    ['a static import', `import { labels } from '../oracle/index.ts';`],
    ['a type-only import', `import type { labels } from '../oracle/index.ts';`],
    ['an import type', `type Labels = typeof import('../oracle/index.ts');`],
    ['a dynamic import', `const { labels } = await import('../oracle/index.ts');`],
    ['a re-export', `export { labels } from '../oracle/index.ts';`],
    ['a star re-export', `export * from '../oracle/index.ts';`],
    ['a worker address', `new Worker(new URL('../oracle/index.ts', import.meta.url));`],
  ])('%s from gates to oracle', (_, text) => {
    const { violations } = plant({ 'src/gates/gate.ts': text });
    expect(violations).toEqual([wrongFolder, expect.stringContaining('reaches oracle')]);
  });

  it('a chain from grpo to oracle, through a folder and a test', () => {
    const { violations } = plant({
      'src/grpo/step.ts': `import '../gates/gate.ts';`,
      'src/gates/gate.ts': `import '../run/events.ts';`,
      'src/run/events.ts': `import '../evaluate/curves.ts';`,
      'src/evaluate/curves.ts': `import '../oracle/gate.ts';`,
      'src/model/decoder.test.ts': `import '../grpo/step.ts';`,
    });
    const chain =
      'src/grpo/step.ts → src/gates/gate.ts → src/run/events.ts → src/evaluate/curves.ts → src/oracle/gate.ts';
    expect(violations).toContain(`src/grpo/step.ts: reaches oracle: ${chain}`);
    expect(violations).toContainEqual(expect.stringContaining('src/model/decoder.test.ts: reaches oracle'));
  });

  it.each([
    ['src/model/tokenizer.ts', `import '../env/problems.ts';`, 'model may not import env'],
    ['src/engine/tape.ts', `import './reference/index.ts';`, 'engine may not import engine/reference'],
    ['src/model/native.ts', `import koffi from 'koffi';`, 'only engine/cuda and parallel may import koffi'],
    [
      'src/env/grade.ts',
      `import { spawn } from 'node:child_process';`,
      'only env/sandbox and parallel and study and verify may import node:child_process',
    ],
    [
      'src/cli/doctor.ts',
      `import { spawn } from 'child_process';`,
      'only env/sandbox and parallel and study and verify may import node:child_process',
    ],
    [
      'src/run/pool.ts',
      `await import('node:worker_threads');`,
      'only base and engine/wasm may import node:worker_threads',
    ],
    ['src/view/server.ts', `import { render } from 'preact';`, 'preact is not a runtime dependency'],
    ['src/view/page/app.tsx', `import { build } from 'esbuild';`, 'esbuild is not a runtime dependency'],
    ['src/base/math.ts', `import { mean } from 'simple-statistics';`, 'simple-statistics is not a runtime dependency'],
    ['src/base/self.ts', `import 'gradient-quarantine/stats';`, 'gradient-quarantine is not a runtime dependency'],
    ['src/base/load.ts', `await import(name);`, 'cannot follow name'],
    ['src/lab/parts.ts', `await import(pathToFileURL(path).href);`, 'cannot follow pathToFileURL(path).href'],
    ['src/lab/plugins.ts', 'new URL(`./$' + '{name}.ts`, import.meta.url);', 'cannot follow `./$'],
    ['src/lab/plugins.ts', `require(name);`, 'cannot follow require'],
    ['src/base/load.ts', 'new URL(`./$' + '{name}.ts`, import.meta.url);', 'cannot follow `./$'],
    ['src/base/load.ts', `process.getBuiltinModule('child_process');`, 'cannot follow getBuiltinModule'],
    ['src/run/read.ts', `import { existsSync, readFileSync } from 'node:fs';`, 'opens files by readFileSync'],
    ['src/view/files.ts', `import { open as o, rm } from 'fs/promises';`, 'opens files by open'],
    ['src/study/queue/log.ts', `import * as fs from 'node:fs';`, 'opens files by *'],
    ['src/browser/lab.ts', `import { join } from 'node:path';`, 'a browser has no node:path'],
    ['src/base/browser/index.ts', `import { existsSync } from 'fs';`, 'a browser has no node:fs'],
    ['src/base/rng.ts', `import './gone.ts';`, 'which does not exist'],
    ['src/base/rng.ts', `import '../../bench/gemm.ts';`, 'outside src'],
    ['src/base/rng.ts', `import './errors.test.ts';`, 'imports the test'],
    ['src/utils/misc.ts', 'export const misc = 1;', 'not in the table'],
    ['src/index.ts', 'export const all = 1;', 'not in the table'],
  ])('%s: %s', (path, text, complaint) => {
    const others = { 'src/env/problems.ts': '', 'src/engine/reference/index.ts': '', 'src/base/errors.test.ts': '' };
    const { violations } = plant({ ...others, [path]: text });
    expect(violations).toEqual([expect.stringContaining(complaint)]);
  });

  it('fewer files read than given cannot happen quietly: a file that does not parse throws', () => {
    expect(() => plant({ 'src/base/broken.ts': 'export const = 1;' })).toThrow('src/base/broken.ts does not parse');
  });
});

describe('names and sizes', () => {
  const code = files.filter((path) => /\.(?:[cm]?tsx?|[cm]?js|py|cu|css)$/.test(path));

  it('no module has a default export, except configuration files', () => {
    const modules = code.filter((path) => isTypeScript(path) && !path.endsWith('.config.ts'));
    expect(modules.length).toBeGreaterThan(0);
    expect(modules.filter((path) => readExports(path, readText).includes('default'))).toEqual([]);
    const planted = {
      'a.ts': `export * from './b.ts';`,
      'b.ts': 'export default 1;',
      'c.ts': 'const x = 1; export { x as default };',
    };
    for (const path of ['b.ts', 'c.ts']) expect(readExports(path, (at) => planted[at as 'b.ts'])).toEqual(['default']);
  });

  it('no two modules of src export the same name', () => {
    // What a browser has in the place of other files has their names.
    const inPlace = /^src\/(?:base\/browser\/|engine\/(?:wasm|webgpu)\/platform-browser\.ts)/;
    const { names, violations } = checkExportedNames(new Map([...sources].filter(([path]) => !inPlace.test(path))));
    expect(names).toBeGreaterThan(500);
    expect(violations).toEqual([]);
  });

  it.each([
    ['two values', { 'src/a/x.ts': 'export const draw = 1;', 'src/b/y.ts': 'export function draw() {}' }, 1],
    ['a type and a value', { 'src/a/x.ts': 'export interface Draw {}', 'src/a/y.ts': 'export class Draw {}' }, 1],
    [
      'a name given on the way out',
      { 'src/a/x.ts': 'export const d = 1;', 'src/b/y.ts': 'const e = 1; export { e as d };' },
      1,
    ],
    [
      'an index that hands a name on',
      { 'src/a/x.ts': 'export const d = 1;', 'src/a/index.ts': `export * from './x.ts';` },
      0,
    ],
    ['a type and a value of one module', { 'src/a/x.ts': 'export const d = 1; export type d = 1;' }, 0],
    ['names that are kept to themselves', { 'src/a/x.ts': 'const d = 1;', 'src/b/y.ts': 'export const d = 1;' }, 0],
  ])('%s', (_what, planted, count) => {
    expect(checkExportedNames(new Map(Object.entries(planted))).violations).toHaveLength(count);
  });

  it(`no file is longer than ${longestFile} lines`, () => {
    const lengths = code.map((path) => ({ path, lines: readText(path).trimEnd().split('\n').length }));
    expect(lengths.filter(({ lines }) => lines > longestFile)).toEqual([]);
  });
});

describe('text', () => {
  const binary = /\.(?:safetensors|wasm|png|npy|npz|parquet|ttf|gz|bin|tgz)$/;

  it('says nothing about one machine or how the work was organised', () => {
    const texts = files.filter((path) => !binary.test(path));
    expect(texts.flatMap((path) => checkText(path, readText(path)))).toEqual([]);
  });

  it.each([
    `see /${'work'}/shared for the data`,
    `cd /${'root'}/project`,
    `https://registry.${'npmjs'}.org/koffi`,
    `found in an earlier ${'sess'}ion`,
    `done by a ${'sub'}agent`,
    `as ${'issue'} #12 asks`,
  ])('catches "%s"', (line) => {
    expect(checkText('docs/page.md', `first\n${line}\n`)).toEqual([expect.stringMatching(/^docs\/page\.md:2: /)]);
  });

  it('leaves ordinary words and links alone', () => {
    const fine = `npm run check; frameworks/root/x; https://arxiv.org/abs/1; ../work/; the issue is 3 rows; obsessions`;
    expect(checkText('README.md', fine)).toEqual([]);
  });
});

it('no test puts another object in the place of the environment, which files share and the system does not read', () => {
  const replaces = (text: string): boolean => /\bprocess[.]env\s*=[^=]/.test(text);
  expect(files.filter((path) => path.endsWith('.test.ts') && replaces(readText(path)))).toEqual([]);
  expect(replaces(['process', 'env = before'].join('.'))).toBe(true);
});

describe('time limits', () => {
  /** Lines that end a test, or a wait of it, by the clock. What hangs is ended by vitest.config.ts. */
  const limits = (text: string): string[] =>
    text.split('\n').filter((line) => /\bvi[.]waitFor\(|\b[t]imeout: [\d_]+|^\s*[}], [\d_]{4,}[)];$/.test(line));

  it('no test has one of its own: a slow machine fails nothing', () => {
    const tests = files.filter((path) => path.endsWith('.test.ts'));
    expect(tests.flatMap((path) => limits(readText(path)).map((line) => `${path}: ${line.trim()}`))).toEqual([]);
  });

  it('are found in each of their forms', () => {
    const forms = [`await vi.${'waitFor'}(ready);`, `it('x', { ${'time'}out: 5_000 }, run);`, '}, 60_000);'];
    expect(limits(forms.join('\n'))).toEqual(forms);
  });
});

describe('dependencies', () => {
  /** The names in the lines "- `name` …" under the heading "Dependencies". */
  function listedDependencies(page: string): string[] {
    const section = page.split(/^## /m).find((part) => part.startsWith('Dependencies\n')) ?? '';
    return [...section.matchAll(/^- `([^`]+)` /gm)].map(([, name]) => name);
  }

  it('every runtime dependency is listed in ARCHITECTURE.md with its reason', () => {
    const listed = listedDependencies(readText('ARCHITECTURE.md'));
    expect([...dependencies].filter((name) => !listed.includes(name))).toEqual([]);
  });

  it('reads the list and nothing else', () => {
    const page =
      '## Folders\n- `koffi` there\n## Dependencies\nWhy:\n- `commander` parses\n- `@a/b` reads\n## Next\n- `zod` no\n';
    expect(listedDependencies(page)).toEqual(['commander', '@a/b']);
  });
});

it('CITATION.cff has the version of the package', () => {
  expect(readText('CITATION.cff')).toContain(`\nversion: ${JSON.parse(readText('package.json')).version}\n`);
});

it('the workflow calls .ci/run, and the checks that CONTRIBUTING says it calls beside', () => {
  const workflow = readText('.github/workflows/check.yml');
  const [, listed = ''] = /script: \[(.*)\]/.exec(workflow) ?? [];
  const checks = [...listed.matchAll(/"([^"]+)"/g)].map(([, script]) => script);
  expect(workflow).toContain('bash .ci/run');
  expect(checks).toEqual(['check:printed', 'test:browser']);
  const { scripts } = JSON.parse(readText('package.json'));
  for (const check of checks) {
    expect(scripts).toHaveProperty([check]);
    expect(readText('CONTRIBUTING.md')).toMatch(new RegExp(`workflows/check\\.yml.*\`npm run ${check}\``));
  }
});
