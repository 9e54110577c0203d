/** Accounting for a Slurm of one node: a MariaDB and a slurmdbd in the folder of that Slurm, so that sacct works. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const accountingPrograms = ['slurmdbd', 'sacct', 'sacctmgr', 'mariadbd', 'mariadb', 'mariadb-install-db'];

export interface Accounting {
  readonly folder: string;
  readonly databasePort: number;
  readonly daemonPort: number;
  readonly spawn: (program: string, words: readonly string[]) => void;
  readonly until: (what: string, isSo: () => boolean) => Promise<void>;
  readonly environment: NodeJS.ProcessEnv;
}

const succeeds = (program: string, words: readonly string[], env: NodeJS.ProcessEnv): boolean =>
  spawnSync(program, words, { env, stdio: 'ignore' }).status === 0;

/** The lines of slurm.conf that use it. */
export function accountingLines(folder: string, port: number): string {
  return `AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort=${port}
AccountingStoragePass=${folder}/munge.sock
JobAcctGatherType=jobacct_gather/linux
`;
}

/** Starts the database and the daemon; munged must work already, and slurm.conf must stand. */
export async function startAccounting(accounting: Accounting): Promise<void> {
  const { folder, databasePort, daemonPort, environment, spawn, until } = accounting;
  const data = join(folder, 'database');
  mkdirSync(data);
  const made = ['--no-defaults', '--auth-root-authentication-method=normal', `--datadir=${data}`, '--user=root'];
  if (!succeeds('mariadb-install-db', made, environment)) throw new Error('mariadb-install-db failed');
  const socket = join(folder, 'database.sock');
  const where = [`--datadir=${data}`, `--socket=${socket}`, `--pid-file=${folder}/database.pid`];
  const port = [`--port=${databasePort}`, '--bind-address=127.0.0.1', '--innodb-buffer-pool-size=64M'];
  spawn('mariadbd', ['--no-defaults', '--user=root', ...where, ...port]);
  const users = ['localhost', '127.0.0.1'].map((host) => `'slurm'@'${host}'`);
  const grants = users.map((user) => `create user ${user} identified by 'x'; grant all on slurm.* to ${user};`);
  const sql = `create database slurm; ${grants.join(' ')}`;
  await until('the database', () => succeeds('mariadb', ['--no-defaults', '-S', socket, '-e', sql], environment));
  const config = `AuthType=auth/munge
AuthInfo=socket=${folder}/munge.sock
DbdHost=localhost
DbdPort=${daemonPort}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=${databasePort}
StorageUser=slurm
StoragePass=x
StorageLoc=slurm
PidFile=${folder}/slurmdbd.pid
LogFile=${folder}/slurmdbd.log
`;
  writeFileSync(join(folder, 'slurmdbd.conf'), config, { mode: 0o600 });
  spawn('slurmdbd', ['-D']);
  await until('slurmdbd', () => succeeds('sacctmgr', ['-i', 'add', 'cluster', 'lab'], environment));
}
