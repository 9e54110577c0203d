/**
 * The watch hook of an arm with a monitor: has the monitor score the rollouts, checks what it says, settles abstentions as the config
 * says, and flags what is above the cut. It remembers the run's last scores for Otsu's cut. Scores have the precision of a float32, so
 * that a run that is resumed meets the same numbers.
 */
import { UserError } from '../base/index.ts';
import type { Arm, ArmState, Seen, Watched } from '../grpo/index.ts';
import { cutSchema, fprCut, otsuCut } from './cut.ts';
import type { Monitor } from './monitor.ts';

export type Abstain = 'clean' | 'flag' | 'error';

/** The most scores that are remembered. */
const mostScores = 8192;

export type WatchHooks = Required<Pick<Arm, 'sees' | 'refresh' | 'watch' | 'save' | 'restore'>> & Pick<Arm, 'rehearse'>;

/** `kind`: the monitor's name in the config. */
export function watchHooks(monitor: Monitor, kind: string, abstain: Abstain): WatchHooks {
  expectCut(monitor.cut, kind);
  let remembered = new Float64Array();
  const remember = (scores: readonly (number | null)[]): void => {
    if (monitor.cut.kind !== 'otsu') return;
    const own = scores.filter((score) => score !== null);
    remembered = Float64Array.from([...remembered, ...own].slice(-mostScores));
  };
  return {
    sees: monitor.sees,
    refresh: async (step, policy) => (await monitor.refresh?.(step, policy)) ?? null,
    async watch({ rewards: _rewards, watched: _watched, ...seen }) {
      const { rollouts } = seen;
      // The monitor gets copies: one that sorts its list would otherwise change what the arm's other hooks are shown.
      const scores = checkScores(await monitor.score({ ...seen, rollouts: structuredClone(rollouts) }), rollouts, kind);
      const { abstentions, costs } = reportOf(monitor, kind, scores);
      if (abstain === 'error') refuseAbstentions(kind, scores.length, abstentions);
      remember(scores);
      const cut = cutOf(monitor, kind, remembered);
      const rounded = cut === null ? null : Math.fround(cut);
      const flagged = scores.map((score) =>
        score === null ? abstain === 'flag' : rounded !== null && score > rounded,
      );
      return { scores, flagged, cut, abstentions, costs };
    },
    ...(monitor.rehearse === undefined ? {} : { rehearse: async () => monitor.rehearse?.() }),
    save: () => joinState(monitor.save?.() ?? null, remembered),
    restore(state) {
      remembered = Float64Array.from(state.tensors.get(ownTensor)?.data ?? []);
      monitor.restore?.(splitState(state));
    },
  };
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
    return Number.isFinite(rounded) ? rounded : refuse('finite scores', `${String(score)} for rollout ${i}`);
  });
}

function reportOf(
  monitor: Monitor,
  kind: string,
  scores: readonly (number | null)[],
): Pick<Watched, 'abstentions' | 'costs'> {
  const { abstentions: reasons, costs } = monitor.report?.() ?? {};
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
    expected: `a score for each of ${count} rollouts (arm.abstain = "error")`,
    found: `abstentions: ${reasons.map(([reason, times]) => `${reason} (${times})`).join(', ')}`,
    fix: 'To go on where the monitor abstains, say what such a rollout counts as: arm.abstain = "clean" or "flag".',
  });
}

/** A cut without its number would flag nothing, and nobody would see it. */
function expectCut(cut: unknown, kind: string): void {
  if (cutSchema.safeParse(cut).success) return;
  throw new UserError({
    call: `monitor ${kind}, cut`,
    expected:
      "{ kind: 'fixed', value }, { kind: 'fpr', rate } from 0 to 1 or { kind: 'otsu', warmupRows, halfLife or null }",
    found: JSON.stringify(cut) ?? 'nothing',
    fix: 'cutRule of gradient-quarantine makes one from the keys of cutKeys.',
  });
}

function cutOf({ cut, cleanScores }: Monitor, kind: string, remembered: Float64Array): number | null {
  if (cut.kind === 'fixed') return cut.value;
  if (cut.kind === 'otsu') return otsuCut(remembered, cut);
  const clean = Array.from(cleanScores?.() ?? [], Math.fround);
  if (clean.length > 0 && clean.every(Number.isFinite)) return fprCut(clean, cut.rate);
  throw new UserError({
    call: `monitor ${kind}, cut "fpr"`,
    expected: 'finite scores of clean completions',
    found: clean.length === 0 ? 'none' : clean.join(', '),
    fix: 'Choose another arm.monitor.cut.',
  });
}

const ownTensor = 'watched scores';
const prefix = 'monitor ';

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
