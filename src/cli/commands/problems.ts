/** `gq problems check FILE`: runs every canonical solution on its problem's tests, and names the problems that are unsound. */
import { Buffer } from 'node:buffer';
import { gzipSync } from 'node:zlib';
import type { Command } from 'commander';
import { UserError } from '../../base/index.ts';
import { sha256File, writeFileAtomic } from '../../base/node/index.ts';
import { checkProblems, type LoadedProblems, loadProblems, SandboxJudge, type Soundness } from '../../env/index.ts';
import { Sandbox, type SandboxPolicy } from '../../env/sandbox/index.ts';
import type { CommandContext } from '../command.ts';
import { examplesText } from '../command.ts';
import { expectNewFile, isSameFile } from '../outputs.ts';
import { levelOfCall, sandboxOption } from '../sandbox-option.ts';
import { Progress } from '../terminal/progress.ts';
import { parseCount } from '../values.ts';

interface CheckOptions {
  readonly write?: string;
  readonly python?: string;
  readonly workers?: number;
  readonly force?: true;
  readonly sandbox?: SandboxPolicy;
  readonly json?: true;
}

/** Writes the sound lines unchanged, and beside them a manifest of what was dropped and why. */
async function writeFiltered(
  source: string,
  target: string,
  loaded: LoadedProblems,
  result: Soundness,
): Promise<string> {
  const sound = new Map(result.sound.map((problem) => [problem.id, problem]));
  const kept = loaded.loaded.filter(({ problem }) => sound.has(problem.id));
  const text = kept.map(({ record }) => `${record.text}\n`).join('');
  await writeFileAtomic(target, target.endsWith('.gz') ? gzipSync(Buffer.from(text)) : text);
  const manifest = {
    source,
    sourceSha256: await sha256File(source),
    sha256: await sha256File(target),
    kept: result.sound.map(({ id, cpuSeconds }) => ({ id, cpuSeconds })),
    dropped: result.unsound,
  };
  const manifestPath = `${target}.manifest.json`;
  await writeFileAtomic(manifestPath, `${JSON.stringify(manifest, null, 2)}\n`);
  return manifestPath;
}

/** The input itself is never a target: the problems that are dropped may be in no other file. */
function checkTarget(source: string, target: string, force: boolean | undefined): void {
  if (isSameFile(source, target)) {
    throw new UserError({
      call: `--write ${target}`,
      expected: 'another file than the one that is read',
      found: 'the same',
    });
  }
  if (/\.parquet$/i.test(target)) {
    throw new UserError({ call: `--write ${target}`, expected: 'a .jsonl or .jsonl.gz file', found: '.parquet' });
  }
  expectNewFile(target, '--write', force);
  expectNewFile(`${target}.manifest.json`, '--write', force);
}

async function check(file: string, options: CheckOptions, context: CommandContext): Promise<void> {
  const { write: target } = options;
  if (target !== undefined) checkTarget(file, target, options.force);
  const loaded = await loadProblems(file);
  await using sandbox = await Sandbox.start({
    ...(options.python !== undefined && { python: options.python }),
    ...(options.workers !== undefined && { workers: options.workers }),
    strictLevel: levelOfCall(options),
  });
  const progress = new Progress(context.stderr, 'checked', loaded.loaded.length);
  const result = await checkProblems(loaded, new SandboxJudge(sandbox), (done) => progress.show(done));
  const manifest = options.write === undefined ? undefined : await writeFiltered(file, options.write, loaded, result);
  const { sound, unsound } = result;
  if (options.json) {
    const budgets = sound.map(({ id, cpuSeconds }) => ({ id, cpuSeconds }));
    const answer = {
      file,
      problems: sound.length + unsound.length,
      sound: budgets,
      unsound,
      isolation: sandbox.report.level,
    };
    context.stdout.write(`${JSON.stringify(answer, null, 2)}\n`);
  } else {
    for (const { id, line, reason } of unsound) context.stdout.write(`unsound  ${id} (line ${line}): ${reason}\n`);
    context.stdout.write(`${sound.length} of ${sound.length + unsound.length} problems are sound.\n`);
    if (manifest !== undefined) context.stdout.write(`Wrote ${options.write} and ${manifest}\n`);
  }
  context.exitCode = unsound.length === 0 ? 0 : 1;
}

export function configureProblems(command: Command, context: CommandContext): void {
  command.addHelpText('after', examplesText('gq problems check problems.jsonl.gz'));
  command.helpCommand(false);
  command
    .command('check')
    .description('run every canonical solution against its own tests; exit 1 when a problem is unsound')
    .argument('<file>', 'problems in the format of the benchmark or of LeetCodeDataset, .jsonl, .jsonl.gz or .parquet')
    .option('--write <file>', 'file to write the sound problems to, with a manifest of what was dropped and why')
    .option('--force', 'overwrite the file of --write')
    .option('--python <name>', 'the Python that runs programs (default: python3)')
    .option('--workers <n>', 'number of programs side by side (default: twice the number of cores)', parseCount)
    .addOption(sandboxOption())
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      examplesText('gq problems check problems.jsonl.gz', 'gq problems check problems.jsonl --write sound.jsonl'),
    )
    .action((file: string, options: CheckOptions) => check(file, options, context));
}
