/** Processor seconds, which neighbours on shared cores change less than time. */
import { readdirSync, readFileSync } from 'node:fs';

interface Process {
  readonly id: number;
  readonly parent: number;
  readonly seconds: number;
}

/** Every process there is, with the processor time of itself and of the children it has waited for. */
function listProcesses(): readonly Process[] {
  const names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return names.flatMap((name) => {
    try {
      const text = readFileSync(`/proc/${name}/stat`, 'utf8');
      const fields = text
        .replace(/^.*\) /s, '')
        .split(' ')
        .map(Number);
      return [
        { id: Number(name), parent: fields[1], seconds: (fields[11] + fields[12] + fields[13] + fields[14]) / 100 },
      ];
    } catch (error) {
      // The process ended between the two reads.
      if (error instanceof Error && /ENOENT|ESRCH/.test(error.message)) return [];
      throw error;
    }
  });
}

/** Seconds of all processes below this one but those of `without` and what is below them; 0 where Linux does not count. */
export function childrenSeconds(without: readonly number[] = []): number {
  if (process.platform !== 'linux') return 0;
  const processes = listProcesses().filter(({ id }) => !without.includes(id));
  const below = (id: number): number =>
    processes.filter(({ parent }) => parent === id).reduce((sum, child) => sum + child.seconds + below(child.id), 0);
  return below(process.pid);
}

/** Seconds of this process since an earlier `process.cpuUsage()`. */
export function ownSeconds(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1e6;
}
