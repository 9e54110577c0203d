/**
 * The `gq` program: its commands, and how their outcomes become exit codes. 0: done. 1: the answer is no, or it failed (with its
 * stack, unless the machine is at fault). 2: the call was wrong (a message, no stack). 75: it was interrupted. Only the files of the
 * commands named in the call are loaded, so `gq --version` does not pay for an engine.
 */
import { Command, CommanderError, type Option } from 'commander';
import { exitCodes, GraderError, isAbort, UserError } from '../base/index.ts';
import { isPassing, readVersion, systemComplaint } from '../base/node/index.ts';
import type { CommandContext, ConfigureCommand, Streams } from './command.ts';
import { examplesText } from './command.ts';
import { Screen } from './terminal/screen.ts';

interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<ConfigureCommand>;
}

const commands: readonly CommandEntry[] = [
  {
    name: 'demo',
    summary: 'the whole experiment in minutes: train three arms, print tables, write a report',
    load: async () => (await import('./commands/demo.ts')).configureDemo,
  },
  {
    name: 'micro',
    summary: 'make the micro base model',
    load: async () => (await import('./commands/micro.ts')).configureMicro,
  },
  {
    name: 'train',
    summary: 'train one run from a recipe, or go on with one',
    load: async () => (await import('./commands/train.ts')).configureTrain,
  },
  {
    name: 'eval',
    summary: 'evaluate a run: base, as trained and deployed, on every set',
    load: async () => (await import('./commands/eval.ts')).configureEval,
  },
  {
    name: 'eval-curve',
    summary: 'evaluate the checkpoints of a run on one set of prompts',
    load: async () => (await import('./commands/eval-curve.ts')).configureEvalCurve,
  },
  {
    name: 'elicit',
    summary: 'compare how often a policy hacks under instructions, before or after training',
    load: async () => (await import('./commands/elicit.ts')).configureElicit,
  },
  {
    name: 'probe',
    summary: 'does the hack come back when the prompt says something else? leak probes of a run',
    load: async () => (await import('./commands/probe.ts')).configureProbe,
  },
  {
    name: 'prefill-curve',
    summary: 'begin completions like a hack at every checkpoint: an early sign of hacking',
    load: async () => (await import('./commands/prefill-curve.ts')).configurePrefillCurve,
  },
  {
    name: 'experiment',
    summary: 'train and evaluate arms × seeds, resumed where they stopped',
    load: async () => (await import('./commands/experiment.ts')).configureExperiment,
  },
  {
    name: 'claim',
    summary: 'what a claim states, by its hash; what was begun under it, and whether it was met',
    load: async () => (await import('./commands/claim.ts')).configureClaim,
  },
  {
    name: 'queue',
    summary: 'do commands one after another, or one on each GPU, without a terminal: add, list, follow, cancel',
    load: async () => (await import('./commands/queue.ts')).configureQueue,
  },
  {
    name: 'task',
    summary: 'do one run of a planned experiment: what the jobs of a cluster call',
    load: async () => (await import('./commands/task.ts')).configureTask,
  },
  {
    name: 'results',
    summary: 'print tables over seeds and comparisons, and draw figures',
    load: async () => (await import('./commands/results.ts')).configureResults,
  },
  {
    name: 'report',
    summary: 'write one HTML file about a run, an experiment or a folder of runs',
    load: async () => (await import('./commands/report.ts')).configureReport,
  },
  {
    name: 'view',
    summary: 'look at runs and experiments in a browser, live while they train',
    load: async () => (await import('./commands/view.ts')).configureView,
  },
  {
    name: 'bundle',
    summary: 'write what view shows as files: a folder for any web server, and one HTML file',
    load: async () => (await import('./commands/bundle.ts')).configureBundle,
  },
  {
    name: 'runs',
    summary: 'list the runs of a folder, and how each is doing',
    load: async () => (await import('./commands/runs.ts')).configureRuns,
  },
  {
    name: 'show',
    summary: 'print the rollouts that a search finds',
    load: async () => (await import('./commands/show.ts')).configureShow,
  },
  {
    name: 'labels',
    summary: 'compare what people said of rollouts with the oracle',
    load: async () => (await import('./commands/labels.ts')).configureLabels,
  },
  {
    name: 'diff',
    summary: 'show how two runs differ, in config and results',
    load: async () => (await import('./commands/diff.ts')).configureDiff,
  },
  {
    name: 'gate',
    summary: 'judge the gate of a run as a classifier',
    load: async () => (await import('./commands/gate.ts')).configureGate,
  },
  {
    name: 'evasion',
    summary: "split a monitor's scores: the same texts on the base and on the trained policy",
    load: async () => (await import('./commands/evasion.ts')).configureEvasion,
  },
  {
    name: 'traces',
    summary: 'read rollouts of a run in full, loophole by loophole',
    load: async () => (await import('./commands/traces.ts')).configureTraces,
  },
  {
    name: 'export-log',
    summary: 'write the numbers and samples of a run for TensorBoard, W&B, Trackio or Inspect',
    load: async () => (await import('./commands/export-log.ts')).configureExportLog,
  },
  {
    name: 'relearn',
    summary: 'attack a deployed model: how soon does it learn the hack again?',
    load: async () => (await import('./commands/relearn.ts')).configureRelearn,
  },
  {
    name: 'recipes',
    summary: 'list the recipes of the package, or print one',
    load: async () => (await import('./commands/recipes.ts')).configureRecipes,
  },
  {
    name: 'config',
    summary: 'show what a recipe resolves to, and where each value came from',
    load: async () => (await import('./commands/config.ts')).configureConfig,
  },
  {
    name: 'replay',
    summary: 'show the routes that another gate would have chosen in a run, without training',
    load: async () => (await import('./commands/replay.ts')).configureReplay,
  },
  {
    name: 'pool',
    summary: 'make demonstrations from a model or a run',
    load: async () => (await import('./commands/pool.ts')).configurePool,
  },
  {
    name: 'smoke',
    summary: 'check everything that must hold before a real run, in two minutes',
    load: async () => (await import('./commands/smoke.ts')).configureSmoke,
  },
  {
    name: 'doctor',
    summary: 'show what this machine has, what is missing, and what to do about it',
    load: async () => (await import('./commands/doctor.ts')).configureDoctor,
  },
  {
    name: 'model',
    summary: 'look at a model folder, or make a fresh random one',
    load: async () => (await import('./commands/model.ts')).configureModel,
  },
  {
    name: 'export',
    summary: 'write the deployed policy without its quarantine, with a certificate that it is gone',
    load: async () => (await import('./commands/export.ts')).configureExport,
  },
  {
    name: 'serve',
    summary: 'answer completions and chats over HTTP, deployed, as trained and base, as OpenAI’s API does',
    load: async () => (await import('./commands/serve.ts')).configureServe,
  },
  {
    name: 'problems',
    summary: 'check a file of problems against their own solutions',
    load: async () => (await import('./commands/problems.ts')).configureProblems,
  },
  {
    name: 'grade',
    summary: 'grade responses to problems, one line each',
    load: async () => (await import('./commands/grade.ts')).configureGrade,
  },
  {
    name: 'pairs',
    summary: 'check a file of contrastive pairs, and how well a model tells their sides apart',
    load: async () => (await import('./commands/pairs.ts')).configurePairs,
  },
  {
    name: 'verify',
    summary: 'check parity with stored values, adapters, arms, the environment and runs',
    load: async () => (await import('./commands/verify.ts')).configureVerify,
  },
  {
    name: 'completion',
    summary: 'print a script that completes commands, options and recipes in a shell',
    load: async () => (await import('./commands/completion.ts')).configureCompletion,
  },
];

/** An option with what it takes and what it is when absent; an empty list is nothing to show. */
function optionDescription({ description, argChoices, defaultValue, defaultValueDescription }: Option): string {
  const isEmpty = defaultValue === undefined || (Array.isArray(defaultValue) && defaultValue.length === 0);
  const usual =
    defaultValueDescription ?? (isEmpty || typeof defaultValue === 'boolean' ? undefined : `${defaultValue}`);
  const notes = [
    ...(argChoices === undefined ? [] : [`one of ${argChoices.join(', ')}`]),
    ...(usual === undefined ? [] : [`default: ${usual}`]),
  ];
  return notes.length === 0 ? description : `${description} (${notes.join('; ')})`;
}

async function buildProgram(argv: readonly string[], context: CommandContext): Promise<Command> {
  const program = new Command('gq')
    .description('Train a model by RL on a flawed grader, and quarantine the reward hack it learns.')
    .version(readVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help; after a command, its own, as `gq help COMMAND` does')
    .helpCommand(false)
    .addHelpText('after', examplesText('gq doctor', 'gq recipes', 'gq train micro-activation', 'gq help verify'))
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, 'gq: ')),
    })
    .configureHelp({ optionDescription })
    // What follows the name of a command is the command's: `gq queue add` takes the options of the command that it adds as they are.
    .enablePositionalOptions()
    .exitOverride();
  for (const { name, summary, load } of commands) {
    const command = program.command(name).summary(summary).description(summary);
    if (argv.includes(name)) (await load())(command, context);
  }
  return program;
}

/** `gq help pool make` is `gq pool make --help`; a command that does not exist is told as such. */
function withHelp(argv: readonly string[]): readonly string[] {
  const [first, name, ...others] = argv;
  if (first !== 'help') return argv;
  if (name === undefined) return ['--help'];
  return commands.some((command) => command.name === name) ? [name, ...others, '--help'] : [name];
}

export async function reportError(error: unknown, { stderr }: Streams): Promise<number> {
  // Commander has already printed its own message, with the nearest name where there is one.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.refused;
  // It ended while it was opening something, as its signal asked: nothing was begun that could be saved.
  if (isAbort(error)) return exitCodes.interrupted;
  const known = error instanceof UserError ? error : await curable(error);
  if (known !== null) {
    // Messages that begin with the name of the program would say it twice.
    stderr.write(`gq: ${known.message.replace(/^gq /, '')}\n`);
    return isPassing(known) ? exitCodes.failed : exitCodes.refused;
  }
  // What failed is another process: where in ours that was noticed helps nobody.
  if (error instanceof GraderError) {
    stderr.write(`gq: ${error.message}\n`);
    return exitCodes.failed;
  }
  stderr.write(`${error instanceof Error ? error.stack : `gq: thrown: ${String(error)}`}\n`);
  return exitCodes.failed;
}

/**
 * An error that the person at the keyboard can cure; null for all others. The parser of errors belongs to the runs; a command that only
 * said its version never loads it, and where files can no longer be opened it cannot be loaded.
 */
async function curable(error: unknown): Promise<UserError | null> {
  const runs = await import('../run/index.ts').catch(() => null);
  if (runs !== null) return runs.userErrorOf(error);
  const complaint = systemComplaint(error);
  return complaint === null ? null : new UserError(complaint, { cause: error });
}

/** Parses the words of a call as the program would, without doing what they say. */
async function expectCall(words: readonly string[], streams: Streams): Promise<void> {
  const program = await buildProgram(words, { ...streams, exitCode: 0 });
  silence(program);
  await program.parseAsync([...words], { from: 'user' });
}

/** Takes the actions from commands: they only parse. */
function silence(command: Command): void {
  for (const inner of command.commands) {
    if (inner.commands.length === 0) inner.action(() => undefined);
    silence(inner);
  }
}

/** Runs a command; `words` has neither the interpreter nor the script. It never exits the process: gq.ts does that. */
export async function runCli(words: readonly string[], streams: Streams): Promise<number> {
  const [stdout, stderr] = [Screen.of(streams.stdout), Screen.of(streams.stderr)];
  const context: CommandContext = {
    stdout,
    stderr,
    exitCode: 0,
    expectCall: (call) => expectCall(call, { stdout, stderr }),
  };
  const argv = withHelp(words);
  try {
    const program = await buildProgram(argv, context);
    await program.parseAsync(argv, { from: 'user' });
    return context.exitCode;
  } catch (error) {
    return await reportError(error, context);
  }
}
