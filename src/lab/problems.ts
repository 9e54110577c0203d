/** The problems of a run, checked and split, and the judge of programs for them. */
import { mapPool, UserError } from '../base/index.ts';
import { checkSoundness, type Judge, type Problem, SandboxJudge, type SoundProblems } from '../env/index.ts';
import { levelWanted } from '../env/sandbox/index.ts';
import { describeUse, type Refusal, type Split, type Splits, type SplitUse, useOf } from '../env/sources/index.ts';
import type { Notice } from '../run/index.ts';
import { coresLimit } from './cores.ts';
import { expectDataFiles } from './input-checks.ts';
import { keptSoundness } from './kept-soundness.ts';
import type { Lab } from './open.ts';
import { borrowSandbox } from './sandboxes.ts';

/** Is given the notices of a run's preparation, such as what was left out and why. */
export type Warn = (notice: Notice) => void | Promise<void>;
export const silent: Warn = () => undefined;

/** The sandboxed judge of programs. It ends with the lab's signal, whatever it judges then. */
export async function startJudge(lab: Pick<Lab, 'config' | 'parts' | 'signal' | 'use'>): Promise<Judge> {
  const { python, sandbox } = lab.config.environment;
  const cores = coresLimit();
  const options = {
    ...(cores === null ? {} : { workers: 2 * cores }),
    ...(python === null ? {} : { python }),
    strictLevel: levelWanted[sandbox],
  };
  const borrowed = lab.use(await borrowSandbox(options, lab.signal));
  return new SandboxJudge(borrowed.sandbox, { loopholes: lab.parts.loopholes });
}

const splitNames = ['train', 'validation', 'test'] as const satisfies readonly Split[];

export interface OpenedProblems {
  readonly splits: Splits;
  readonly use: SplitUse;
}

/**
 * Loads the problems of a config. Those that cannot be used are left out, which the lab warns of, once for every split. The judge is
 * asked for only if problems must be checked against their own tests; `anew` checks those too that passed before.
 */
export async function openProblems(
  lab: Pick<Lab, 'config' | 'source' | 'judge' | 'warn'>,
  { anew = false }: { readonly anew?: boolean } = {},
): Promise<OpenedProblems> {
  const { config, source } = lab;
  expectDataFiles(config, source);
  const check = (problems: readonly Problem[], by: Judge) =>
    by instanceof SandboxJudge && !anew ? keptSoundness(problems, by, config) : checkSoundness(problems, by);
  // Its processes start while the problems are read.
  const judge = source.isSound ? null : lab.judge;
  const { kind: _kind, ...settings } = config.data;
  const loaded = await source.load(settings);
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
