/** Finds the Python that runs programs, by name or path: 3.9 or newer. It is asked for its real executable and version. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { UserError } from '../../base/index.ts';

export interface Python {
  /** Path of the interpreter itself, not of a shim that needs environment variables. */
  readonly executable: string;
  readonly version: readonly [number, number, number];
}

const oldest = [3, 9] as const;
const answerLimitMs = 20_000;
const question = 'import sys, json; print(json.dumps([sys.executable, list(sys.version_info[:3])]))';

export async function findPython(name = 'python3'): Promise<Python> {
  const call = `start the sandbox with ${name}`;
  const expected = `Python ${oldest.join('.')} or newer`;
  const fix = 'Install python3, or name another one in the config (sandbox.python).';
  const answer = await promisify(execFile)(name, ['-I', '-c', question], { timeout: answerLimitMs }).catch(
    (cause: Error) => {
      throw new UserError({ call, expected, found: cause.message.split('\n')[0], fix }, { cause });
    },
  );
  const [executable, version]: [string, [number, number, number]] = JSON.parse(answer.stdout);
  if (version[0] < oldest[0] || (version[0] === oldest[0] && version[1] < oldest[1])) {
    throw new UserError({ call, expected, found: version.join('.'), fix });
  }
  return { executable, version };
}
