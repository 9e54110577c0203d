/** The problems of a run, checked and split. The CPU budgets of those that passed their check are kept in the cache. */
import { existsSync, statSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { Complaint } from '../base/errors.ts';
import { mapPool, UserError } from '../base/index.ts';
import { cacheFolder, keepInCache, programStamp, readRegularText, sha256Json } from '../base/node/index.ts';
import type { Judge, Partition, Problem, SoundProblems } from '../env/index.ts';
import { checkSoundness, SandboxJudge } from '../env/index.ts';
import { type ProgramProblem, programOf } from '../env/problem.ts';
import type { ProblemSource, Refusal, Split, Splits, SplitUse } from '../env/sources/index.ts';
import { describeUse, expectNoKnownTest, useOf } from '../env/sources/index.ts';
import { splitNames } from '../env/sources/splits.ts';
import type { Task } from '../grpo/index.ts';
import { partitionOf, problemsHash, type RunConfig, trainingTasks } from '../run/index.ts';
import { partsOf } from './config.ts';
import { sourcePlace } from './judge.ts';
import { missingModel, withModelHint } from './model.ts';
import type { Lab } from './open.ts';
import { sourceOf } from './parts.ts';
import { pluginRecords } from './plugins.ts';

/** The judge is asked for only if problems must be checked; `anew` checks those too that passed before. */
export async function openProblems(
  lab: Pick<Lab, 'config' | 'source' | 'judge' | 'run' | 'manifest' | 'signal' | 'use' | 'warn' | 'ranks'>,
  { anew = false }: { readonly anew?: boolean } = {},
): Promise<{ readonly splits: Splits; readonly use: SplitUse }> {
  const { config, source } = lab;
  expectNone(missingFiles(config, source));
  const check = (problems: readonly Problem[], by: Judge) =>
    by instanceof SandboxJudge && !anew
      ? keptSoundness(problems.map(programOf), by, config)
      : checkSoundness(problems, by);
  // Its processes start while the problems are read.
  const judge = source.isSound ? null : lab.judge;
  const { kind: _kind, ...settings } = config.data;
  const loaded = await source.load(settings, sourcePlace(lab));
  expectNoKnownTest(loaded.splits, source.kind);
  const refused: Refusal[] = [...loaded.refused];
  const by = await judge;
  const findSound = async (split: Split): Promise<SoundProblems> => {
    if (by === null) return { sound: loaded.splits[split], unsound: [] };
    return check(loaded.splits[split], by);
  };
  // A sandbox has its own queue; another judge says how many programs it takes at once.
  const together = by instanceof SandboxJudge ? splitNames.length : 1;
  const kept = await mapPool(splitNames, together, findSound);
  kept.forEach(({ unsound }, i) => {
    refused.push(...unsound.map(({ id, reason }) => ({ id, reason, split: splitNames[i] })));
  });
  const [train, validation, test] = kept.map(({ sound }) => sound);
  const splits: Splits = { train, validation, test };
  const use = useOf(splits, refused);
  for (const { split, message } of describeUse(use)) {
    await lab.warn({ kind: 'warning', name: 'problems-left-out', message, detail: { split, ...use[split] } });
  }
  if (splits.train.length > 0) return { splits, use };
  throw new UserError({
    call: `problem source ${source.kind}`,
    expected: 'at least one problem to train on',
    found: 'none that is sound',
  });
}

export const dealLoopholes = async ({ config, parts, problems }: Lab): Promise<Partition> =>
  partitionOf(config, (await problems).splits, parts.loopholes);

export async function tasksOf(
  { config, parts, model, partition }: Lab,
  problems: readonly Problem[],
  loopholes: 'open' | 'closed',
): Promise<Task[]> {
  const [{ text }, dealt] = await Promise.all([model, partition]);
  const words = { text, loopholes: parts.loopholes };
  return withModelHint(config, async () => trainingTasks(config, problems, dealt, words, loopholes));
}

/** Before anything is opened: all that a config names and that is not there, files of problems and the model, is told at once. */
export async function expectInputs(config: RunConfig): Promise<void> {
  const source = sourceOf(config, await partsOf(config));
  expectNone([...missingFiles(config, source), ...missingModel(config)]);
}

function missingFiles(config: RunConfig, { files }: ProblemSource): Complaint[] {
  return files.flatMap((key) => {
    const path = config.data[key];
    if (typeof path !== 'string') return [];
    const found = statSync(path, { throwIfNoEntry: false });
    if (found !== undefined && !found.isDirectory()) return [];
    return {
      call: `config, key data.${key}`,
      expected: 'a file of problems',
      found: `${found === undefined ? 'no such file' : 'a folder'}: ${path}`,
      fix: 'Check the path: a relative one begins in the folder of its recipe, in --set in the working folder.',
    };
  });
}

function expectNone(missing: readonly Complaint[]): void {
  if (missing.length === 0) return;
  if (missing.length === 1) throw new UserError(missing[0]);
  throw new UserError({
    call: 'inputs of the run',
    expected: 'all that its config names',
    found: `${missing.length} missing: ${missing.map(({ call, expected, found }) => `${call}: expected ${expected}, found ${found}`).join('; ')}`,
    fix: [...new Set(missing.flatMap(({ fix }) => fix ?? []))].join(' '),
  });
}

const mostKept = 200;
/** A check that takes less is not worth a file. */
const shortMs = 500;

const budgetsSchema = z.array(z.tuple([z.string(), z.number().positive()]));

export async function keptSoundness(
  problems: readonly ProgramProblem[],
  judge: SandboxJudge,
  { plugins }: Pick<RunConfig, 'plugins'>,
  leastMs = shortMs,
): Promise<SoundProblems<ProgramProblem>> {
  const program = programStamp();
  if (program === null || problems.length === 0) return checkSoundness(problems, judge);
  const { python, level, layers } = judge.runner.report;
  const code = pluginRecords(plugins).map(({ hash }) => hash);
  const processor = cpus()[0]?.model ?? '';
  const key = sha256Json({ program, code, python, level, layers, processor, problems: problemsHash(problems) });
  const file = join(cacheFolder('soundness'), `${key}.json`);
  const known = readBudgets(file);
  const start = performance.now();
  const { sound: checked, unsound } = await checkSoundness(
    problems.filter(({ id }) => !known.has(id)),
    judge,
  );
  const budgets = new Map([...known, ...checked.map(({ id, cpuSeconds }) => [id, cpuSeconds ?? 0] as const)]);
  if (checked.length > 0 && performance.now() - start >= leastMs) {
    await keepInCache(file, `${JSON.stringify([...budgets])}\n`, mostKept);
  }
  const sound = problems.flatMap((problem) => {
    const cpuSeconds = budgets.get(problem.id);
    return cpuSeconds === undefined ? [] : [{ ...problem, cpuSeconds }];
  });
  return { sound, unsound };
}

function readBudgets(file: string): ReadonlyMap<string, number> {
  if (!existsSync(file)) return new Map();
  try {
    return new Map(budgetsSchema.parse(JSON.parse(readRegularText(file))));
  } catch {
    return new Map();
  }
}
