/** A mark that a process fetches into a folder of the cache: two would write over each other's files. A dead process holds none. */
import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { UserError } from '../../base/index.ts';

export function claimFolder(folder: string, name: string): Disposable {
  const path = join(folder, 'fetching.lock');
  const own = `${hostname()} ${process.pid}`;
  for (;;) {
    try {
      const file = openSync(path, 'wx');
      writeSync(file, own);
      closeSync(file);
      return { [Symbol.dispose]: () => rmSync(path, { force: true }) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = readFileSync(path, 'utf8');
    if (isAlive(holder)) {
      throw new UserError({
        call: `fetch ${name}`,
        expected: 'no other process that fetches it',
        found: `one on ${holder.replace(' ', ', process ')}`,
        fix: `Wait for it; if it is gone, remove ${path}.`,
      });
    }
    rmSync(path, { force: true });
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
