/**
 * Answers about a folder that is only read, kept in the cache: the same question about the same files is answered at once. The
 * program's own files count too. Nothing is kept where the folder has no stamp (see folder-stamp.ts).
 */
import { join, resolve } from 'node:path';
import { cacheFolder, folderStamp, keepInCache, programStamp, readRegularText, sha256 } from '../base/node/index.ts';
import type { CommandContext } from './command.ts';

interface Answer {
  readonly out: string;
  readonly err: string;
  readonly exitCode: number;
}

const mostAnswers = 32;

/** Says what `answer` says about the folder, or what it said before. `question`: all else that decides the answer. */
export async function answerOnce(
  directory: string,
  question: readonly unknown[],
  context: CommandContext,
  answer: (context: CommandContext) => Promise<void>,
): Promise<void> {
  const key = keyOf(directory, question);
  if (key === null) return await answer(context);
  const path = join(cacheFolder('answers'), `${key}.json`);
  const { out, err, exitCode } = readAnswer(path) ?? (await makeAnswer(path, answer));
  context.stdout.write(out);
  if (err !== '') context.stderr.write(err);
  context.exitCode = exitCode;
}

async function makeAnswer(path: string, answer: (context: CommandContext) => Promise<void>): Promise<Answer> {
  let [out, err] = ['', ''];
  const context: CommandContext = {
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
    exitCode: 0,
  };
  await answer(context);
  const made = { out, err, exitCode: context.exitCode };
  await keepInCache(path, JSON.stringify(made), mostAnswers);
  return made;
}

/** The key of a question about the files as they are now; null if the answer must not be kept. */
function keyOf(directory: string, question: readonly unknown[]): string | null {
  const [program, files] = [programStamp(), folderStamp(directory)];
  if (program === null || files === null) return null;
  return sha256(JSON.stringify([directory, resolve(directory), question, program, files]));
}

function readAnswer(path: string): Answer | null {
  try {
    const { out, err, exitCode } = JSON.parse(readRegularText(path));
    const isWhole = typeof out === 'string' && typeof err === 'string' && typeof exitCode === 'number';
    return isWhole ? { out, err, exitCode } : null;
  } catch {
    return null;
  }
}
