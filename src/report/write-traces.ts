/**
 * Writes traces.md beside the figures: for every loophole a hack and a solve in full, with their prompts (A6 of the write-up). A file
 * that this program did not make is overwritten only when forced.
 */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { UserError, visible } from '../base/index.ts';
import { makeFolder, readRegularText, writeFileAtomic } from '../base/node/index.ts';
import type { Results } from './aggregate.ts';
import { type ExampleRollout, loopholeExamples } from './samples.ts';

const fileName = 'traces.md';
const heading = '# Traces, loophole by loophole (A6 of the write-up)';

export function expectOwnTraces(directory: string, force: boolean): void {
  const path = join(directory, fileName);
  if (force || !existsSync(path)) return;
  if (statSync(path).isFile() && readRegularText(path).startsWith(heading)) return;
  throw new UserError({
    call: `write ${path}`,
    expected: 'no such file, or the traces that gq wrote',
    found: 'something else',
    fix: 'Name another folder with --figures, or overwrite it with --force.',
  });
}

/** Returns the files that were written: none where no rollout hacks or solves. */
export async function writeTraces(results: Results, directory: string, force: boolean): Promise<string[]> {
  const examples = await loopholeExamples(results);
  if (examples.length === 0) return [];
  expectOwnTraces(directory, force);
  makeFolder(directory);
  const path = join(directory, fileName);
  await writeFileAtomic(path, `${[heading, ...examples.map(renderExample)].join('\n\n')}\n`);
  return [path];
}

function renderExample({ what, arm, rollout }: ExampleRollout): string {
  const { id, update, reward, prompt, completion, evidence } = rollout;
  const facts = `${arm}, rollout ${id}, update ${update}, reward ${reward}; evidence: ${evidence || 'none'}.`;
  return [
    `## ${what}`,
    facts,
    'Prompt:',
    fenced(visible(prompt.trimEnd())),
    'Completion:',
    fenced(visible(completion)),
  ].join('\n\n');
}

/** A block whose fence is longer than any run of backticks in it. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}text\n${text}\n${fence}`;
}
