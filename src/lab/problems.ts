/** The problems of a run, checked and split, and the judge of programs for them. */
import { mapPool, UserError } from '../base/index.ts';
import { checkSoundness, type Judge, type Problem, SandboxJudge, type SoundProblems } from '../env/index.ts';
import { levelWanted } from '../env/sandbox/index.ts';
import { describeUse, type Refusal, type Split, type Splits, type SplitUse, useOf } from '../env/sources/index.ts';
import type { Notice, RunConfig } from '../run/index.ts';
import { partsOf } from './config.ts';
import { coresLimit } from './cores.ts';
import { keptSoundness } from './kept-soundness.ts';
import { sourceOf } from './parts.ts';
import { Resources } from './resources.ts';
import { borrowSandbox } from './sandboxes.ts';

/** Is given the notices of a run's preparation, such as what was left out and why. */
export type Warn = (notice: Notice) => void | Promise<void>;
export const silent: Warn = () => undefined;

/** The sandboxed judge of programs, with the loopholes that the config's plugins add. */
export async function openJudge(
  { environment, plugins }: Pick<RunConfig, 'environment' | 'plugins'>,
  resources: Resources,
): Promise<Judge> {
  const { loopholes } = await partsOf({ plugins });
  const cores = coresLimit();
  const borrowed = await borrowSandbox({
    ...(cores === null ? {} : { workers: 2 * cores }),
    ...(environment.python === null ? {} : { python: environment.python }),
    strictLevel: levelWanted[environment.sandbox],
  });
  return new SandboxJudge(resources.use(borrowed).sandbox, { loopholes });
}

/** The problems of a config by split. A sandbox is started only if it must check them. */
export async function readSplits(config: RunConfig, warn: Warn = silent): Promise<Splits> {
  await using resources = new Resources();
  const { isSound } = sourceOf(config, await partsOf(config));
  return (await openProblems(config, isSound ? null : await openJudge(config, resources), warn)).splits;
}

const splitNames = ['train', 'validation', 'test'] as const satisfies readonly Split[];

export interface OpenedProblems {
  readonly splits: Splits;
  readonly use: SplitUse;
}

/**
 * Loads the problems of a config. Those that cannot be used are left out, which `warn` is told, once for every split. Without a judge,
 * problems are not checked against their own tests; one that is being started is waited for once they are read. `anew` checks those
 * too that passed before.
 */
export async function openProblems(
  config: RunConfig,
  judge: Judge | null | Promise<Judge>,
  warn: Warn,
  { anew = false }: { readonly anew?: boolean } = {},
): Promise<OpenedProblems> {
  const check = (problems: readonly Problem[], by: Judge) =>
    by instanceof SandboxJudge && !anew ? keptSoundness(problems, by, config) : checkSoundness(problems, by);
  const source = sourceOf(config, await partsOf(config));
  const { kind: _kind, ...settings } = config.data;
  const loaded = await source.load(settings);
  const refused: Refusal[] = [...loaded.refused];
  const by = await judge;
  const findSound = async (split: Split): Promise<SoundProblems> => {
    if (source.isSound || by === null) return { sound: loaded.splits[split], unsound: [] };
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
    await warn({ kind: 'warning', name: 'problems-left-out', message, detail: { split, ...use[split] } });
  }
  if (splits.train.length > 0) return { splits, use };
  throw new UserError({
    call: `problem source ${source.kind}`,
    expected: 'at least one problem to train on',
    found: 'none that is sound',
  });
}
