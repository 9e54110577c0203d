/**
 * By what ways labels reach training: what an arm is given, what labels chose, and what a run inherits from models and from its parent.
 * Results never pool a run that any of them reached with others. By the same marks a run knows the quarantine of an earlier run in its base.
 */
import { UserError } from '../base/index.ts';
import { sha256Json } from '../base/node/index.ts';
import type { LabelledCompletion, Task } from '../grpo/index.ts';
import { joinMarks, labelMarksOf } from '../model/index.ts';
import { openJudged, type VerdictLedger } from '../oracle/index.ts';
import { hasTeacher, type Manifest, marksOf, type RunConfig, RunDirectory } from '../run/index.ts';
import { modelDirectory } from './model.ts';
import type { Lab } from './open.ts';
import { armOf, type Parts } from './parts.ts';

export async function labelSources(
  config: RunConfig,
  parts: Pick<Parts, 'arms'>,
  { pairsUseLabels }: { readonly pairsUseLabels: boolean },
  parent: Manifest['parent'] = null,
): Promise<string[]> {
  const { kind: _kind, ...settings } = config.arm;
  const arm = armOf(config, parts);
  const models = [config.model, ...arm.models(settings).filter((name) => name !== 'base')];
  const inherited = await Promise.all(models.map(inheritedWords));
  return [
    ...(arm.usesLabels(settings) ? [`the arm ${config.arm.kind} is given them`] : []),
    ...(hasTeacher(config) ? ['they chose the demonstrations'] : []),
    ...(pairsUseLabels ? ['they chose pairs'] : []),
    ...(config.notes.thresholds === 'labels' ? ['they chose thresholds (notes.thresholds)'] : []),
    ...inherited.flat(),
    ...(parent !== null && RunDirectory.open(parent.run).readManifest().usesOracle
      ? [`the run ${parent.run}, which it was forked from, used them`]
      : []),
  ];
}

/** A run with a quarantine of its own deletes that of its parent too, which is the same block of the same adapter. */
export async function earlierQuarantine(
  { model }: Pick<RunConfig, 'model'>,
  { parent, hasQuarantine }: Pick<Manifest, 'parent' | 'hasQuarantine'>,
): Promise<Pick<Manifest, 'earlierQuarantine'>> {
  const base = await labelMarksOf(modelDirectory(model));
  const forked = parent === null || hasQuarantine ? null : RunDirectory.open(parent.run).readManifest();
  const { quarantine } = joinMarks([base, ...(forked === null ? [] : [marksOf(forked, { deletes: false })])]);
  return quarantine === 'none' ? {} : { earlierQuarantine: quarantine };
}

/** Whether it is known what is an attempt, a hack and a solve: an environment outside may tell rewards alone. */
function tellsOutcomes({ source, config }: Pick<Lab, 'source' | 'config'>): boolean {
  const { kind: _kind, ...settings } = config.data;
  return source.texts?.outside?.tellsOutcomes(settings) ?? true;
}

/** Refuses what needs to know outcomes where the environment tells rewards alone. */
export function expectOutcomes(lab: Pick<Lab, 'source' | 'config'>, call: string): void {
  if (tellsOutcomes(lab)) return;
  throw new UserError({
    call,
    expected: 'an environment of which it is known what is an attempt, a hack and a solve',
    found: `rewards alone from ${lab.config.data['url']} (data.kind "${lab.source.kind}")`,
    fix: 'Ask a server that tells labels, such as gq env serve --labels, with data.labels=true.',
  });
}

/** What a run on an environment outside cannot have. */
export async function admitOutside(lab: Lab): Promise<void> {
  const { source, config, ranks, arm, armSettings, pool, warn } = lab;
  if ((source.texts?.outside ?? null) === null) return;
  if (ranks.ranks > 1) {
    const expected = `one process for data.kind "${source.kind}", which keeps what the environment says`;
    throw new UserError({ call: 'train', expected, found: `${ranks.ranks} ranks` });
  }
  if (tellsOutcomes(lab)) return;
  if (arm.usesLabels(armSettings)) expectOutcomes(lab, `config, key arm (${config.arm.kind})`);
  if (pool !== null) expectOutcomes(lab, 'config, key teacher');
  const message = `${config.data['url']} tells rewards alone: attempts, hacks and solves of this run are unknown, and counted nowhere`;
  await warn({ kind: 'warning', name: 'outcomes-unknown', message, detail: { kind: source.kind } });
}

async function inheritedWords(model: string): Promise<string[]> {
  const { labels } = await labelMarksOf(modelDirectory(model));
  if (labels === 'none') return [];
  const how =
    labels === 'used' ? 'was trained with them' : 'is an export that does not know how its adapter was trained';
  return [`the model ${model} ${how}`];
}

export async function hashArmRuns({ arm, armSettings, options }: Lab): Promise<ReadonlyMap<string, string>> {
  const paths = options.work === 'training' ? arm.runs(armSettings) : [];
  return new Map(await Promise.all(paths.map(async (path) => [path, await labelledHash(path)] as const)));
}

/** A hash of what a monitor may learn from a run: its rollouts with their labels, however the files are stored. */
export async function labelledHash(path: string): Promise<string> {
  let hash = '';
  for (const { id, problem, hackable, source, tokenIds, hack } of await (
    await openJudged(RunDirectory.open(path))
  ).rows()) {
    hash = sha256Json([hash, id, problem, hackable, source, tokenIds, hack]);
  }
  return hash;
}

/** Prompts are made anew, as this run shows them. Tokens mean the same only to the same model (`modelHash`). */
export async function labelledRollouts(
  path: string,
  tasks: readonly Task[],
  ledger: VerdictLedger,
  modelHash: string,
): Promise<LabelledCompletion[]> {
  const run = RunDirectory.open(path);
  const refuse = (expected: string, found: string, fix: string): UserError =>
    new UserError({ call: `read the rollouts of ${path}`, expected, found, fix });
  const { identity, config } = run.readManifest();
  if (identity.model !== modelHash) {
    throw refuse(
      'a run of the same model',
      `one of ${config.model}, whose weights have another hash`,
      'Its tokens would stand for other texts: name a run that was trained from this model.',
    );
  }
  const known = new Map(tasks.map((task) => [task.problem.id, task]));
  const found: LabelledCompletion[] = [];
  for (const { problem, hackable, source, tokenIds, hack } of await (await ledger.read(run)).rows()) {
    const task = known.get(problem);
    if (task === undefined || source !== 'student') continue;
    if (tokenIds === null) {
      throw refuse('a run that stored its tokens', 'none', 'Train it with output.storeTokens=true.');
    }
    const prompt = hackable ? task.hinted : task.unhinted;
    const tokens = Int32Array.from(tokenIds);
    found.push({ group: found.length, prompt, tokens, exploited: hack });
  }
  return found;
}
