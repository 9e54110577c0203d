// Runs a benchmark on the Node that runs this script: `node scripts/bench.mjs train --threads 2`. Emits the TypeScript to
// .build first, so that it also runs on a Node that cannot strip types.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

const [name, ...rest] = process.argv.slice(2);
const names = readdirSync('bench')
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -'.ts'.length));
if (!names.includes(name)) {
  console.error(`bench: expected one of ${names.join(', ')}, found ${name}`);
  process.exit(2);
}
const out = '.build';
mkdirSync(out, { recursive: true });
const tsc = join('node_modules', 'typescript', 'bin', 'tsc');
const emit = spawnSync(
  process.execPath,
  [tsc, '-p', 'tsconfig.json', '--noEmit', 'false', '--outDir', out, '--rootDir', '.'],
  { stdio: 'inherit' },
);
if (emit.status !== 0) process.exit(emit.status ?? 1);
const assets = (source) => !source.endsWith('.ts');
for (const folder of [
  'src/engine/wasm/kernels',
  'src/env/sandbox',
  'src/engine/cuda/kernels',
  'bench/peers',
  'data',
  'models',
  'recipes',
  'test/data',
]) {
  if (existsSync(folder)) cpSync(folder, join(out, folder), { recursive: true, filter: assets });
}
cpSync('package.json', join(out, 'package.json'));
if (!existsSync(join(out, 'node_modules'))) symlinkSync(join('..', 'node_modules'), join(out, 'node_modules'));
const run = spawnSync(process.execPath, [join(out, 'bench', `${name}.js`), ...rest], { stdio: 'inherit' });
process.exit(run.status ?? 1);
