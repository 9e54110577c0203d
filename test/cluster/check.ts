/**
 * `npm run check:cluster`: small experiments on a Slurm of one node, which this program starts and ends. Jobs are requeued, reach a time
 * limit, see their node drained, are cancelled, pre-empted and lose their node; jobs of the queue wait for it; ranks are started by srun.
 * What is left must be, byte for byte, what a local run leaves. Exits 1 if anything is wrong, and 2 with a list of what is missing
 * where no Slurm can be started. Names of parts as arguments (disturbed, lost, queued, ranks) do these alone.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { missingMpi } from '../parallel/mpirun.ts';
import { missingAccounting, missingParts, SlurmDaemons } from './daemons.ts';
import { checkDisturbed } from './disturbed.ts';
import { checkLost } from './lost.ts';
import { checkQueued } from './queued.ts';
import { checkRanks } from './ranks.ts';
import { counted, failures, say } from './tools.ts';

interface Part {
  readonly name: string;
  readonly hasAccounting: boolean;
  /** What this part lacks here, in words; null: nothing. */
  readonly missing: () => string | null;
  readonly check: (home: string, slurm: SlurmDaemons) => Promise<void>;
}

const parts: readonly Part[] = [
  { name: 'disturbed', hasAccounting: false, missing: () => null, check: checkDisturbed },
  { name: 'lost', hasAccounting: true, missing: missingAccounting, check: checkLost },
  { name: 'queued', hasAccounting: false, missing: () => null, check: checkQueued },
  { name: 'ranks', hasAccounting: false, missing: missingMpi, check: checkRanks },
];

async function checkPart({ name, hasAccounting, check }: Part, home: string): Promise<void> {
  const began = performance.now();
  await using slurm = await SlurmDaemons.start({ hasAccounting });
  const end = (): void => void slurm[Symbol.asyncDispose]().finally(() => process.exit(75));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);
  say(`-- ${name}`);
  try {
    await check(home, slurm);
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, end);
    say(`-- ${name}: ${((performance.now() - began) / 1000).toFixed(0)} s`);
  }
}

const asked = process.argv.slice(2);
const unknown = asked.find((name) => !parts.some((part) => part.name === name));
const absent = missingParts();
if (unknown !== undefined || absent.length > 0) {
  say(unknown === undefined ? `no Slurm can be started here; missing: ${absent.join('; ')}` : `no part ${unknown}`);
  process.exitCode = 2;
} else {
  const home = mkdtempSync(join(tmpdir(), 'gq-cluster-'));
  try {
    for (const part of parts) {
      if (asked.length > 0 && !asked.includes(part.name)) continue;
      const missing = part.missing();
      if (missing === null) await checkPart(part, home);
      else say(`-- ${part.name} is not tried; missing: ${missing}`);
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
  say(failures.length === 0 ? `all as it must be: ${counted()}` : `${failures.length} wrong: ${failures.join('; ')}`);
  process.exitCode = failures.length === 0 ? 0 : 1;
}
