/**
 * A command on several ranks. Started by mpirun or srun, a process joins the others; asked for ranks, it calls mpirun. Only rank 0
 * speaks, but when a rank fails, the lowest of those that did says so for all, and every rank ends with its exit code.
 */
import { InvalidArgumentError } from 'commander';
import { messageOf, readWhole, UserError } from '../base/index.ts';
import { coresEach, coresVariable, onInterrupt } from '../lab/index.ts';
import type { Communicator, Launched } from '../parallel/index.ts';
import { alone, joinRanks, launchedRanks, onAskedToStop, RankFailure, startRanks } from '../parallel/index.ts';
import { type CommandContext, mostAtOnce, type Part } from './command.ts';

export const ranksOption: Part<number | undefined> = {
  takes: '<n>',
  about: 'train in so many processes, which need Open MPI (docs/scale.md)',
  read(word) {
    const ranks = readWhole(word, 1, mostAtOnce);
    if (ranks !== null && Number.isInteger(Math.log2(ranks))) return ranks;
    throw new InvalidArgumentError('Expected 1, 2, 4, 8 or another power of two.');
  },
};

/** Does the work alone (null: nobody asked for ranks), as a rank of a launcher, or starts it again on ranks. */
export async function inRanks(
  asked: number | undefined,
  context: CommandContext,
  expectRoom: (ranks: number) => Promise<void>,
  work: (communicator: Communicator | null) => Promise<void>,
): Promise<void> {
  const launched = await unlessTold(context, async () => launchedRanks());
  if (launched === undefined) return;
  if (launched === null) {
    if (asked === undefined || asked === 1) return work(asked === undefined ? null : alone);
    await expectRoom(asked);
    return startAgain(asked, context);
  }
  if (asked !== undefined && asked !== launched.size) {
    const { launcher, size } = launched;
    throw new UserError({ call: `--ranks ${asked}`, expected: `${size}, as ${launcher} says`, found: `${asked}` });
  }
  await joinAndWork(launched, context, work);
}

async function startAgain(ranks: number, context: CommandContext): Promise<void> {
  using interruption = onInterrupt(context.stderr, 'the ranks finish this update, then save');
  const [script = '', ...others] = process.argv.slice(1);
  const argv = [...process.execArgv, script, ...withoutRanks(others)];
  const { signal } = interruption;
  context.exitCode = await startRanks({ ranks, program: process.execPath, argv, signal });
}

const withoutRanks = (argv: readonly string[]): string[] =>
  argv.filter((argument, i) => !/^--ranks(?:=|$)/.test(argument) && argv[i - 1] !== '--ranks');

async function joinAndWork(
  launched: Launched,
  context: CommandContext,
  work: (communicator: Communicator) => Promise<void>,
): Promise<void> {
  process.env[coresVariable] ??= `${coresEach(launched.localSize)}`;
  const communicator = await unlessTold(context, () => joinRanks(launched));
  if (communicator === undefined) return;
  onAskedToStop(launched, () => process.emit('SIGTERM'));
  try {
    await work(communicator);
    await communicator.close();
  } catch (error) {
    const exitCode = error instanceof RankFailure ? error.exitCode : error instanceof UserError ? 2 : 1;
    context.exitCode = exitCode;
    const reason = messageOf(error);
    const speaks = !(error instanceof RankFailure) && (await communicator.abort(reason, exitCode));
    if (!speaks) return await stayQuiet(exitCode);
    const own = `rank ${communicator.rank} of ${communicator.size}`;
    if (!/^rank \d/.test(reason)) context.stderr.write(`${own} stopped all ranks:\n`);
    throw error;
  }
}

async function unlessTold<Found>(context: CommandContext, find: () => Promise<Found>): Promise<Found | undefined> {
  try {
    return await find();
  } catch (error) {
    if (!(error instanceof RankFailure)) throw error;
    context.exitCode = error.exitCode;
    await stayQuiet(error.exitCode);
    return undefined;
  }
}

/** How long a rank that has nothing to say waits for the one that has: the launcher ends all ranks as soon as one has ended. */
const quietMs = 4000;

async function stayQuiet(exitCode: number): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(exitCode));
  await new Promise((resolve) => setTimeout(resolve, quietMs));
}
