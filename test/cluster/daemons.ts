/**
 * A Slurm of one node, in a folder of its own: munged, slurmctld and slurmd with their own key, sockets, ports and state. Nothing below
 * /etc or /run is touched. It is started as root, as the daemons ask for. Ending it ends the processes that it started, by their ids.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

const programs = ['munged', 'slurmctld', 'slurmd', 'sbatch', 'squeue', 'scontrol', 'scancel', 'sinfo'];

/** What is missing on this machine, in words; an empty list: nothing. */
export function missingParts(): string[] {
  const path = `${process.env['PATH']}:/usr/sbin:/sbin`;
  const absent = programs.filter((name) => !path.split(':').some((folder) => existsSync(join(folder, name))));
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

/** Requeued jobs wait until the credential of their last attempt has expired: one second is enough here. */
function configText(folder: string, ports: readonly number[], cores: number): string {
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
KillWait=20
NodeName=localhost CPUs=${cores} State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES State=UP
`;
}

export class SlurmDaemons implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'gq-slurm-'));
  readonly #children: ChildProcess[] = [];

  /** Environment of a process that shall talk to this Slurm. */
  get environment(): NodeJS.ProcessEnv {
    return { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin`, SLURM_CONF: join(this.folder, 'slurm.conf') };
  }

  static async start(cores = 2): Promise<SlurmDaemons> {
    const slurm = new SlurmDaemons();
    try {
      await slurm.#start(cores);
      return slurm;
    } catch (error) {
      await slurm[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #start(cores: number): Promise<void> {
    const { folder } = this;
    chmodSync(folder, 0o755);
    for (const name of ['state', 'spool']) mkdirSync(join(folder, name));
    writeFileSync(join(folder, 'munge.key'), randomBytes(1024), { mode: 0o600 });
    writeFileSync(join(folder, 'slurm.conf'), configText(folder, [await freePort(), await freePort()], cores));
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
    this.#spawn('slurmctld', ['-D', '-f', file('slurm.conf')]);
    this.#spawn('slurmd', ['-D', '-f', file('slurm.conf'), '-N', 'localhost']);
    await this.#until('an idle node', () => this.run('sinfo', '-h', '-o', '%t').trim() === 'idle');
  }

  #spawn(program: string, words: readonly string[]): void {
    const log = openSync(join(this.folder, `${program}.out`), 'a');
    this.#children.push(spawn(program, words, { env: this.environment, stdio: ['ignore', log, log], detached: true }));
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
      if (child.exitCode !== null) continue;
      const closed = new Promise((end) => child.once('exit', end));
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await closed;
      clearTimeout(late);
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
