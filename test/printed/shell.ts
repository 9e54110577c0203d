/** Lines typed in a folder, as in a terminal: what they printed, and how they ended. */
import { spawn } from 'node:child_process';

export interface Typed {
  readonly code: number | null;
  readonly said: string;
}

export class Shell {
  readonly #variables: NodeJS.ProcessEnv;
  readonly #groups = new Set<number>();

  constructor(variables: NodeJS.ProcessEnv) {
    this.#variables = variables;
  }

  /** Ends all that is still at work, as a terminal does that is closed. */
  end(): void {
    for (const group of this.#groups) process.kill(-group, 'SIGTERM');
  }

  /** `untilSaid`: a command that serves until it is ended; it is, with all that it started, once it has said this. */
  type(folder: string, line: string, untilSaid?: RegExp): Promise<Typed> {
    const { HOME: _home, ...variables } = this.#variables;
    const env = { ...variables, HOME: folder, GQ_QUEUE: `${folder}/queue`, GQ_STATE: `${folder}/state` };
    return new Promise((resolve, reject) => {
      const child = spawn('bash', ['-c', line], {
        cwd: folder,
        env,
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const group = child.pid ?? 0;
      this.#groups.add(group);
      let said = '';
      let isEnough = false;
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (text) => {
          said += text;
          if (isEnough || untilSaid === undefined || !untilSaid.test(said)) return;
          isEnough = true;
          process.kill(-group, 'SIGTERM');
        });
      }
      child.on('error', reject);
      child.on('close', (code) => {
        this.#groups.delete(group);
        resolve({ code: isEnough ? 0 : code, said });
      });
    });
  }

  async expect(folder: string, line: string): Promise<string> {
    const { code, said } = await this.type(folder, line);
    if (code !== 0) throw new Error(`${line}\nended with ${code}: ${said.slice(-2000)}`);
    return said;
  }
}
