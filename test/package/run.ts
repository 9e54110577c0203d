/**
 * Tests the package as a user gets it: packs it, installs the tarball into an empty folder, imports every entry of
 * `exports`, runs the command and the examples, under this Node and under each Node named as an argument; then what somebody does in an ESM and in a
 * commonjs project (projects.ts). Prints one line per check and
 * a closing count; exits 1 when a check failed. Packing builds dist/ anew, as for anybody who packs a clone.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as modules from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { type Check, checkBundles, checkInit, checkLinked, checkTypes, makeProject } from './projects.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const manifest: { name: string; version: string; exports: Record<string, unknown> } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
);
const counts = { passed: 0, failed: 0 };

const check: Check = async (name, body) => {
  try {
    await body();
    counts.passed += 1;
    console.log(`ok      ${name}`);
  } catch (error) {
    counts.failed += 1;
    const { message, stdout = '', stderr = '' } = error as Error & { stdout?: string; stderr?: string };
    console.log(`failed  ${name}\n${message}\n${stdout}${stderr}`);
  }
};

function run(folder: string, program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

function expectEqual(found: unknown, expected: unknown): void {
  if (found !== expected) throw new Error(`expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`);
}

const entries = Object.keys(manifest.exports).filter((key) => !key.endsWith('.json')).map((key) => manifest.name + key.slice(1)); // biome-ignore format: one line

async function checkEntries(folder: string, node: string, label: string): Promise<void> {
  for (const key of Object.keys(manifest.exports)) {
    const specifier = manifest.name + key.slice(1);
    const attributes = key.endsWith('.json') ? `, { with: { type: 'json' } }` : '';
    const script = `const entry = await import('${specifier}'${attributes}); process.stdout.write(String(Object.keys(entry).length));`;
    await check(`${label}: import ${specifier}`, () => {
      const names = Number(run(folder, node, '--input-type=module', '--eval', script));
      if (!(names > 0)) throw new Error('the entry exports nothing');
    });
  }
}

async function checkCommand(folder: string, node: string, label: string): Promise<void> {
  const gq = join(folder, 'node_modules', '.bin', 'gq');
  await check(`${label}: gq --version`, () => expectEqual(run(folder, node, gq, '--version').trim(), manifest.version));
  await check(`${label}: gq doctor --json`, () => {
    const { healthy, findings } = JSON.parse(run(folder, node, gq, 'doctor', '--json'));
    expectEqual(healthy, true);
    const named = findings.find(({ name }: { name: string }) => name === 'node');
    expectEqual(named.values.version, run(folder, node, '--version').trim().slice(1));
  });
}

/** Recipes by name, from a folder that has none. */
async function checkRecipes(folder: string, node: string, label: string): Promise<void> {
  const gq = join(folder, 'node_modules', '.bin', 'gq');
  await check(`${label}: gq recipes`, () => {
    const out = run(folder, node, gq, 'recipes');
    if (!out.includes('micro-activation')) throw new Error(out);
  });
  await check(`${label}: gq train micro-activation`, () => {
    const to = `run-${label.replaceAll(' ', '-')}`;
    const out = run(folder, node, gq, 'train', 'micro-activation', '--set', 'updates=2', '--out', to);
    if (!out.includes('finished: 2 updates')) throw new Error(out);
  });
  await check(`${label}: gq results --html, with the highlighter inside the package`, () => {
    const to = `run-${label.replaceAll(' ', '-')}`;
    run(folder, node, gq, 'results', to, '--html');
    if (!readFileSync(join(folder, to, 'report.html'), 'utf8').includes('<div class="chat">'))
      throw new Error('no text');
  });
}

/** Every relative link of every page in the package leads to a file of the package. */
async function checkLinks(folder: string): Promise<void> {
  const home = join(folder, 'node_modules', manifest.name);
  const pages = readdirSync(home, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.md') && !path.startsWith('node_modules'),
  );
  await check(`links of ${pages.length} pages in the package`, () => {
    const broken = pages.flatMap((page) => {
      const text = readFileSync(join(home, page), 'utf8').replace(/^(`{3,})[\s\S]*?^\1/gm, '');
      const targets = [...text.matchAll(/\]\((?![a-z]+:|#)([^)#\s]+)[^)]*\)/g)].map(([, target]) => target);
      return targets
        .filter((target) => !existsSync(join(home, page, '..', target)))
        .map((target) => `${page}: ${target}`);
    });
    expectEqual(broken.join('\n'), '');
  });
}

/** Bundles a folder without runs: that needs the page, and nothing else. */
async function checkViewer(folder: string, node: string, label: string): Promise<void> {
  const gq = join(folder, 'node_modules', '.bin', 'gq');
  const [runs, to] = [join(folder, 'no-runs'), join(folder, `page-${label.replaceAll(' ', '-')}`)];
  mkdirSync(runs, { recursive: true });
  await check(`${label}: gq view --to`, () => {
    const { files, leftOut } = JSON.parse(run(folder, node, gq, 'view', runs, '--to', to, '--json'));
    expectEqual(JSON.stringify([files, leftOut]), '[7,[]]');
  });
}

/** A current Node has this function, but the types are those of the oldest supported Node, which lacks it. */
const { stripTypeScriptTypes } = modules as typeof modules & { stripTypeScriptTypes(code: string): string };

/** Runs the examples as a user does, copied into an empty project. Types are stripped, since the oldest Node cannot run TypeScript. */
async function checkExamples(folder: string, node: string, label: string): Promise<void> {
  const gq = join(folder, 'node_modules', '.bin', 'gq');
  const at = join(folder, `examples-${label.replaceAll(' ', '-')}`);
  cpSync(join(folder, 'node_modules', manifest.name, 'examples'), at, { recursive: true });
  const names = readdirSync(at);
  for (const name of names.filter((file) => file.endsWith('.toml') && !file.endsWith('-study.toml'))) {
    await check(`${label}: gq train examples/${name}`, () => {
      const out = run(at, node, gq, 'train', name, '--set', 'updates=2', '--out', `run-${name}`);
      if (!out.includes('finished: 2 updates')) throw new Error(out);
    });
  }
  const programs = {
    'train-an-arm.ts': ['arm', '2', '8'],
    'read-a-run.ts': ['arm'],
    'own-sink.ts': ['csv', '2'],
    'own-judge.ts': ['judged', '2', '8'],
    'the-method.ts': ['2'],
  };
  for (const [name, args] of Object.entries(programs)) {
    await check(`${label}: examples/${name}`, () => {
      const program = join(at, name.replace(/\.ts$/, '.mjs'));
      writeFileSync(program, stripTypeScriptTypes(readFileSync(join(at, name), 'utf8')));
      const out = run(at, node, program, ...args);
      if (!/hacks|csv|expected ones|update 2: .* adapter/.test(out)) throw new Error(out);
    });
  }
}

const workspace = mkdtempSync(join(tmpdir(), 'gq-package-'));
try {
  const consumer = join(workspace, 'consumer');
  mkdirSync(consumer);
  writeFileSync(join(consumer, 'package.json'), '{ "name": "consumer", "private": true, "type": "module" }\n');
  // `prepack` builds: what it prints comes before the answer.
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  const packed = run(root, 'npm', 'pack', '--json', '--pack-destination', workspace);
  const [{ filename, files }] = JSON.parse(packed.slice(packed.search(/^\[$/m)));
  await check('tarball holds no tests and no TypeScript sources', () => {
    const paths: string[] = files.map(({ path }: { path: string }) => path);
    const sources = paths.filter((path) => /\.test\.|(?<!\.d)\.ts$/.test(path) && !path.startsWith('examples/'));
    expectEqual(sources.join(' '), '');
  });
  await check('tarball holds the pages of viewer and playground, built', () => {
    const paths: string[] = files.map(({ path }: { path: string }) => path);
    const pages = [
      'app.css',
      'app.js',
      ...['grade.js', 'isolate.js', 'lane.js', 'page.css', 'page.js', 'python.js'].map((file) => `playground/${file}`),
    ];
    expectEqual(
      paths.filter((path) => path.startsWith('dist/view/page/')).join(' '),
      pages.map((file) => `dist/view/page/${file}`).join(' '),
    );
  });
  const tarball = join(workspace, filename);
  const { messages, pkg } = await publint({
    level: 'warning',
    pack: { tarball: new Uint8Array(readFileSync(tarball)).buffer },
  });
  await check('publint', () => expectEqual(messages.map((message) => formatMessage(message, pkg)).join('\n'), ''));
  run(consumer, 'npm', 'install', tarball);
  await checkLinks(consumer);
  for (const node of [process.execPath, ...process.argv.slice(2)]) {
    const label = `node ${run(consumer, node, '--version').trim()}`;
    await checkEntries(consumer, node, label);
    await checkCommand(consumer, node, label);
    await checkRecipes(consumer, node, label);
    await checkViewer(consumer, node, label);
    await checkExamples(consumer, node, label);
  }
  const nodes = [process.execPath, ...process.argv.slice(2)];
  for (const [i, type] of ['module', 'commonjs'].entries()) {
    const node = nodes[i] ?? nodes[0];
    const label = `node ${run(workspace, node, '--version').trim()}`;
    const project = makeProject(join(workspace, `${type} project`), type, tarball, node, label);
    await checkTypes(project, entries, check);
    await checkInit(project, check);
    await checkBundles(project, check);
  }
  // As README has it, where the package is in no registry: by the path of a clone.
  const linked = makeProject(
    join(workspace, 'project beside a clone'),
    'module',
    root,
    nodes[0],
    'by the path of a clone',
  );
  await checkLinked(linked, root, check);
} finally {
  rmSync(workspace, { recursive: true });
}
console.log(`package: ${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;
