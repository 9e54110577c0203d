/** What commands that run programs themselves have in common: the options of the sandbox, and its start. */
import type { SandboxPolicy } from '../env/sandbox/index.ts';
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

export function startSandbox({ python, workers, sandbox = 'auto' }: CallOf<typeof sandboxOptions>): Promise<Sandbox> {
  return Sandbox.start({ python, workers, strictLevel: levelWanted[sandbox] });
}
