/**
 * Problems that passed their check before are not run again at every start: their CPU budgets are kept in the cache, under a key of the
 * problems, the program, its plugins, Python, the sandbox and the processor. A problem that failed is always checked again, since what
 * was wrong may have been the machine.
 */
import { existsSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { cacheFolder, keepInCache, programStamp, readRegularText, sha256Json } from '../base/node/index.ts';
import { checkSoundness, type Problem, type SandboxJudge, type SoundProblems } from '../env/index.ts';
import { problemsHash, type RunConfig } from '../run/index.ts';
import { pluginRecords } from './plugins.ts';

/** Sets whose budgets are kept. */
const mostKept = 200;
/** A check that takes less is not worth a file. */
const shortMs = 500;

/** The CPU budgets of sound problems, by their ids. */
const budgetsSchema = z.array(z.tuple([z.string(), z.number().positive()]));

export async function keptSoundness(
  problems: readonly Problem[],
  judge: SandboxJudge,
  { plugins }: Pick<RunConfig, 'plugins'>,
  leastMs = shortMs,
): Promise<SoundProblems> {
  const program = programStamp();
  if (program === null || problems.length === 0) return checkSoundness(problems, judge);
  const { python, level, layers } = judge.report;
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

/** Nothing where nothing is kept, or what is kept cannot be read. */
function readBudgets(file: string): ReadonlyMap<string, number> {
  if (!existsSync(file)) return new Map();
  try {
    return new Map(budgetsSchema.parse(JSON.parse(readRegularText(file))));
  } catch {
    return new Map();
  }
}
