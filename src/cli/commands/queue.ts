/** `gq queue`: commands of gq that are done one after another, or as many at a time as there are GPUs, whatever becomes of the terminal. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { exitCodes, messageOf, padText, shellLine, UserError, visibleLine } from '../../base/index.ts';
import { gqLine } from '../../base/node/own-program.ts';
import { onInterrupt, resolveConfig } from '../../lab/index.ts';
import { RunDirectory, recipePath } from '../../run/index.ts';
import { planExperiment, readExperiment } from '../../study/experiment.ts';
import { runDaemon } from '../../study/queue/daemon.ts';
import { type QueueEntry, QueueFolder, queueFolder, queueVariable } from '../../study/queue/folder.ts';
import { startDetached } from '../../study/queue/launch.ts';
import { followLog, lastLine } from '../../study/slurm/log-tail.ts';
import { planStudy, readStudy } from '../../study/steps.ts';
import type { CommandContext, ParsedCall, Part } from '../command.ts';
import { argument, command, mostAtOnce, needed, whole, wholeFrom, word } from '../command.ts';
import { ownCommand } from './cluster.ts';
import { settingsOf } from './train.ts';

const priority: Part<number> = {
  takes: '<n>',
  about: 'higher ones begin first',
  usual: 0,
  read: (word) => (word.startsWith('-') ? -wholeFrom(word.slice(1), 0) : wholeFrom(word, 0)),
};
const id = needed(whole('<id>', 'the number of the job'));

export const addCommand = command({
  arguments: {
    words: { takes: '<command...>', about: 'the command, without gq, as it would be typed in this folder' } as Part<
      readonly string[]
    >,
  },
  options: {
    why: word('<text>', 'the question that it answers', ''),
    priority,
    gpus: whole('<n>', 'slots that it takes', { usual: 1, most: mostAtOnce }),
  },
  passesOptions: true,
  examples: [
    'gq queue add --why "Does a wider tail remove more?" experiment micro-claim',
    'gq queue add --priority 5 train micro-activation --out runs/look',
    'gq queue add experiment micro-claim --on slurm --jobs 20',
  ],
  async run({ words, why, priority: wanted, gpus }, context) {
    if (['queue', 'gq', 'view', 'serve'].includes(words[0])) {
      const fix = words[0] === 'gq' ? 'Leave out gq itself.' : 'It would never end.';
      throw new UserError({
        call: 'queue add',
        expected: 'a command of gq that comes to an end',
        found: words[0],
        fix,
      });
    }
    const parsed = await context.readCall(words);
    await expectInputs(parsed);
    const queue = new QueueFolder();
    // Damaged settings are told of here: the daemon begins no job under them.
    queue.readSettings();
    const output = outputOf(parsed);
    const job = await queue.add({
      format: 1,
      words: [...words],
      folder: process.cwd(),
      why,
      resolve: '',
      priority: wanted,
      slots: parsed.call['on'] === 'slurm' ? 0 : gpus,
      output,
      added: new Date().toISOString(),
    });
    await startDaemon(queue);
    context.stdout.write(`job ${job}; follow it with: ${gqLine('queue', 'follow', `${job}`)}\n`);
    if (why !== '' && output === null) {
      context.stdout.write('the results will not show why: only those of a folder that the command names (--out) do\n');
    }
  },
});

export const workCommand = command({
  examples: ['gq queue work'],
  exits: { 75: 'interrupted: the jobs go on, and the same call takes them over' },
  async run(_call, context) {
    const say = (line: string): void => void context.stderr.write(`${new Date().toISOString()} ${visibleLine(line)}\n`);
    using interruption = onInterrupt(context.stderr, `the jobs go on; ${gqLine('queue', 'work')} takes them over`);
    await runDaemon(queueFolder(), { gq: ownCommand(), say, signal: interruption.signal });
    if (interruption.signal.aborted) context.exitCode = exitCodes.interrupted;
  },
});

export const listCommand = command({
  json: 'them as JSON',
  examples: ['gq queue list', 'gq queue list --json'],
  exits: { 1: 'a job or the settings are damaged' },
  run({ json }, context) {
    const queue = new QueueFolder();
    const complain = (message: string): void => {
      context.stderr.write(`${visibleLine(message)}\n`);
      context.exitCode = exitCodes.failed;
    };
    const entries = queue.all(complain);
    try {
      queue.readSettings();
      if (!json) tellIdle(queue, entries, context);
    } catch (error) {
      complain(messageOf(error));
    }
    const values = entries.map(({ id: number, job, state }) => ({ id: number, ...job, ...state }));
    const none = `no jobs in ${queue.path} (${queueVariable} names another place)\n`;
    return { value: values, text: () => entries.map((entry) => jobText(queue, entry)).join('') || none };
  },
});

export const followCommand = command({
  arguments: { id },
  examples: ['gq queue follow 3'],
  exits: { 1: 'the job failed, was refused or cancelled' },
  async run({ id: job }, context) {
    const queue = new QueueFolder();
    tellIdle(queue, [queue.read(job)], context);
    const newLines = followLog(queue.file(job, 'log.txt'));
    for (;;) {
      const { state } = queue.read(job);
      for (let lines = newLines(); lines.length > 0; lines = newLines()) {
        for (const line of lines) context.stdout.write(`${visibleLine(line)}\n`);
      }
      if (state.state !== 'waiting' && state.state !== 'running') {
        context.stdout.write(`job ${job}: ${state.state}\n`);
        context.exitCode = state.state === 'done' ? exitCodes.done : exitCodes.failed;
        return;
      }
      await wait(500);
    }
  },
});

/** Asks the daemon to end a job or to do it again; who asks twice for an end gets it at once. */
const askingCommand = (what: 'cancel' | 'retry') =>
  command({
    arguments: { id },
    examples: [`gq queue ${what} 3`],
    async run({ id: job }, context) {
      const queue = new QueueFolder();
      const entry = queue.read(job);
      expectActive(entry, what, what === 'cancel');
      const isSecond = what === 'cancel' && entry.state.state === 'running' && queue.asked(job) !== null;
      await queue.ask(job, isSecond ? 'kill' : what);
      await startDaemon(queue);
      context.stdout.write(`job ${job}: ${what} is asked for${isSecond ? ' again: it ends at once' : ''}\n`);
    },
  });

export const cancelCommand = askingCommand('cancel');
export const retryCommand = askingCommand('retry');

export const priorityCommand = command({
  arguments: { id, priority: { ...needed(priority), usual: undefined as never } },
  examples: ['gq queue priority 3 5'],
  async run({ id: job, priority: wanted }, context) {
    const queue = new QueueFolder();
    const entry = queue.read(job);
    expectActive(entry, 'priority', true);
    await queue.writeJob(job, { ...entry.job, priority: wanted });
    context.stdout.write(`job ${job}: priority ${wanted}\n`);
  },
});

export const resolveCommand = command({
  arguments: { id, text: argument('<text>', 'the answer') },
  examples: ['gq queue resolve 3 "It does, in all seeds."'],
  async run({ id: job, text: answer }, context) {
    const queue = new QueueFolder();
    await queue.writeJob(job, { ...queue.read(job).job, resolve: answer });
    context.stdout.write(`job ${job}: resolved\n`);
  },
});

export const notifyCommand = command({
  options: {
    command: word('<line>', 'a line for sh, with GQ_JOB_ID, _STATE, _CODE, _WHY, _COMMAND and _LAST_LINE'),
    webhook: word('<url>', 'an address that gets the same as JSON'),
  },
  examples: [`gq queue notify --command 'notify-send "$GQ_JOB_ID $GQ_JOB_STATE"'`],
  async run({ command: line = null, webhook = null }) {
    if (webhook !== null && !/^https?:\/\/\S+$/.test(webhook)) {
      const expected = 'an address that begins with http:// or https://';
      throw new UserError({ call: '--webhook', expected, found: webhook });
    }
    const queue = new QueueFolder();
    await queue.writeSettings({ ...queue.readSettings(), command: line, webhook });
  },
});

export const slotsCommand = command({
  arguments: {
    slots: argument('<slots>', 'GPUs by number (0,1), a count without GPUs (cpu:2), or auto: every GPU, or 1'),
  },
  examples: ['gq queue slots 0,1', 'gq queue slots cpu:2'],
  async run({ slots }, context) {
    const queue = new QueueFolder();
    await queue.writeSettings({ ...queue.readSettings(), slots: parseSlots(slots) });
    context.stdout.write(`slots: ${slots}\n`);
  },
});

function parseSlots(text: string): string[] | null {
  if (text === 'auto') return null;
  const cpus = /^cpu:([1-9]\d{0,2})$/.exec(text)?.[1];
  if (cpus !== undefined) return Array.from({ length: Number(cpus) }, (_, i) => `cpu${i}`);
  const gpus = text.split(',');
  if (gpus.every((gpu) => /^\d{1,3}$/.test(gpu)) && new Set(gpus).size === gpus.length)
    return gpus.map((gpu) => `gpu${gpu}`);
  throw new UserError({ call: 'queue slots', expected: 'numbers of GPUs such as 0,1, or cpu:2, or auto', found: text });
}

function expectActive({ id, state }: QueueEntry, what: string, mustBe: boolean): void {
  const isActive = state.state === 'waiting' || state.state === 'running';
  if (isActive === mustBe) return;
  const expected = mustBe ? 'a job that waits or runs' : 'a job that is over';
  throw new UserError({ call: `queue ${what} ${id}`, expected, found: `one that is ${state.state}` });
}

const experimentFile = (named: string): string => (existsSync(named) ? named : recipePath(named));

const textOf = ({ call }: ParsedCall, option: string): string | null => {
  const value = call[option];
  return typeof value === 'string' ? value : null;
};

function outputOf(parsed: ParsedCall): string | null {
  const named = textOf(parsed, 'out') ?? textOf(parsed, 'resume');
  if (named !== null) return resolve(named);
  if (parsed.name !== 'experiment') return null;
  const file = experimentFile(textOf(parsed, 'recipe') ?? '');
  return resolve(join('runs', (readStudy(file) ?? readExperiment(file)).name));
}

async function expectInputs(parsed: ParsedCall): Promise<void> {
  const [recipe, resume, fork] = ['recipe', 'resume', 'fork'].map((option) => textOf(parsed, option));
  const settings = settingsOf(parsed.call);
  for (const run of [resume, fork?.replace(/@\d+$/, '')]) if (typeof run === 'string') RunDirectory.open(run);
  if (recipe === null) return;
  if (parsed.name === 'experiment') {
    const path = experimentFile(recipe);
    const study = readStudy(path);
    if (study === null) await planExperiment(readExperiment(path), path, settings);
    else await planStudy(study, '', { set: settings });
  }
  if (parsed.name === 'train' && fork === null) await resolveConfig(recipe, settings);
}

/** Starts a daemon unless one works: of several that start at once, one gets the lock, and the others end. */
async function startDaemon(queue: QueueFolder): Promise<void> {
  if (queue.isWorked) return;
  startDetached([...ownCommand(), 'queue', 'work'], join(queue.path, 'daemon.log'));
}

function jobText(queue: QueueFolder, { id, job, state }: QueueEntry): string {
  const where = state.slots.length > 0 ? ` on ${state.slots.join(',')}` : '';
  const priority = job.priority === 0 ? '' : ` priority ${job.priority}`;
  const head = `${padText(`${id}`, 4)} ${padText(`${state.state}${where}`, 15)}${priority} `;
  const isLost = state.state === 'failed' || state.state === 'refused';
  const facts = {
    why: job.why,
    resolved: job.resolve,
    'last line': isLost ? (lastLine(queue.file(id, 'log.txt')) ?? 'none') : '',
  };
  const lines = Object.entries(facts).flatMap(([name, text]) =>
    text === '' ? [] : [`      ${name}: ${visibleLine(text)}`],
  );
  return `${[`${head} ${visibleLine(shellLine('gq', ...job.words))}`, ...lines].join('\n')}\n`;
}

const idleText = (): string =>
  `no daemon works through the queue now; unless one was just started: ${gqLine('queue', 'work')}\n`;

/** After a restart of the machine nobody works through the queue, and what ran still counts as running. */
function tellIdle(queue: QueueFolder, entries: readonly QueueEntry[], { stderr }: CommandContext): void {
  const isLeft = entries.some(({ state }) => state.state === 'waiting' || state.state === 'running');
  if (isLeft && !queue.isWorked) stderr.write(idleText());
}
