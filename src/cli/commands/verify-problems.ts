/** `gq verify problems FILE`: runs every canonical solution on its problem's tests, and names the problems that are unsound. */
import { UserError } from '../../base/index.ts';
import { checkProblems, loadProblems, SandboxJudge, writeFiltered } from '../../env/index.ts';
import { argument, command, flag, word } from '../command.ts';
import { jsonOption } from '../options.ts';
import { expectNewFile, isSameFile, printAnswer } from '../outputs.ts';
import { sandboxOptions, startSandbox } from '../sandbox.ts';
import { Progress } from '../terminal/progress.ts';

/** The input itself is never a target: the problems that are dropped may be in no other file. */
function checkTarget(source: string, target: string, force: boolean): void {
  if (isSameFile(source, target)) {
    const expected = 'another file than the one that is read';
    throw new UserError({ call: `--write ${target}`, expected, found: 'the same' });
  }
  if (/\.parquet$/i.test(target)) {
    throw new UserError({ call: `--write ${target}`, expected: 'a .jsonl or .jsonl.gz file', found: '.parquet' });
  }
  expectNewFile(target, '--write', force);
  expectNewFile(`${target}.manifest.json`, '--write', force);
}

export const problemsCommand = command({
  arguments: {
    file: argument(
      '<file>',
      'problems in the format of the benchmark or of LeetCodeDataset, .jsonl, .jsonl.gz or .parquet',
    ),
  },
  options: {
    write: word('<file>', 'file to write the sound problems to, with a manifest of what was dropped and why'),
    force: flag('overwrite the file of --write'),
    ...sandboxOptions,
    json: jsonOption('the result'),
  },
  examples: ['gq verify problems problems.jsonl.gz', 'gq verify problems problems.jsonl --write sound.jsonl'],
  exits: { 1: 'a problem is unsound' },
  async run({ file, write: target, force, json, ...sandboxed }, context) {
    if (target !== undefined) checkTarget(file, target, force);
    const loaded = await loadProblems(file);
    await using sandbox = await startSandbox(sandboxed);
    const progress = new Progress(context.stderr, 'checked', loaded.loaded.length);
    const result = await checkProblems(loaded, new SandboxJudge(sandbox), (done) => progress.show(done));
    const manifest = target === undefined ? undefined : await writeFiltered(file, target, loaded, result);
    const { sound, unsound } = result;
    const problems = sound.length + unsound.length;
    const budgets = sound.map(({ id, cpuSeconds }) => ({ id, cpuSeconds }));
    const isolation = sandbox.report.level;
    printAnswer(context, json, { file, problems, sound: budgets, unsound, isolation }, () => {
      const lines = unsound.map(({ id, line, reason }) => `unsound  ${id} (line ${line}): ${reason}\n`);
      const written = manifest === undefined ? '' : `Wrote ${target} and ${manifest}\n`;
      return `${lines.join('')}${sound.length} of ${problems} problems are sound.\n${written}`;
    });
    context.exitCode = unsound.length === 0 ? 0 : 1;
  },
});
