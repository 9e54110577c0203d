/** What commands that run programs themselves have in common: the options of the sandbox, and its start. */
import { InvalidArgumentError } from 'commander';
import { UserError } from '../base/index.ts';
import type { IsolationLevel, SandboxPolicy } from '../env/sandbox/index.ts';
import { levelWanted, Sandbox, sandboxPolicies } from '../env/sandbox/index.ts';
import { type CallOf, choice, mostAtOnce, type Part, whole, word } from './command.ts';

export const sandboxOption: Part<SandboxPolicy | undefined> = choice(
  '<policy>',
  'isolation of programs: auto refuses below level 1, strict below 3, none runs anywhere',
  sandboxPolicies,
);

export const sandboxOptions = {
  python: word('<name>', 'the Python that runs programs; python3 when absent'),
  workers: whole('<n>', 'number of programs side by side; twice the number of cores when absent', { most: mostAtOnce }),
  sandbox: sandboxOption,
};

export const strictOption: Part<IsolationLevel | undefined> = {
  takes: '<level>',
  about: 'refuse to run below this isolation level, 1 to 3',
  read(word) {
    const level = ([1, 2, 3] as const).find((each) => String(each) === word);
    if (level === undefined) throw new InvalidArgumentError('Expected a level, 1 to 3.');
    return level;
  },
};

type SandboxCall = CallOf<typeof sandboxOptions> & { readonly strict?: IsolationLevel | undefined };

export function expectOneLevel({ strict, sandbox }: SandboxCall): void {
  if (strict === undefined || sandbox !== 'none') return;
  throw new UserError({
    call: '--strict',
    expected: 'one wish for the isolation',
    found: `--strict ${strict} and --sandbox none`,
    fix: 'Leave one of them out.',
  });
}

export function startSandbox({ python, workers, sandbox = 'auto', strict = 0 }: SandboxCall): Promise<Sandbox> {
  const strictLevel = Math.max(strict, levelWanted[sandbox]) as IsolationLevel;
  return Sandbox.start({ python, workers, strictLevel });
}
