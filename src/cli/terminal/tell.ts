/** Shows the notices of commands that have no picture of their work, such as which problems are left out: a line each, on stderr. */
import { visibleLine } from '../../base/index.ts';
import type { Warn } from '../../lab/index.ts';
import type { CommandContext } from '../command.ts';

export function tellOn({ stderr }: Pick<CommandContext, 'stderr'>): Warn {
  return ({ message }) => {
    stderr.write(`${visibleLine(message)}\n`);
  };
}
