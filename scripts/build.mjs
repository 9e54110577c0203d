/**
 * Builds dist/: compiles the wasm kernels (build-kernels.mjs; with `--kernels`, only those), emits JavaScript and
 * declarations with tsc, and copies along whatever in src/ is not TypeScript (wasm modules, Python files). dist/ is
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

const isData = (path) => statSync(path).isDirectory() || !(path.endsWith('.ts') || path.includes('__pycache__'));

runNode('scripts/build-kernels.mjs');
if (process.argv.includes('--kernels')) process.exit();
rmSync(join(root, 'dist'), { recursive: true, force: true });
runNode('node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json');
cpSync(join(root, 'src'), join(root, 'dist'), { recursive: true, filter: isData });
chmodSync(join(root, 'dist/cli/gq.js'), 0o755);
