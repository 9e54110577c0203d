/**
 * Tests the package as a user gets it: packs it, installs the tarball into an empty folder, imports every entry of
 * `exports` and runs the command, under this Node and under each Node named as an argument. Prints one line a check and
 * a closing count; exits 1 when any failed. Needs dist/ (npm run build).
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';

const root = fileURLToPath(new URL('../..', import.meta.url));
const manifest: { name: string; version: string; exports: Record<string, unknown> } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
);
const counts = { passed: 0, failed: 0 };

function check(name: string, body: () => void): void {
  try {
    body();
    counts.passed += 1;
    console.log(`ok      ${name}`);
  } catch (error) {
    counts.failed += 1;
    console.log(`failed  ${name}\n${error instanceof Error ? error.message : String(error)}`);
  }
}

function run(folder: string, program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

function expectEqual(found: unknown, expected: unknown): void {
  if (found !== expected) throw new Error(`expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`);
}

function checkEntries(folder: string, node: string, label: string): void {
  for (const key of Object.keys(manifest.exports)) {
    const specifier = manifest.name + key.slice(1);
    const attributes = key.endsWith('.json') ? `, { with: { type: 'json' } }` : '';
    const script = `const entry = await import('${specifier}'${attributes}); process.stdout.write(String(Object.keys(entry).length));`;
    check(`${label}: import ${specifier}`, () => {
      const names = Number(run(folder, node, '--input-type=module', '--eval', script));
      if (!(names > 0)) throw new Error('the entry exports nothing');
    });
  }
}

function checkCommand(folder: string, node: string, label: string): void {
  const gq = join(folder, 'node_modules', '.bin', 'gq');
  check(`${label}: gq --version`, () => expectEqual(run(folder, node, gq, '--version').trim(), manifest.version));
  check(`${label}: gq doctor --json`, () => {
    const { healthy, findings } = JSON.parse(run(folder, node, gq, 'doctor', '--json'));
    expectEqual(healthy, true);
    const named = findings.find(({ name }: { name: string }) => name === 'node');
    expectEqual(named.values.version, run(folder, node, '--version').trim().slice(1));
  });
}

const workspace = mkdtempSync(join(tmpdir(), 'gq-package-'));
try {
  const consumer = join(workspace, 'consumer');
  mkdirSync(consumer);
  writeFileSync(join(consumer, 'package.json'), '{ "name": "consumer", "private": true, "type": "module" }\n');
  const [{ filename, files }] = JSON.parse(run(root, 'npm', 'pack', '--json', '--pack-destination', workspace));
  check('tarball holds no tests and no TypeScript sources', () => {
    const paths: string[] = files.map(({ path }: { path: string }) => path);
    expectEqual(paths.filter((path) => /\.test\.|(?<!\.d)\.ts$/.test(path)).join(' '), '');
  });
  const tarball = join(workspace, filename);
  const { messages, pkg } = await publint({
    level: 'warning',
    pack: { tarball: new Uint8Array(readFileSync(tarball)).buffer },
  });
  check('publint', () => expectEqual(messages.map((message) => formatMessage(message, pkg)).join('\n'), ''));
  run(consumer, 'npm', 'install', tarball);
  for (const node of [process.execPath, ...process.argv.slice(2)]) {
    const label = `node ${run(consumer, node, '--version').trim()}`;
    checkEntries(consumer, node, label);
    checkCommand(consumer, node, label);
  }
} finally {
  rmSync(workspace, { recursive: true });
}
console.log(`package: ${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;
