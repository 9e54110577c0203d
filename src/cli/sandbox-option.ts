/** The option --sandbox of commands that run programs, and the isolation level that a call asks for. */
import { Option } from 'commander';
import { UserError } from '../base/index.ts';
import { type IsolationLevel, levelWanted, type SandboxPolicy, sandboxPolicies } from '../env/sandbox/index.ts';

export function sandboxOption(): Option {
  return new Option(
    '--sandbox <policy>',
    'isolation of programs: auto refuses below level 1, strict below 3, none runs anywhere',
  ).choices(sandboxPolicies);
}

export function parseLevel(text: string): IsolationLevel {
  const level = [1, 2, 3].find((each) => String(each) === text);
  if (level === undefined) throw new UserError({ call: '--strict', expected: 'a level, 1 to 3', found: text });
  return level as IsolationLevel;
}

interface Asked {
  readonly strict?: IsolationLevel;
  readonly sandbox?: SandboxPolicy;
}

export function levelOfCall({ strict, sandbox = 'auto' }: Asked): IsolationLevel {
  if (strict === undefined) return levelWanted[sandbox];
  if (sandbox === 'none') {
    throw new UserError({
      call: '--strict',
      expected: 'one wish for the isolation',
      found: `--strict ${strict} and --sandbox none`,
      fix: 'Leave one of them out.',
    });
  }
  return Math.max(strict, levelWanted[sandbox]) as IsolationLevel;
}
