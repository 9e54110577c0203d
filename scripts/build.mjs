/**
 * Builds dist/: compiles the wasm kernels (build-kernels.mjs; with `--kernels`, only those), emits JavaScript and
 * declarations with tsc, copies along whatever in src/ is not TypeScript (wasm modules, Python files), and bundles the viewer's page. dist/ is
 * removed first, so nothing stale is published.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

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
rmSync(join(root, 'dist'), { recursive: true, force: true });
runNode('node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json');
cpSync(join(root, 'src'), join(root, 'dist'), { recursive: true, filter: isData });
const { buildPage } = await import('../dist/view/build-page.js');
await buildPage(page, join(root, 'dist/view/page'));
chmodSync(join(root, 'dist/cli/gq.js'), 0o755);
