/**
 * A Slurm of one node, in a folder of its own: munged, slurmctld and slurmd with their own key, sockets, ports and state, and accounting
 * where it is asked for. Nothing below /etc or /run is touched. It is started as root, as the daemons ask for. Jobs of the partition
 * `low` are pre-empted by those of `main`. Ending it ends the processes that it started, by their ids.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { accountingLines, accountingPrograms, startAccounting } from './accounting.ts';

const programs = ['munged', 'slurmctld', 'slurmd', 'sbatch', 'squeue', 'scontrol', 'scancel', 'sinfo'];

function absentOf(names: readonly string[]): string[] {
  const path = `${process.env['PATH']}:/usr/sbin:/sbin`;
  return names.filter((name) => !path.split(':').some((folder) => existsSync(join(folder, name))));
}

/** What accounting lacks on this machine, in words; null: nothing. */
export function missingAccounting(): string | null {
  const absent = absentOf(accountingPrograms);
  return absent.length === 0 ? null : `${absent.join(', ')} (Debian: apt-get install slurmdbd mariadb-server)`;
}

/** What is missing on this machine, in words; an empty list: nothing. */
export function missingParts(): string[] {
  const absent = absentOf(programs);
  return [
    ...(process.platform === 'linux' ? [] : ['Linux']),
    ...(absent.length === 0 ? [] : [`${absent.join(', ')} (Debian: apt-get install slurm-wlm munge)`]),
    ...(process.getuid?.() === 0 ? [] : ['root: slurmd starts jobs as their users']),
  ];
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  await new Promise((closed) => server.close(closed));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

/** Requeued jobs wait until the credential of their last attempt has expired: a few seconds are enough here. */
function configText(folder: string, ports: readonly number[], cores: number, hasAccounting: boolean): string {
  return `ClusterName=lab
SlurmctldHost=localhost
SlurmctldPort=${ports[0]}
SlurmdPort=${ports[1]}
SlurmUser=root
AuthInfo=socket=${folder}/munge.sock,cred_expire=5
StateSaveLocation=${folder}/state
SlurmdSpoolDir=${folder}/spool
SlurmctldPidFile=${folder}/slurmctld.pid
SlurmdPidFile=${folder}/slurmd.pid
ProctrackType=proctrack/pgid
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=1,sched_interval=5
ReturnToService=2
SlurmdTimeout=10
MinJobAge=${hasAccounting ? 5 : 300}
KillWait=20
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
${hasAccounting ? accountingLines(folder, ports[2]) : ''}NodeName=localhost CPUs=${cores} State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES State=UP PriorityTier=10
PartitionName=low Nodes=ALL State=UP PriorityTier=1
`;
}

export class SlurmDaemons implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'gq-slurm-'));
  readonly #children: ChildProcess[] = [];
  #node: ChildProcess | null = null;

  /** Environment of a process that shall talk to this Slurm. */
  get environment(): NodeJS.ProcessEnv {
    return { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin`, SLURM_CONF: join(this.folder, 'slurm.conf') };
  }

  static async start({ cores = 2, hasAccounting = false } = {}): Promise<SlurmDaemons> {
    const slurm = new SlurmDaemons();
    try {
      await slurm.#start(cores, hasAccounting);
      return slurm;
    } catch (error) {
      await slurm[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #start(cores: number, hasAccounting: boolean): Promise<void> {
    const { folder } = this;
    chmodSync(folder, 0o755);
    for (const name of ['state', 'spool']) mkdirSync(join(folder, name));
    writeFileSync(join(folder, 'munge.key'), randomBytes(1024), { mode: 0o600 });
    const ports = [await freePort(), await freePort(), await freePort(), await freePort()];
    writeFileSync(join(folder, 'slurm.conf'), configText(folder, ports, cores, hasAccounting));
    const file = (name: string): string => join(folder, name);
    this.#spawn('munged', [
      '--foreground',
      `--key-file=${file('munge.key')}`,
      `--socket=${file('munge.sock')}`,
      `--pid-file=${file('munged.pid')}`,
      `--log-file=${file('munged.log')}`,
      `--seed-file=${file('munged.seed')}`,
    ]);
    await this.#until('the socket of munged', () => existsSync(file('munge.sock')));
    if (hasAccounting) {
      const { environment } = this;
      await startAccounting({
        ...{ folder, environment, daemonPort: ports[2], databasePort: ports[3] },
        spawn: (program, words) => this.#spawn(program, words),
        until: (what, isSo) => this.#until(what, isSo),
      });
    }
    this.#spawn('slurmctld', ['-D', '-f', file('slurm.conf')]);
    await this.restartNode();
  }

  #spawn(program: string, words: readonly string[]): ChildProcess {
    const log = openSync(join(this.folder, `${program}.out`), 'a');
    const child = spawn(program, words, { env: this.environment, stdio: ['ignore', log, log], detached: true });
    this.#children.push(child);
    return child;
  }

  /** Starts the daemon of the node, and waits until the node is ready for jobs. */
  async restartNode(): Promise<void> {
    this.#node = this.#spawn('slurmd', ['-D', '-f', join(this.folder, 'slurm.conf'), '-N', 'localhost']);
    const isUp = (): boolean => /^(idle|mix|alloc)/.test(this.run('sinfo', '-h', '-p', 'main', '-o', '%t'));
    await this.#until('a node that is up', isUp);
  }

  /** Kills the node as a cut of its power would, with all its jobs, or its daemon alone. */
  killNode(what: 'all' | 'daemon' = 'all'): void {
    this.#node?.kill('SIGKILL');
    if (what === 'all') for (const pid of this.#jobProcesses()) process.kill(pid, 'SIGKILL');
  }

  /** Processes of jobs of this Slurm, and those that watch over them. */
  #jobProcesses(): number[] {
    const own = `SLURM_CONF=${join(this.folder, 'slurm.conf')}`;
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number).filter((pid) => {
      try {
        const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
        const isWatcher = readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('slurmstepd');
        return variables.includes(own) && (isWatcher || variables.some((each) => each.startsWith('SLURM_JOB_ID=')));
      } catch {
        return false;
      }
    }); // biome-ignore format: one chain
  }

  async #until(what: string, isSo: () => boolean): Promise<void> {
    for (let tries = 0; tries < 300; tries++) {
      if (isSo()) return;
      await wait(100);
    }
    throw new Error(`Slurm did not come up: waited for ${what}; its logs are in ${this.folder}`);
  }

  /** What a program of Slurm prints; an error of it is empty text. */
  run(program: string, ...words: readonly string[]): string {
    return spawnSync(program, words, { env: this.environment, encoding: 'utf8' }).stdout ?? '';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.run('scancel', '--state=PENDING');
    this.run('scancel', '--state=RUNNING');
    for (let tries = 0; tries < 60 && this.run('squeue', '-h').trim() !== ''; tries++) await wait(500);
    // The processes that watch over jobs end a little later than the jobs.
    await wait(2000);
    for (const child of this.#children.reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const closed = new Promise((end) => child.once('exit', end));
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await closed;
      clearTimeout(late);
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
