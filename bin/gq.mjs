#!/usr/bin/env node
/**
 * The `gq` command: runs dist/ where it has been built, as in the installed package, and else the sources of a clone. Node runs
 * TypeScript from 22.18 on; under an older one the sources are run by the Node that `npm ci` brings.
 */
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = new URL('../', pathToFileURL(realpathSync(fileURLToPath(import.meta.url))));
const built = new URL('dist/cli/gq.js', root);
const source = new URL('src/cli/gq.ts', root);

if (existsSync(built)) await load(built);
else if (!existsSync(source)) fail('no dist/', 'Install the package again.');
else if (!existsSync(new URL('src/engine/wasm/kernels/plain.wasm', root)))
  fail(
    'kernels that are not built yet',
    `In the clone: cd ${fileURLToPath(root).slice(0, -1)} && npm ci && npm run build`,
  );
else if (process.features.typescript) await load(source);
else runByOwnNode();

async function load(program) {
  try {
    await import(program.href);
  } catch (error) {
    if (error.code !== 'EMFILE') throw error;
    fail('room for too few open files', 'Raise the limit in the shell that starts this: ulimit -n 1024');
    process.exit();
  }
}

function runByOwnNode() {
  const node = fileURLToPath(new URL('node_modules/node/bin/node', root));
  if (!existsSync(node)) return fail('a Node that cannot run TypeScript', 'Run: npm ci, or npm run build.');
  const child = spawn(node, [fileURLToPath(source), ...process.argv.slice(2)], { stdio: 'inherit' });
  // The terminal's Ctrl-C reaches the child by itself; a signal sent to this process is passed on.
  process.on('SIGINT', () => undefined);
  for (const signal of ['SIGTERM', 'SIGUSR1', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('close', (code) => {
    process.exitCode = code ?? 1;
  });
}

function fail(found, fix) {
  process.stderr.write(`gq: expected a program that can be run, found ${found}. ${fix}\n`);
  process.exitCode = 2;
}
