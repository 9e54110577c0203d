#!/usr/bin/env node
/**
 * The `gq` executable: runs the program on this process's arguments and streams. When the reader of its output goes away
 * (`gq train … | head`), the work goes on without it: a run is ended by Ctrl-C, which saves, and by nothing else.
 */
import { runCli } from './program.ts';

let told = false;
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
    if (stream !== process.stdout || told || process.listenerCount('SIGINT') === 0) return;
    told = true;
    process.stderr.write('gq: nobody reads the output any more; the work goes on (Ctrl-C saves and ends it)\n');
  });
}

process.exitCode = await runCli(process.argv.slice(2), process);
