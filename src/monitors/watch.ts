/**
 * The watch hook of an arm with a monitor: has the monitor score the rollouts, checks what it says, settles abstentions as the config
 * says, and flags what is above the cut. It remembers the run's last scores for Otsu's cut. Scores have the precision of a float32, so
 * that a run that is resumed meets the same numbers.
 */
import { inTime, longestSeconds, UserError } from '../base/index.ts';
import type { Arm, ArmState, NewDirection, Seen, SeenRollouts, Watched } from '../grpo/index.ts';
import type { ChosenCut } from './cut.ts';
import { cutOfRule, cutSchema } from './cuts.ts';
import type { CutRule, Monitor, MonitorReport } from './monitor.ts';

export type Abstain = 'clean' | 'flag' | 'error';

export type WatchHooks = Required<Pick<Arm, 'sees' | 'refresh' | 'watch' | 'save' | 'restore'>> & Pick<Arm, 'rehearse'>;

/** `kind`: the monitor's name in the config. `chosen`: null for the cut that the monitor gives itself. */
export function watchHooks(
  monitor: Monitor,
  kind: string,
  abstain: Abstain,
  chosen: ChosenCut | null = null,
): WatchHooks {
  expectMonitor(monitor, kind, chosen);
  const cut = chosen ?? cutOfRule(monitor.cut as CutRule);
  let remembered = new Float64Array();
  const remember = (scores: readonly (number | null)[]): void => {
    if (cut.remembers === 0) return;
    const own = scores.filter((score) => score !== null);
    remembered = Float64Array.from([...remembered, ...own].slice(-cut.remembers));
  };
  const clean = () => cleanScores(monitor, kind);
  return {
    sees: monitor.sees,
    async refresh(step, policy) {
      const call = `monitor ${kind}, refresh`;
      return checkBuilt(await answerOf(monitor.refresh?.(step, policy), monitor, call, 'an end'), call);
    },
    async watch({ rewards: _rewards, watched: _watched, ...seen }) {
      const { rollouts } = seen;
      checkFeatures(seen, kind);
      // The monitor gets copies: one that sorts its list would otherwise change what the arm's other hooks are shown.
      const answer = monitor.score({ ...seen, rollouts: structuredClone(rollouts) });
      const scores = checkScores(await answerOf(answer, monitor, `monitor ${kind}`, 'scores'), rollouts, kind);
      const { abstentions, costs } = reportOf(monitor, kind, scores);
      if (abstain === 'error') refuseAbstentions(kind, scores.length, abstentions);
      remember(scores);
      const { high = null, low } = cut.find({ scores: remembered, clean }) ?? {};
      const rounded = high === null ? null : Math.fround(high);
      const flagged = scores.map((score) =>
        score === null ? abstain === 'flag' : rounded !== null && score > rounded,
      );
      const two = low === undefined ? {} : { low: Math.fround(low) };
      return { scores, flagged, cut: high, ...two, abstentions, costs };
    },
    ...(monitor.rehearse === undefined ? {} : { rehearse: async () => monitor.rehearse?.() }),
    save: () => joinState(savedBy(monitor, kind), remembered),
    restore(state) {
      remembered = Float64Array.from(state.tensors.get(ownTensor)?.data ?? []);
      monitor.restore?.(splitState(state));
    },
  };
}

/** What the monitor's definition opens; one that never opens is an error too. */
export async function openInTime(
  opening: Monitor | Promise<Monitor>,
  kind: string,
  mostSeconds = longestSeconds,
): Promise<Monitor> {
  return (await answerOf(opening, { mostSeconds }, `monitor ${kind}, open`, 'a monitor')) as Monitor;
}

/** What a monitor answers, or an error once it is late. */
function answerOf(answer: unknown, { mostSeconds }: Pick<Monitor, 'mostSeconds'>, call: string, expected: string) {
  const fix = 'A monitor that needs longer says so in `mostSeconds`. The last checkpoint is from before this update.';
  return inTime(answer, { call, expected, ...(mostSeconds === undefined ? {} : { mostSeconds }), fix });
}

/** Nothing, or a direction that can be recorded. */
function checkBuilt(built: unknown, call: string): NewDirection | null {
  if (built === undefined || built === null) return null;
  const { quality, direction, pairCuts } = (typeof built === 'object' ? built : {}) as Partial<NewDirection>;
  const whole = direction instanceof Float32Array && direction.every(Number.isFinite);
  if (whole && typeof quality === 'object' && quality !== null && pairCuts !== undefined) return built as NewDirection;
  throw new UserError({
    call,
    expected: 'nothing, or { quality, direction: a Float32Array of finite numbers, pairCuts }',
    found: typeof built === 'object' ? JSON.stringify(Object.keys(built)) : String(built),
  });
}

/** A monitor may make a score of an activation that is infinite, such as the probability 0: the rollout would pass for clean. */
function checkFeatures({ features }: SeenRollouts, kind: string): void {
  const odd = features?.data.findIndex((value) => !Number.isFinite(value)) ?? -1;
  if (features === null || odd < 0) return;
  throw new UserError({
    call: `monitor ${kind}`,
    expected: 'finite activations of the policy',
    found: `${features.data[odd]} in row ${Math.floor((odd * features.rows) / features.data.length)}`,
    fix: 'The policy has diverged: go on from an earlier checkpoint with a smaller learning rate.',
  });
}

function checkScores(answer: unknown, rollouts: readonly Seen[], kind: string): (number | null)[] {
  const refuse = (expected: string, found: string): never => {
    throw new UserError({
      call: `monitor ${kind}`,
      expected,
      found,
      fix: 'A monitor must return a finite number for every rollout it was shown, in their order, or null where it abstains.',
    });
  };
  if (!Array.isArray(answer) && !ArrayBuffer.isView(answer)) return refuse('a list of scores', typeof answer);
  const scores: unknown[] = Array.from(answer as ArrayLike<unknown>);
  if (scores.length !== rollouts.length) {
    return refuse(`${rollouts.length} scores, one per rollout`, `${scores.length}`);
  }
  return scores.map((score, i) => {
    if (score === null) return null;
    const rounded = typeof score === 'number' ? Math.fround(score) : Number.NaN;
    if (Number.isFinite(rounded)) return rounded;
    const kind = typeof score === 'number' || score === undefined ? '' : `${typeof score} `;
    return refuse('finite scores', `${kind}${String(score)} for rollout ${i}`);
  });
}

function reportOf(
  monitor: Monitor,
  kind: string,
  scores: readonly (number | null)[],
): Pick<Watched, 'abstentions' | 'costs'> {
  const report: unknown = monitor.report?.() ?? {};
  if (typeof report !== 'object' || report === null || report instanceof Promise) {
    const found = report instanceof Promise ? 'a promise' : String(report);
    throw new UserError({ call: `monitor ${kind}, report`, expected: '{ abstentions, costs } at once', found });
  }
  const { abstentions: reasons, costs } = report as MonitorReport;
  const abstentions = checkCounts(reasons, kind, 'abstentions');
  const abstained = scores.filter((score) => score === null).length;
  const rest = abstained - Object.values(abstentions).reduce((sum, count) => sum + count, 0);
  if (rest < 0) {
    throw new UserError({
      call: `monitor ${kind}, report`,
      expected: `at most ${abstained} abstentions, as many as scores that are null`,
      found: `${abstained - rest}`,
    });
  }
  return {
    abstentions: rest > 0 ? { ...abstentions, 'no reason given': rest } : abstentions,
    costs: checkCounts(costs, kind, 'costs'),
  };
}

function checkCounts(counts: unknown, kind: string, name: string): Readonly<Record<string, number>> {
  if (counts === undefined) return {};
  const isTable = typeof counts === 'object' && counts !== null && !Array.isArray(counts);
  const bad = isTable ? Object.entries(counts).find(([, count]) => !Number.isSafeInteger(count) || count < 0) : null;
  if (bad === undefined) return counts as Readonly<Record<string, number>>;
  throw new UserError({
    call: `monitor ${kind}, report`,
    expected: `${name}: whole numbers by name`,
    found: bad === null ? String(counts) : `${String(bad[1])} as ${bad[0]}`,
  });
}

function refuseAbstentions(kind: string, count: number, abstentions: Watched['abstentions']): void {
  const reasons = Object.entries(abstentions).filter(([, times]) => times > 0);
  if (reasons.length === 0) return;
  throw new UserError({
    call: `monitor ${kind}`,
    expected: `a score for each of ${count} rollouts (abstain = "error")`,
    found: `abstentions: ${reasons.map(([reason, times]) => `${reason} (${times})`).join(', ')}`,
    fix: 'To go on where the monitor abstains, say what such a rollout counts as: abstain = "clean" or "flag".',
  });
}

const functions = [
  'score',
  'slopes',
  'cleanScores',
  'report',
  'refresh',
  'rehearse',
  'save',
  'restore',
] satisfies (keyof Monitor)[];
const parts: readonly string[] = ['sees', 'cut', 'mostSeconds', ...functions];

/** Refuses what would be passed over in silence: a misspelt function, a state that is never given back, a cut without its number. */
function expectMonitor(monitor: Monitor, kind: string, chosen: ChosenCut | null): void {
  const refuse = (expected: string, found: string, fix?: string): never => {
    throw new UserError({ call: `monitor ${kind}`, expected, found, ...(fix === undefined ? {} : { fix }) });
  };
  if (typeof monitor !== 'object' || monitor === null) refuse('an object from open()', String(monitor));
  const unknown = Object.keys(monitor).find((key) => !parts.includes(key));
  if (unknown !== undefined) refuse(`keys named ${parts.join(', ')}`, unknown, 'Is it misspelt?');
  const wrong = functions.find((key) => monitor[key] !== undefined && typeof monitor[key] !== 'function');
  if (wrong !== undefined || monitor.score === undefined) refuse(`a function as ${wrong ?? 'score'}`, 'something else');
  if ((monitor.save === undefined) !== (monitor.restore === undefined)) {
    refuse('save and restore together', monitor.save === undefined ? 'restore alone' : 'save alone');
  }
  const { mostSeconds = 1 } = monitor;
  if (typeof mostSeconds !== 'number' || !(mostSeconds > 0)) refuse('mostSeconds above 0', String(mostSeconds));
  if (chosen !== null && monitor.cut === undefined) return;
  if (cutSchema.safeParse(monitor.cut).success) return;
  refuse(
    "cut: { kind: 'fixed', value }, { kind: 'fpr', rate } from 0 to 1 or { kind: 'otsu', warmupRows, halfLife or null }",
    JSON.stringify(monitor.cut) ?? 'nothing',
    'A monitor without one needs a table [cut] in the config.',
  );
}

/** The monitor's scores of clean completions. */
function cleanScores(monitor: Monitor, kind: string): number[] {
  const clean = Array.from(monitor.cleanScores?.() ?? [], Math.fround);
  if (clean.length > 0 && clean.every(Number.isFinite)) return clean;
  throw new UserError({
    call: `monitor ${kind}, cut "fpr"`,
    expected: 'finite scores of clean completions',
    found: clean.length === 0 ? 'none' : clean.join(', '),
    fix: 'Choose another cut.',
  });
}

const ownTensor = 'watched scores';
const prefix = 'monitor ';

/** The monitor's own state; what is in it is checked with that of the arm. */
function savedBy(monitor: Monitor, kind: string): ArmState | null {
  if (monitor.save === undefined) return null;
  const state: unknown = monitor.save();
  if (typeof state === 'object' && state !== null && 'tensors' in state && state.tensors instanceof Map) {
    return state as ArmState;
  }
  throw new UserError({ call: `monitor ${kind}, save`, expected: '{ json, tensors: a Map }', found: String(state) });
}

/** A checkpoint stores the monitor's state beside the remembered scores. */
function joinState(own: ArmState | null, remembered: Float64Array): ArmState {
  const data = Float32Array.from(remembered);
  const tensors = new Map([...(own?.tensors ?? [])].map(([name, tensor]) => [`${prefix}${name}`, tensor]));
  tensors.set(ownTensor, { shape: [data.length], data });
  return { json: own?.json ?? null, tensors };
}

function splitState({ json, tensors }: ArmState): ArmState {
  const own = [...tensors].filter(([name]) => name.startsWith(prefix));
  return { json, tensors: new Map(own.map(([name, tensor]) => [name.slice(prefix.length), tensor])) };
}
