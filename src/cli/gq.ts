#!/usr/bin/env node
/** The `gq` executable: runs the program on this process's arguments and streams. */
import { runCli } from './program.ts';

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader of the pipe is gone (`gq … | head`), so there is nothing left to do.
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

process.exitCode = await runCli(process.argv.slice(2), process);
