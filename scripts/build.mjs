/**
 * Builds dist/: compiles the wasm kernels (build-kernels.mjs; with `--kernels`, only those), emits JavaScript and
 * declarations with tsc, copies along whatever in src/ is not TypeScript (wasm modules, Python files), and bundles the viewer's page and the highlighter of reports. All of
 * it is made in a folder beside, which becomes dist/ when it is whole: a build that fails leaves no half of one, and nothing stale is published.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

function runNode(...args) {
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

const page = join(root, 'src/view/page');
/** The page is bundled, not copied. */
const isData = (path) =>
  path !== page && (statSync(path).isDirectory() || !(path.endsWith('.ts') || path.includes('__pycache__')));

runNode('scripts/build-kernels.mjs');
if (process.argv.includes('--kernels')) process.exit();
const [built, begun] = [join(root, 'dist'), join(root, 'dist-begun')];
rmSync(begun, { recursive: true, force: true });
runNode('node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json');
cpSync(join(root, 'src'), begun, { recursive: true, filter: isData });
// What it imports is a development dependency: the file has it inside.
const code = join(begun, 'report/code.js');
await build({
  entryPoints: [code],
  outfile: code,
  allowOverwrite: true,
  bundle: true,
  format: 'esm',
  minify: true,
  sourcemap: true,
});
const { buildPage } = await import('../dist-begun/view/build-page.js');
await buildPage(page, join(begun, 'view/page'));
chmodSync(join(begun, 'cli/gq.js'), 0o755);
rmSync(built, { recursive: true, force: true });
renameSync(begun, built);
