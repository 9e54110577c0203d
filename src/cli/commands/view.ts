/** `gq view [DIR]`: serves the viewer until Ctrl-C; with --to it writes the same pages as files. `gq playground --to DIR` writes the lab in a page. */
import { constants, setPriority } from 'node:os';
import { shellLine } from '../../base/index.ts';
import { createFolder, stopSignals } from '../../base/node/index.ts';
import { gqLine } from '../../base/node/own-program.ts';
import { findEntries } from '../../view/catalogue.ts';
import { openPage, startView, writeBundle } from '../../view/index.ts';
import { writePlayground } from '../../view/playground.ts';
import { type CommandContext, type CommandResult, command, whole, word } from '../command.ts';
import { expectAbsent, expectNewFolder, portOption, tokenFrom } from '../shared.ts';
import { Waiting } from '../terminal/progress.ts';

const tokenVariable = 'GQ_VIEW_TOKEN';

export const viewCommand = command({
  arguments: { dir: word('[dir]', 'a folder of runs, an experiment, or a run', 'runs') },
  options: {
    port: portOption(4717),
    host: word('<address>', 'address to listen on', '127.0.0.1'),
    to: word('<folder>', 'write the pages into this new folder, and serve nothing'),
  },
  json: 'what --to wrote as JSON',
  notes: `The address that is printed has a token in it: other users of this machine need it to look or to write.
It is a new one each time, or that of ${tokenVariable}; programs send it as "Authorization: Bearer TOKEN".`,
  examples: [
    'gq view',
    'gq view runs/micro-claim',
    `${tokenVariable}=secret gq view runs --port 0`,
    'gq view runs/micro-claim --to claim-page',
  ],
  exits: { 0: 'written, or ended by Ctrl-C', 1: '--to: a page could not be made, and is left out' },
  async run(call, context) {
    const { dir, host, port, to } = call;
    if (to !== undefined) return await writePages(dir, to, context);
    expectAbsent(call, ['json'], 'without --to');
    standBack();
    const token = tokenFrom(tokenVariable, 'gq view');
    await using view = await startView(dir, await openPage(), { host, port, token: token ?? undefined });
    if (findEntries(dir).length === 0) {
      context.stderr.write(`${dir} has no runs yet; this makes three: ${gqLine('demo', '--quick')}\n`);
    }
    context.stdout.write(`${view.address}\n`);
    context.stderr.write('Open this address in a browser; Ctrl-C ends it.\n');
    await new Promise<void>((resolve) => {
      for (const signal of stopSignals()) process.once(signal, resolve);
    });
    return undefined;
  },
});

/** Runs that train on this machine come first. */
function standBack(): void {
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // A system that forbids it serves the viewer like any other program.
  }
}

async function writePages(directory: string, to: string, { stderr }: CommandContext): Promise<CommandResult> {
  expectNewFolder(to, '--to');
  using waiting = new Waiting(stderr);
  waiting.on('building the page');
  const page = await openPage();
  const written = await createFolder(to, (folder) =>
    writeBundle(directory, folder, page, (name) => waiting.on(`reading ${name}`)),
  );
  for (const { page, why } of written.leftOut) stderr.write(`left out: ${page}: ${why}\n`);
  const size = `${(written.wholeBytes / 1e6).toFixed(1)} MB`;
  const text = `${to}/index.html: ${written.runs} runs, for any web server
${to}/view.html: the same in one file of ${size}, opens from disk
`;
  return { value: { folder: to, ...written }, text: () => text, isNo: written.leftOut.length > 0 };
}

export const playgroundCommand = command({
  options: {
    to: word('<folder>', 'the new folder for the page and all that it needs', 'playground'),
    updates: whole('<n>', 'updates that a lane trains at most', { least: 1, usual: 100 }),
  },
  json: 'what was written as JSON',
  notes: `The page trains in the reader's browser: it asks its server for nothing but these files, and opened as a file it says how to serve it. Threads need a page that is isolated, which
its own service worker sees to over https or on localhost; elsewhere it trains with one thread.`,
  examples: ['gq playground --to playground', 'gq playground --to playground --updates 60'],
  async run({ to, updates }, context) {
    expectNewFolder(to, '--to');
    using waiting = new Waiting(context.stderr);
    waiting.on('building the page');
    const written = await createFolder(to, (folder) => writePlayground(folder, updates));
    const size = `${(written.bytes / 1e6).toFixed(1)} MB, ${(written.gzippedBytes / 1e6).toFixed(1)} MB gzipped`;
    const call = shellLine('python3', '-m', 'http.server', '-d', to);
    const text = `${to}: ${written.files} files, ${size}\nTo look at it, serve the folder and open http://localhost:8000: ${call}\n`;
    return { value: { folder: to, ...written }, text: () => text };
  },
});
