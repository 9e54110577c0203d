/**
 * Builds the wasm kernels: three variants, each for shared and for unshared memory, from src/engine/wasm/kernels/*.ts to
 * *.wasm beside them. Files newer than every source are kept.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import asc from 'assemblyscript/asc';
import { tileSource, variants } from './tile.mjs';

const kernels = new URL('../src/engine/wasm/kernels/', import.meta.url);
const builders = [import.meta.url, new URL('./tile.mjs', import.meta.url).href];

function newestSource() {
  const sources = readdirSync(kernels).filter((name) => name.endsWith('.ts'));
  const files = [...sources.map((name) => new URL(name, kernels)), ...builders.map((url) => new URL(url))];
  return Math.max(...files.map((file) => statSync(file).mtimeMs));
}

function isCurrent(target) {
  const found = statSync(target, { throwIfNoEntry: false });
  return found !== undefined && found.mtimeMs > newestSource();
}

async function compileKernels(name, variant, shared) {
  const target = new URL(`${name}${shared ? '-shared' : ''}.wasm`, kernels);
  if (isCurrent(target)) return;
  const features = [
    '--enable',
    'simd',
    '--enable',
    'threads',
    ...(variant.relaxed ? ['--enable', 'relaxed-simd'] : []),
  ];
  const memory = ['--importMemory', '--initialMemory', '1', '--maximumMemory', '65536', '--noExportMemory'];
  const output = new Map();
  const { error, stderr } = await asc.main(
    [
      'index.ts',
      '-o',
      'out.wasm',
      '--runtime',
      'stub',
      '-O3',
      '--noAssert',
      '--disableWarning',
      '201',
      ...features,
      ...memory,
      ...(shared ? ['--sharedMemory'] : []),
    ],
    {
      readFile: (file) => {
        if (file === 'tile.ts') return tileSource(variant, shared);
        const path = new URL(file, kernels);
        return statSync(path, { throwIfNoEntry: false })?.isFile() ? readFileSync(path, 'utf8') : null;
      },
      writeFile: (file, contents) => output.set(file, contents),
      listFiles: () => [],
    },
  );
  if (error) throw new Error(`${fileURLToPath(target)}: ${error.message}\n${stderr.toString()}`);
  const bytes = output.get('out.wasm');
  writeFileSync(target, bytes);
  console.log(`${fileURLToPath(target).split('/').pop()} ${bytes.length} bytes`);
}

async function buildKernels() {
  for (const [name, variant] of Object.entries(variants)) {
    for (const shared of [true, false]) await compileKernels(name, variant, shared);
  }
}

await buildKernels();
