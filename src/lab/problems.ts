/** The problems of a run, checked and split, and the judge of programs for them. */
import { UserError } from '../base/index.ts';
import { checkSoundness, type Judge, type Problem, SandboxJudge } from '../env/index.ts';
import { levelWanted, Sandbox } from '../env/sandbox/index.ts';
import { assertDisjoint, dealOut, type Refusal, type Splits } from '../env/sources/index.ts';
import type { Notice, RunConfig } from '../run/index.ts';
import { partsOf } from './config.ts';
import { coresLimit } from './cores.ts';
import { sourceOf } from './parts.ts';
import { Resources } from './resources.ts';

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
  const sandbox = await Sandbox.start({
    ...(cores === null ? {} : { workers: 2 * cores }),
    ...(environment.python === null ? {} : { python: environment.python }),
    strictLevel: levelWanted[environment.sandbox],
  });
  return new SandboxJudge(resources.use(sandbox), { loopholes });
}

/** The problems of a config by split. A sandbox is started only if it must check them. */
export async function readSplits(config: RunConfig): Promise<Splits> {
  await using resources = new Resources();
  const { isSound } = sourceOf(config, await partsOf(config));
  return openProblems(config, isSound ? null : await openJudge(config, resources));
}

/** Without a judge, problems are not checked against their own tests. */
export async function openProblems(config: RunConfig, judge: Judge | null, warn: Warn = silent): Promise<Splits> {
  const source = sourceOf(config, await partsOf(config));
  const { kind: _kind, ...settings } = config.data;
  const loaded = await source.load(settings);
  const tell = async (refused: readonly Refusal[]): Promise<void> => {
    for (const { id, reason } of refused) {
      const message = `problem ${id} is left out: ${reason}`;
      await warn({ kind: 'warning', name: 'problem-left-out', message, detail: { problem: id, reason } });
    }
  };
  const keepSound = async (problems: readonly Problem[]): Promise<readonly Problem[]> => {
    if (source.isSound || judge === null) return problems;
    const { sound, unsound } = await checkSoundness(problems, judge);
    await tell(unsound);
    return sound;
  };
  const expectSome = (splits: Splits): Splits => {
    if (splits.train.length > 0) return splits;
    throw new UserError({
      call: `problem source ${source.kind}`,
      expected: 'at least one problem to train on',
      found: 'none that is sound',
    });
  };
  if ('problems' in loaded) {
    await tell(loaded.refused);
    return expectSome(dealOut(await keepSound(loaded.problems)));
  }
  const splits = assertDisjoint({
    train: await keepSound(loaded.train),
    validation: await keepSound(loaded.validation),
    test: await keepSound(loaded.test),
  });
  return expectSome(splits);
}
