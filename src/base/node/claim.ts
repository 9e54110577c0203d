/** A mark in a folder that a process of this machine is making something there, which others can wait for. A dead process holds none. */
import { rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { readRegularText, writeNew } from './regular-file.ts';

/** The claim, or who holds it: the machine's name and the process, with a space between. */
export type ClaimAttempt = { readonly held: Disposable } | { readonly holder: string };

/** Two processes that take over from a dead one at the same moment may both hold it. */
export function tryClaim(path: string): ClaimAttempt {
  for (;;) {
    try {
      writeNew(path, `${hostname()} ${process.pid}`);
      return { held: { [Symbol.dispose]: () => rmSync(path, { force: true }) } };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = readHolder(path);
    if (holder !== null && isAlive(holder)) return { holder };
    rmSync(path, { force: true });
  }
}

function readHolder(path: string): string | null {
  try {
    return readRegularText(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** A process of another machine that shares the folder counts as alive: nobody here can tell. */
function isAlive(holder: string): boolean {
  const [host, pid] = holder.split(' ');
  if (host !== hostname()) return holder !== '';
  try {
    return process.kill(Number(pid), 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
