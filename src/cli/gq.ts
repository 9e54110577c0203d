#!/usr/bin/env node
/**
 * The `gq` executable: runs the program on this process's arguments and streams. When the reader of its output goes away
 * (`gq train … | head`), the work goes on without it: a run is ended by Ctrl-C, which saves, and by nothing else.
 */
import { existsSync } from 'node:fs';
import nodeModule from 'node:module';
import { delimiter, join } from 'node:path';
import { cacheFolder } from '../base/node/cache-folder.ts';

// What is compiled is kept between calls, from Node 22.8 on, so that a command starts faster: before anything else is loaded.
const { enableCompileCache } = nodeModule as { readonly enableCompileCache?: (folder: string) => unknown };
enableCompileCache?.(process.env['NODE_COMPILE_CACHE'] ?? cacheFolder('node'));
const { exitCodes } = await import('../base/index.ts');
const { explainUncaught, isUnderNohup, stopSignals } = await import('../base/node/index.ts');
const { reportError, runCli } = await import('./program.ts');

const lingerMs = 250;

// A project's own folder of programs is on the PATH only while npm runs something.
const shellFolders = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((folder) => !/node_modules.\.bin$/.test(folder));
process.env['GQ_NAME'] ??= shellFolders.some((folder) => existsSync(join(folder, 'gq'))) ? 'gq' : 'npx gq';

const savesOnInterrupt = (): boolean => process.listenerCount('SIGINT') > 1;

if (isUnderNohup()) process.on('SIGHUP', () => undefined);
for (const signal of stopSignals()) {
  process.on(signal, () => {
    if (savesOnInterrupt()) return;
    process.stderr.write('\ninterrupted: what was finished is kept; call it again to go on\n');
    process.exit(exitCodes.interrupted);
  });
}

let told = false;
let isCut = false;
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // A log on a full disk must not end a run that is saved on another one; the exit code says that the output is not whole.
    const isFull = (error.code === 'ENOSPC' || error.code === 'EDQUOT') && savesOnInterrupt();
    if (isFull && stream === process.stdout) isCut = true;
    if (isFull) return;
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
    if (stream !== process.stdout || told || !savesOnInterrupt()) return;
    told = true;
    process.stderr.write('gq: nobody reads the output any more; the work goes on (Ctrl-C saves and ends it)\n');
  });
}

for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(event, async (error: unknown) => process.exit(await reportError(explainUncaught(error), process)));
}

let isDone = false;
process.on('exit', (code) => {
  if (isDone || code !== 0) return;
  process.stderr.write('gq: ended before its work was done: a plugin ended the process. What was saved is kept.\n');
  process.exitCode = exitCodes.failed;
});

const exitCode = await runCli(process.argv.slice(2), process);
process.exitCode = isCut && exitCode === exitCodes.done ? exitCodes.failed : exitCode;
isDone = true;
for (const stream of [process.stdout, process.stderr]) {
  if (stream.writable) await new Promise<void>((resolve) => stream.write('', () => resolve()));
}
// What a command or a plugin left running must not hold whoever waits for its end, such as the job of a cluster.
setTimeout(() => process.exit(), lingerMs).unref();
