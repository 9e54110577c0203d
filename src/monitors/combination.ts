/**
 * A monitor, a cut and a remedy together: whether they fit, what the combination costs and what its placebos are, and the arm that it
 * makes. Everything follows from the three definitions, so that a part of a plugin goes with all that it fits.
 */
import { UserError } from '../base/index.ts';
import { setApart } from '../grpo/advantage.ts';
import type { Arm, ArmMeaning, ArmUse, Watched } from '../grpo/arm.ts';
import type { ArmTools } from '../grpo/arm-tools.ts';
import { type CutDefinition, chosenCut } from './cut.ts';
import { openGated, remembersFeatures } from './gates.ts';
import type { Cost, KindTable, Monitor, MonitorDefinition, PartTables } from './monitor.ts';
import type { Acts, RemedyDefinition, Told } from './remedy.ts';
import { type Abstain, openInTime, type WatchHooks, watchHooks } from './watch.ts';

/** All parts that an arm which watches may be made of. */
export interface GridParts {
  readonly monitors: readonly MonitorDefinition[];
  readonly cuts: readonly CutDefinition[];
  readonly remedies: readonly RemedyDefinition[];
}

interface Chosen<Definition> {
  readonly definition: Definition;
  readonly settings: Readonly<Record<string, unknown>>;
}

export interface Combination {
  readonly monitor: Chosen<MonitorDefinition>;
  readonly cut: Chosen<CutDefinition>;
  readonly remedy: Chosen<RemedyDefinition>;
  readonly abstain: Abstain;
  readonly tables: PartTables;
}

/** The parts that the tables name. */
export function combineParts(tables: PartTables, { monitors, cuts, remedies }: GridParts): Combination {
  const { abstain = 'error', ...monitor } = tables.monitor;
  const chosen = choose(monitors, monitor as KindTable, 'monitor');
  return {
    monitor: chosen,
    cut: choose(cuts, tables.cut, 'cut'),
    remedy: choose(remedies, tables.remedy, 'remedy'),
    abstain: abstain as Abstain,
    tables: { monitor: monitor as KindTable, cut: tables.cut, remedy: tables.remedy },
  };
}

function choose<Definition extends { readonly kind: string }>(
  definitions: readonly Definition[],
  { kind, ...settings }: KindTable,
  part: string,
): Chosen<Definition> {
  const definition = definitions.find((each) => each.kind === kind);
  if (definition !== undefined) return { definition, settings };
  const expected = definitions.map((each) => each.kind).join(', ');
  throw new UserError({ call: `config, key arm.${part}.kind`, expected, found: kind });
}

/** What is wrong with a combination: the part and the key that stand against the others, and why. */
export interface Misfit {
  readonly part: keyof PartTables;
  readonly key: string;
  readonly message: string;
}

export function misfits(combination: Combination, settingOf: SettingOf): Misfit[] {
  const parts = (['monitor', 'cut', 'remedy'] as const).flatMap((part) => {
    const { definition, settings } = combination[part];
    const issues = definition.settings.safeParse(settings).error?.issues ?? [];
    return issues.map(({ path, message }) => ({ part, key: path.map(String).join('.'), message }));
  });
  return parts.length > 0 ? parts : [...misfitsTogether(combination), ...misplacedDeal(combination, settingOf)];
}

function misfitsTogether({ monitor, cut, remedy, tables }: Combination): Misfit[] {
  const { kind, gives, scores } = monitor.definition;
  const { needs } = cut.definition;
  const byToken = monitor.settings['granularity'] === 'token';
  const isGate = remembersFeatures(tables.cut);
  const found = (part: keyof PartTables, key: string, expected: string): Misfit => ({
    part,
    key,
    message: `expected ${expected}, found ${JSON.stringify(tables[part][key])}`,
  });
  const cutKey = cut.settings['memory'] === 'features' ? 'memory' : 'kind';
  return [
    ...(isGate && !gives.includes('direction')
      ? [found('cut', cutKey, `another cut with the monitor ${kind}: only a direction has scores of the pairs, and scores earlier features anew`)] // biome-ignore format: one line
      : []),
    ...(needs === 'clean scores' && !gives.includes('clean scores')
      ? [found('cut', 'kind', `another cut with the monitor ${kind}, which scores no completions that are known to be clean`)] // biome-ignore format: one line
      : []),
    ...(needs === 'scores' && scores === 'flags'
      ? [found('cut', 'kind', `a fixed cut with the monitor ${kind}, whose scores are 0 or 1: nothing is there to calibrate`)] // biome-ignore format: one line
      : []),
    ...(needs === 'monitor' && monitor.definition.usualCut.kind !== 'own'
      ? [found('cut', 'kind', `a cut that is named with the monitor ${kind}, which gives none itself`)]
      : []),
    ...(byToken && !remedy.definition.quarantine
      ? [found('remedy', 'kind', 'route with scores by token: rewards and advantages belong to whole rollouts')]
      : []),
    ...(byToken && !isGate
      ? [found('cut', needs === 'scores' ? 'memory' : 'kind', 'a cut of remembered features or of the pairs with scores by token: the others are at the scale of whole rollouts')] // biome-ignore format: one line
      : []),
    ...(remedy.definition.needs === 'probabilities' && gives.includes('direction')
      ? [found('remedy', 'kind', `a remedy by flags with the monitor ${kind}, whose scores are no probabilities`)]
      : []),
    ...(remedy.definition.needs === 'slopes' && !gives.includes('slopes')
      ? [found('remedy', 'kind', `another remedy with the monitor ${kind}, whose score is no smooth probability of activations`)] // biome-ignore format: one line
      : []),
  ];
}

/** Routes that are dealt out after advantages are known are no placebo of an own mean: the message has the settings of those that are. */
function misplacedDeal({ monitor, cut, remedy, tables }: Combination, settingOf: SettingOf): Misfit[] {
  const { mean, placebo } = remedy.settings;
  if (remedy.definition.kind !== 'route' || mean !== 'own' || (placebo ?? 'none') === 'none') return [];
  const setting = settingOf('monitor', 'placebo');
  const random = monitor.definition.placebos.includes('haar') && setting !== null ? [`${setting}=haar`] : [];
  const chance = tables.monitor.kind === 'chance' ? [] : chancePlacebo(cut.definition, settingOf);
  const lines = [...random, ...chance].map((line) => `set = ${JSON.stringify(line.split(' ')).replaceAll(',', ', ')}`);
  const share = chance.length === 0 ? '' : '; SHARE is what is flagged in the run of the gate (gq measure monitor RUN)';
  const instead =
    lines.length === 0
      ? ''
      : `: in place of ${settingOf('remedy', 'placebo')}=${placebo} write ${lines.join(' or ')} below the placebo's [[arms]] of the experiment, or each by --set${share}`;
  const message = `expected "group" with the placebo "${placebo}", which deals out routes after advantages are known, found "own"${instead}`;
  return [{ part: 'remedy', key: 'mean', message }];
}

/** What a combination is called in tables. */
export function combinedLabel({ monitor, cut, remedy }: Combination): string {
  const name = monitor.definition.label(monitor.settings);
  const usual = cut.definition.kind === monitor.definition.usualCut.kind;
  const words = cut.definition.words(cut.settings, usual);
  const comma = words !== '' && name.includes(' by layer, ') ? ',' : '';
  return `${remedy.definition.words(remedy.settings)} by ${name}${comma}${words}`;
}

export function combinedUses({ monitor, remedy }: Combination): readonly ArmUse[] {
  return [...monitor.definition.uses(monitor.settings), ...(remedy.definition.quarantine ? (['routes'] as const) : [])];
}

const costWords: Readonly<Record<Cost, string>> = {
  pairs: 'readings of the pairs',
  readings: 'a reading of every rollout in deployed state',
  gradients: 'a reading and a gradient of every rollout in deployed state',
  judge: "a reading of every rollout by the judge's model",
  requests: "a request to the judge's endpoint for every rollout",
  labels: 'labels of the run',
  'labelled run': 'labels of another run',
};

/** What is set to change a key of a part; null for a key that cannot be set. */
type SettingOf = (part: keyof PartTables, key: string) => string | null;

/** The monitor that flags at random. Its flags leave nothing to calibrate, so a cut that comes from scores goes. */
function chancePlacebo({ needs }: CutDefinition, settingOf: SettingOf): string[] {
  const [kind, rate, cut] = [settingOf('monitor', 'kind'), settingOf('monitor', 'rate'), settingOf('cut', 'kind')];
  if (kind === null) return [];
  const isCalibrated = needs === 'scores' || needs === 'clean scores';
  // In a table of former keys the cut has no kind of its own.
  const fixed = isCalibrated && cut !== null && cut !== kind ? [`${cut}=fixed`] : [];
  return [[`${kind}=chance`, `${rate}=SHARE`, ...fixed].join(' ')];
}

/** What a combination is, for readers of a config. */
export function describeCombination(
  { monitor, cut, remedy, abstain, tables }: Combination,
  settingOf: SettingOf,
): ArmMeaning {
  const parts = { monitor, cut, remedy, abstain, tables };
  /** The settings that name a placebo of a part, of those that go with the other settings. */
  const placebosOf = (part: 'monitor' | 'remedy'): string[] => {
    const setting = settingOf(part, 'placebo');
    if (setting === null) return [];
    const taken = (placebo: string): boolean => {
      const changed = { ...parts[part], settings: { ...parts[part].settings, placebo } };
      return misfits({ ...parts, [part]: changed }, settingOf).length === 0;
    };
    return parts[part].definition.placebos.filter(taken).map((name) => `${setting}=${name}`);
  };
  const ownPlacebos = settingOf('monitor', 'placebo') === null ? [] : monitor.definition.placebos;
  const isChance = ownPlacebos.length === 0 && tables.monitor.kind !== 'chance';
  const complete = ({ definition, settings }: Chosen<{ readonly settings: MonitorDefinition['settings'] }>) =>
    definition.settings.parse(settings);
  const abstaining = monitor.definition.abstains ? { abstain } : {};
  return {
    monitor: { kind: tables.monitor.kind, ...complete(monitor), ...abstaining },
    cut: { kind: tables.cut.kind, ...complete(cut) },
    remedy: { kind: tables.remedy.kind, ...complete(remedy) },
    costs: monitor.definition.costs(monitor.settings).map((cost) => costWords[cost]),
    placebos: [
      ...(isChance ? chancePlacebo(cut.definition, settingOf) : placebosOf('monitor')),
      ...placebosOf('remedy'),
    ],
  };
}

/** `late`: the monitor is asked when routes are chosen, and what it says is not recorded. */
export async function openCombination(combination: Combination, tools: ArmTools, late: boolean): Promise<Arm> {
  const { monitor, cut, remedy, abstain, tables } = combination;
  const acts = remedy.definition.act(remedy.settings, tools.seed);
  if (remembersFeatures(tables.cut)) {
    const gated = await openGated(tables, acts, tools);
    return gated.watch === undefined ? gated : { ...gated, ...hooksOf(acts, null) };
  }
  const { kind } = monitor.definition;
  const chosen = cut.definition.needs === 'monitor' ? null : chosenCut(cut.definition, cut.settings);
  const needs = { cleanScores: chosen?.needsClean ?? true };
  const opened = await openInTime(monitor.definition.open(monitor.settings, tools, needs), kind);
  const hooks = watchHooks(opened, kind, abstain, chosen);
  return late ? lateHooks(hooks, acts) : { ...hooks, ...hooksOf(acts, opened) };
}

function lateHooks({ sees, watch }: WatchHooks, { screen, route }: Acts): Arm {
  return {
    sees,
    ...(screen === undefined ? {} : { screen: async (graded) => setApart((await watch(graded)).flagged) }),
    route: async (scored) => {
      const watched = await watch({ ...scored, rewards: new Float32Array() });
      return route?.({ ...scored, watched }) as NonNullable<ReturnType<NonNullable<Acts['route']>>>;
    },
  };
}

function hooksOf(
  { reward, screen, route, term }: Acts,
  monitor: Monitor | null,
): Pick<Arm, 'reward' | 'screen' | 'route' | 'term'> {
  return {
    ...(reward === undefined ? {} : { reward: (graded) => reward(told(graded)) }),
    ...(screen === undefined ? {} : { screen: (graded) => screen(told(graded)) }),
    ...(route === undefined ? {} : { route: (scored) => route(told(scored)) }),
    ...(term === undefined || monitor === null ? {} : { term: term(monitor) }),
  };
}

function told<Rollouts extends { readonly watched?: Watched }>(shown: Rollouts): Told<Rollouts> {
  const { watched } = shown;
  if (watched === undefined) throw new RangeError('the step did not call the watch hook');
  return { ...shown, watched };
}
