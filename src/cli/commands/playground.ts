/** `gq playground --to DIR`: writes the lab in a page as files for any static server. */
import { shellLine } from '../../base/index.ts';
import { writePlayground } from '../../view/playground.ts';
import { command, whole, word } from '../command.ts';
import { expectNewFolder } from '../shared.ts';
import { Waiting } from '../terminal/progress.ts';

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
    const written = await writePlayground(to, updates);
    const size = `${(written.bytes / 1e6).toFixed(1)} MB, ${(written.gzippedBytes / 1e6).toFixed(1)} MB gzipped`;
    const call = shellLine('python3', '-m', 'http.server', '-d', to);
    const text = `${to}: ${written.files} files, ${size}\nTo look at it, serve the folder: ${call}\n`;
    return { value: { folder: to, ...written }, text: () => text };
  },
});
