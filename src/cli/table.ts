/**
 * All commands: their names, groups and summaries, and where their values are. A file is loaded when its command is used, so
 * `gq --help` does not pay for an engine.
 */
import type { CommandValue } from './command.ts';

export interface Entry {
  readonly name: string;
  readonly summary: string;
  /** The heading that it stands under in `gq --help`; absent below a command. */
  readonly group?: string;
  /** Called by programs: help and completion leave it out. */
  readonly hidden?: boolean;
  /** Its value; absent for a name that only stands before others. */
  readonly load?: () => Promise<CommandValue>;
  readonly commands?: readonly Entry[];
}

const entry = (name: string, summary: string, load: NonNullable<Entry['load']>): Entry => ({ name, summary, load });
const family = (name: string, summary: string, commands: readonly Entry[]): Entry => ({ name, summary, commands });

const queue = () => import('./commands/queue.ts');
const queueCommands = family('queue', 'do commands one after another, or one on each GPU, without a terminal', [
  entry('add', 'add a command of gq; it begins as soon as there is room', async () => (await queue()).addCommand),
  entry('list', 'list all jobs', async () => (await queue()).listCommand),
  entry('follow', 'print the log of a job until the job is over', async () => (await queue()).followCommand),
  entry('cancel', 'end a job; what it has saved is kept', async () => (await queue()).cancelCommand),
  entry('retry', 'do a job again that is over: it goes on where it was', async () => (await queue()).retryCommand),
  entry('priority', 'change the priority of a job', async () => (await queue()).priorityCommand),
  entry('resolve', 'write down the answer; gq results shows it', async () => (await queue()).resolveCommand),
  entry(
    'notify',
    'say where the end of every job is told; nowhere by default',
    async () => (await queue()).notifyCommand,
  ),
  entry('slots', 'say how many jobs run at a time', async () => (await queue()).slotsCommand),
  entry('work', 'work through the queue in this process; add starts one', async () => (await queue()).workCommand),
]);

const measure = () => import('./commands/measure.ts');
const gate = () => import('./commands/measure-gate.ts');
const relearn = () => import('./commands/measure-relearn.ts');
const measureCommands = family(
  'measure',
  'ask a run: its gate, its monitor, relearning, evasion, replays, traces, labels',
  [
    entry('gate', 'judge the gate of a run as a classifier', async () => (await gate()).gateCommand),
    entry('monitor', 'judge the monitor of a run as a classifier', async () => (await gate()).monitorCommand),
    entry(
      'evasion',
      "split a monitor's scores: the same texts on the base and on the trained policy",
      async () => (await measure()).evasionCommand,
    ),
    entry(
      'relearn',
      'how soon does a deployed model learn the hack again?',
      async () => (await relearn()).relearnCommand,
    ),
    entry('replay', 'the routes that another gate would have chosen', async () => (await measure()).replayCommand),
    entry(
      'traces',
      'read rollouts of a run in full, loophole by loophole',
      async () => (await measure()).tracesCommand,
    ),
    entry(
      'labels',
      'compare what people said of rollouts with the oracle',
      async () => (await measure()).labelsCommand,
    ),
  ],
);

const verify = () => import('./commands/verify.ts');
const environment = () => import('./commands/verify-environment.ts');
const problems = () => import('./commands/verify-problems.ts');
const verifyCommands = family('verify', 'check parity with stored values, adapters, arms, the environment and runs', [
  entry(
    'parity',
    'compare models, a GRPO step and bases with stored values',
    async () => (await verify()).parityCommand,
  ),
  entry('adapters', 'check what must hold for every adapter family', async () => (await verify()).adaptersCommand),
  entry(
    'arm',
    'check that an arm leaves the same bytes with every label flipped',
    async () => (await verify()).armCommand,
  ),
  entry(
    'rewards',
    'check every hack in every loophole in the sandbox',
    async () => (await environment()).rewardsCommand,
  ),
  entry('markers', 'check that evaluation’s markers are new', async () => (await environment()).markersCommand),
  entry('partition', 'check loopholes, splits and prompts', async () => (await environment()).partitionCommand),
  entry('science', 'check provenance of pairs and of a run', async () => (await environment()).scienceCommand),
  entry('problems', 'check problems against their own solutions', async () => (await problems()).problemsCommand),
]);

const model = () => import('./commands/model.ts');
const modelCommands = family('model', 'look at a model folder, make a fresh random one, or fetch one', [
  entry('inspect', 'show architecture, parameters, dtype and memory', async () => (await model()).inspectCommand),
  entry('init', 'write a fresh random model with its tokenizer', async () => (await model()).initCommand),
  entry('fetch', 'download a model into the Hugging Face cache', async () => (await model()).fetchCommand),
]);

const pairs = () => import('./commands/pairs.ts');
const fromPool = () => import('./commands/pairs-from-pool.ts');
const pairsCommands = family('pairs', 'check contrastive pairs, and how well a model tells their sides apart', [
  entry('check', 'check format, stubs, balance of length and style', async () => (await pairs()).checkCommand),
  entry('score', 'measure how well the direction separates the sides', async () => (await pairs()).scoreCommand),
  entry(
    'from-pool',
    'make pairs from demonstrations: labels choose them',
    async () => (await fromPool()).fromPoolCommand,
  ),
]);

const poolCommands = family('pool', 'make demonstrations from a model or a run', [
  entry(
    'make',
    'sample, grade, and keep hacks or solves as a pool of demonstrations',
    async () => (await import('./commands/pool.ts')).makePoolCommand,
  ),
]);

const microCommands = family('micro', 'make the micro base model', [
  entry(
    'pretrain',
    'train a micro base model from scratch and write it as a model folder',
    async () => (await import('./commands/micro.ts')).pretrainCommand,
  ),
]);

const claim = () => import('./commands/claim.ts');
const claimCommands: Entry = {
  ...entry(
    'claim',
    'what a claim states, by its hash; what was begun under it, and whether it was met',
    async () => (await claim()).claimCommand,
  ),
  commands: [entry('open', 'open the blind seeds of a study, once', async () => (await claim()).openClaimCommand)],
};

const config = () => import('./commands/config.ts');

const groups: Readonly<Record<string, readonly Entry[]>> = {
  'To begin': [
    entry(
      'demo',
      'the whole experiment in minutes: train three arms, print tables, write a report',
      async () => (await import('./commands/demo.ts')).demoCommand,
    ),
    entry(
      'doctor',
      'show what this machine has, what is missing, and what to do about it',
      async () => (await import('./commands/doctor.ts')).doctorCommand,
    ),
    entry('recipes', 'list the recipes of the package, or print one', async () => (await config()).recipesCommand),
    entry('config', 'show what a recipe resolves to, value by value', async () => (await config()).configCommand),
    entry(
      'completion',
      'print a script that completes commands, options and recipes in a shell',
      async () => (await import('./commands/completion.ts')).completionCommand,
    ),
  ],
  'Train and evaluate': [
    entry(
      'train',
      'train one run from a recipe, or go on with one',
      async () => (await import('./commands/train.ts')).trainCommand,
    ),
    entry(
      'experiment',
      'train and evaluate arms × seeds, resumed where they stopped',
      async () => (await import('./commands/experiment.ts')).experimentCommand,
    ),
    queueCommands,
    {
      ...entry(
        'task',
        'do one run of a planned experiment: what the jobs of a cluster call',
        async () => (await import('./commands/task.ts')).taskCommand,
      ),
      hidden: true,
    },
    entry(
      'eval',
      'evaluate a run in every state and on every set; curves, leak probes, elicitation, prefills',
      async () => (await import('./commands/eval.ts')).evalCommand,
    ),
    measureCommands,
    claimCommands,
  ],
  'Look at results': [
    entry(
      'results',
      'print tables over seeds and comparisons; draw figures, write one HTML file',
      async () => (await import('./commands/results.ts')).resultsCommand,
    ),
    entry(
      'view',
      'look at runs in a browser, live while they train; write the pages as files',
      async () => (await import('./commands/view.ts')).viewCommand,
    ),
    entry(
      'runs',
      'list the runs of a folder, and how each is doing',
      async () => (await import('./commands/runs.ts')).runsCommand,
    ),
    entry(
      'show',
      'print the rollouts that a search finds',
      async () => (await import('./commands/show.ts')).showCommand,
    ),
    entry('diff', 'show how two runs differ', async () => (await import('./commands/diff.ts')).diffCommand),
  ],
  'Give away': [
    entry(
      'export',
      'write the deployed policy without its quarantine, with a certificate; or logs for other viewers',
      async () => (await import('./commands/export.ts')).exportCommand,
    ),
    entry(
      'serve',
      'answer completions and chats over HTTP, as OpenAI’s API does',
      async () => (await import('./commands/serve.ts')).serveCommand,
    ),
  ],
  'Models and data': [
    modelCommands,
    microCommands,
    pairsCommands,
    poolCommands,
    entry(
      'grade',
      'grade responses to problems, one line each',
      async () => (await import('./commands/grade.ts')).gradeCommand,
    ),
  ],
  Checks: [
    entry(
      'smoke',
      'check everything that must hold before a real run, in two minutes',
      async () => (await import('./commands/smoke.ts')).smokeCommand,
    ),
    verifyCommands,
  ],
};

export const commandTable: readonly Entry[] = Object.entries(groups).flatMap(([group, entries]) =>
  entries.map((each) => ({ ...each, group })),
);

/** A command with the words that call it. */
export interface NamedCommand {
  readonly words: readonly string[];
  readonly entry: Entry;
  readonly value: CommandValue;
}

/** Every command that does something, loaded. */
export async function loadCommands(
  entries: readonly Entry[] = commandTable,
  before: readonly string[] = [],
): Promise<NamedCommand[]> {
  const loaded = entries.map(async (each): Promise<NamedCommand[]> => {
    const words = [...before, each.name];
    const own = each.load === undefined ? [] : [{ words, entry: each, value: await each.load() }];
    return [...own, ...(await loadCommands(each.commands ?? [], words))];
  });
  return (await Promise.all(loaded)).flat();
}
