// Runs a benchmark on the Node that runs this script: `node scripts/bench.mjs train --threads 2`. Where that Node cannot strip
// types, the TypeScript is emitted to .build first. `--help` alone lists the benchmarks; after a name it
// prints the header of that file, which says what is measured and which options there are.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

/** The text of the comment that a file begins with. */
function headerOf(name) {
  const [, comment = ''] = /^\/\*\*(.*?)\*\//s.exec(readFileSync(join('bench', `${name}.ts`), 'utf8')) ?? [];
  return comment.replaceAll(/^ \* ?/gm, '').trim();
}

/** Whether a file is a benchmark: its header shows how it is called. Others are parts of benchmarks. */
const isCalled = (name) =>
  new RegExp(`(node bench/${name}\\.ts|npm run bench (-- )?${name})( |$)`, 'm').test(headerOf(name));

const [name, ...rest] = process.argv.slice(2);
const names = readdirSync('bench')
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -'.ts'.length))
  .filter(isCalled);
if (name === '--help') {
  console.log(
    `npm run bench NAME -- OPTIONS; npm run bench NAME -- --help has the options. Names: ${names.join(', ')}`,
  );
  process.exit(0);
}
if (!names.includes(name)) {
  console.error(`bench: expected one of ${names.join(', ')}, found ${name ?? 'nothing'}`);
  process.exit(2);
}
if (rest.includes('--help')) {
  console.log(headerOf(name));
  process.exit(0);
}
if (process.features.typescript) {
  const { status } = spawnSync(process.execPath, [join('bench', `${name}.ts`), ...rest], { stdio: 'inherit' });
  process.exit(status ?? 1);
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
