/** Starts server-process.ts, asks it things by lines of text, and ends it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface ServerProcess {
  readonly url: string;
  ask(line: string): Promise<number>;
  /** Bytes in use, and bytes that the system has given, in MiB. */
  memory(): Promise<{ readonly used: number; readonly resident: number }>;
  /** Ends it and returns its exit code. */
  end(): Promise<number>;
}

/** `threads`: of the device; 0: as many as it takes by itself. */
export async function startServer(threads: number): Promise<ServerProcess> {
  const path = fileURLToPath(new URL('./server-process.ts', import.meta.url));
  const child = spawn(process.execPath, ['--expose-gc', path, `${threads}`], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  const line = async (): Promise<unknown> => {
    const [text] = (await once(lines, 'line')) as [string];
    return JSON.parse(text);
  };
  const ask = async (what: string): Promise<number> => {
    const answer = line();
    child.stdin.write(`${what}\n`);
    return (await answer) as number;
  };
  return {
    url: (await line()) as string,
    ask,
    async memory() {
      const used = (await ask('memory')) / 2 ** 20;
      const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
      return { used, resident: Number(kilobytes) / 1024 };
    },
    async end() {
      child.stdin.end();
      const [code] = (await once(child, 'exit')) as [number];
      return code;
    },
  };
}
