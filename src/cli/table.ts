/** All commands, where they stand in the help, and the file of each, which is loaded when the command is used. */
import { type ListedMeasurement, measurements } from '../measure/registry/index.ts';
import type { CommandValue } from './command.ts';

export interface Entry {
  readonly name: string;
  readonly summary: string;
  readonly group?: string;
  /** Among those that `gq --help` names. */
  readonly isFirst?: boolean;
  /** Called by programs: help and completion leave it out. */
  readonly hidden?: boolean;
  readonly load?: () => Promise<CommandValue>;
  readonly commands?: readonly Entry[];
}

type CommandFile<K extends string> = () => Promise<Readonly<Record<K, CommandValue>>>;

function entry<K extends string>(name: string, summary: string, file: CommandFile<K>, key: K): Entry {
  return { name, summary, load: async () => (await file())[key] };
}

const family = (name: string, summary: string, commands: readonly Entry[]): Entry => ({ name, summary, commands });

const claim = () => import('./commands/claim.ts');
const cluster = () => import('./commands/cluster.ts');
const completion = () => import('./commands/completion.ts');
const config = () => import('./commands/config.ts');
const demo = () => import('./commands/demo.ts');
const environment = () => import('./commands/env.ts');
const evaluate = () => import('./commands/eval.ts');
const experiment = () => import('./commands/experiment.ts');
const exported = () => import('./commands/export.ts');
const init = () => import('./commands/init.ts');
const grade = () => import('./commands/grade.ts');
const measure = () => import('./commands/measure.ts');
const monitors = () => import('./commands/monitors.ts');
const model = () => import('./commands/model.ts');
const pairs = () => import('./commands/pairs.ts');
const pool = () => import('./commands/pool.ts');
const queue = () => import('./commands/queue.ts');
const relearn = () => import('./commands/measure-relearn.ts');
const results = () => import('./commands/results.ts');
const runs = () => import('./commands/runs.ts');
const serve = () => import('./commands/serve.ts');
const show = () => import('./commands/show.ts');
const train = () => import('./commands/train.ts');
const verify = () => import('./commands/verify.ts');
const view = () => import('./commands/view.ts');

const queueCommands = [
  entry('add', 'add a command of gq; it begins as soon as there is room', queue, 'addCommand'),
  entry('list', 'list all jobs', queue, 'listCommand'),
  entry('follow', 'print the log of a job until the job is over', queue, 'followCommand'),
  entry('cancel', 'end a job; what it has saved is kept', queue, 'cancelCommand'),
  entry('retry', 'do a job again that is over: it goes on where it was', queue, 'retryCommand'),
  entry('priority', 'change the priority of a job', queue, 'priorityCommand'),
  entry('resolve', 'write down the answer; gq results shows it', queue, 'resolveCommand'),
  entry('notify', 'say where the end of every job is told; nowhere without an option', queue, 'notifyCommand'),
  entry('slots', 'say how many jobs run at a time', queue, 'slotsCommand'),
  entry('work', 'work through the queue in this process; add starts one', queue, 'workCommand'),
];

export const measureCommands = (listed: readonly ListedMeasurement[]): Entry[] => [
  ...listed.map(({ name, summary, load }) => ({
    name,
    summary,
    load: async () => (await measure()).measureCommand(await load()),
  })),
  entry('relearn', 'how soon does a deployed model learn the hack again?', relearn, 'relearnCommand'),
  entry('labels', 'compare what people said of rollouts with the oracle', measure, 'labelsCommand'),
];

const verifyCommands = [
  entry('parity', 'compare models, a GRPO step and bases with stored values', verify, 'parityCommand'),
  entry('adapters', 'check what must hold for every adapter family', verify, 'adaptersCommand'),
  entry('arm', 'check that an arm leaves the same bytes with every label flipped', verify, 'armCommand'),
  entry('rewards', 'check every hack in every loophole in the sandbox', verify, 'rewardsCommand'),
  entry('markers', 'check that evaluation’s markers share nothing with training’s', verify, 'markersCommand'),
  entry('partition', 'check loopholes, splits and prompts of a recipe', verify, 'partitionCommand'),
  entry('science', 'check provenance and splits of the pairs and of a run', verify, 'scienceCommand'),
  entry('problems', 'check problems against their own solutions', verify, 'problemsCommand'),
];

const modelCommands = [
  entry('inspect', 'show architecture, parameters, dtype, and memory on each device', model, 'inspectCommand'),
  entry('init', 'write a fresh random model with its tokenizer', model, 'initCommand'),
  entry('fetch', 'download a model into the Hugging Face cache; goes on where it broke off', model, 'fetchCommand'),
];

const pairsCommands = [
  entry('check', 'check format, stubs, balance of length and style, duplicates', pairs, 'checkCommand'),
  entry('score', 'measure how well the direction separates the sides', pairs, 'scoreCommand'),
  entry('from-pool', 'make pairs from demonstrations: labels choose them', pairs, 'fromPoolCommand'),
];

const asked = measureCommands(measurements);

const groups: Readonly<Record<string, readonly Entry[]>> = {
  Start: [
    entry('demo', 'train three arms in minutes, print tables, write a report', demo, 'demoCommand'),
    entry('init', 'write a project to begin with: a recipe, a gate of your own, a study', init, 'projectCommand'),
    entry('doctor', 'show what this machine has, and what to do about what is missing', verify, 'doctorCommand'),
    entry('recipes', 'list the recipes of the package, or print one', config, 'recipesCommand'),
    entry('config', 'show what a recipe resolves to, and where each value came from', config, 'configCommand'),
    entry('completion', 'print a script that completes words in a shell', completion, 'completionCommand'),
  ],
  Train: [
    entry('train', 'train one run from a recipe, or go on with one', train, 'trainCommand'),
    entry('experiment', 'train and evaluate arms × seeds, resumed where they stopped', experiment, 'experimentCommand'),
    family('queue', 'do commands one after another, or one on each GPU, without a terminal', queueCommands),
    { ...entry('task', 'do one run of a planned experiment, as jobs do', cluster, 'taskCommand'), hidden: true },
  ],
  Measure: [
    entry('eval', 'evaluate every state on every set; curves, leaks, elicitation, prefills', evaluate, 'evalCommand'),
    family('measure', 'ask a run: its gate, its monitor, relearning, evasion, replays, traces, labels', asked),
  ],
  Compare: [
    entry('results', 'print tables over seeds and comparisons; figures, one HTML file', results, 'resultsCommand'),
    {
      ...entry('claim', 'what a claim states, what was begun under it, whether it was met', claim, 'claimCommand'),
      commands: [entry('open', 'open the blind seeds of a study, once', claim, 'openClaimCommand')],
    },
    entry('diff', 'show how two runs differ, in config and results', runs, 'diffCommand'),
  ],
  Look: [
    entry('view', 'look at runs in a browser, live; write the pages as files', view, 'viewCommand'),
    entry('runs', 'list the runs of a folder, and how each is doing', runs, 'runsCommand'),
    entry('show', 'print the rollouts that a search finds', show, 'showCommand'),
    entry('playground', 'write the lab in a page: it trains in a browser', view, 'playgroundCommand'),
  ],
  Share: [
    entry('export', 'write the policy without its quarantine, certified; logs for viewers', exported, 'exportCommand'),
    entry('serve', 'answer completions over HTTP as OpenAI’s API does, or train as Tinker’s', serve, 'serveCommand'),
    family('env', 'give problems with their flawed grader to trainers of others', [
      entry('serve', 'serve them in the words of ORS or OpenEnv', environment, 'serveEnvironmentCommand'),
    ]),
  ],
  Data: [
    family('model', 'look at a model folder, make a fresh random one, or fetch one', modelCommands),
    family('micro', 'make the micro base model', [
      entry('pretrain', 'train a micro base model from scratch and write it', model, 'pretrainCommand'),
    ]),
    family('pairs', 'check contrastive pairs, and how well a model tells their sides apart', pairsCommands),
    family('pool', 'make demonstrations from a model or a run', [
      entry('make', 'sample, grade, and keep hacks or solves', pool, 'makePoolCommand'),
    ]),
    family('monitors', 'ask monitors about what others wrote', [
      entry('bench', 'score a monitor on labelled transcripts: AUROC with its interval', monitors, 'benchCommand'),
    ]),
    entry('grade', 'grade responses to problems, one line each', grade, 'gradeCommand'),
  ],
  Check: [
    entry('smoke', 'check everything that must hold before a real run, in two minutes', verify, 'smokeCommand'),
    family('verify', 'check parity, adapters, arms, the environment and runs', verifyCommands),
  ],
};

/** What `gq --help` names; `gq help all` names all. */
const firstCommands = ['demo', 'init', 'doctor', 'train', 'experiment', 'eval', 'results', 'view'];

export const commandTable: readonly Entry[] = Object.entries(groups).flatMap(([group, entries]) =>
  entries.map((each) => ({ ...each, group, isFirst: firstCommands.includes(each.name) })),
);

export interface NamedCommand {
  readonly words: readonly string[];
  readonly entry: Entry;
  readonly value: CommandValue;
}

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

/** What commands are called elsewhere. */
export const otherNames: readonly (readonly [names: readonly string[], command: string])[] = [
  [['sweep', 'grid', 'study', 'batch'], 'experiment'],
  [['run', 'start', 'fit', 'resume', 'fork'], 'train'],
  [['evaluate', 'test', 'bench'], 'eval'],
  [['report', 'table', 'tables', 'figures', 'plot', 'analyze', 'analyse'], 'results'],
  [['ui', 'dashboard', 'web', 'tensorboard'], 'view'],
  [['ls', 'list', 'status', 'ps'], 'runs'],
  [['new', 'create', 'scaffold'], 'init'],
  [['chat', 'sample', 'generate'], 'serve'],
  [['compare'], 'diff'],
  [['merge', 'deploy', 'upload'], 'export'],
  [['logs', 'rollouts', 'search'], 'show'],
  [['setup', 'check', 'info'], 'doctor'],
];
