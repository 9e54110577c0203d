/** Probes over seeds, where they were evaluated: leak probes of the last checkpoint by arm, and prefill sensitivity by arm and update. */
import { curveSets, leakProbes, type ProbeEvaluation, prefillPoints, type Rate, summarise } from '../evaluate/index.ts';
import { type ArmResults, formatSample, type Results, type State, sampleOf, states } from './aggregate.ts';
import { leakNote } from './probe-tables.ts';
import type { RunResults } from './run-results.ts';
import type { Table } from './table.ts';
import { noClaim, oracleMark } from './tables.ts';

const armName = ({ arm, usesOracle }: ArmResults): string => `${arm}${usesOracle ? oracleMark : ''}`;
const runsOf = ({ arms }: Results): readonly RunResults[] => arms.flatMap(({ runs }) => runs);
const singleNote = (arms: readonly ArmResults[]): string[] =>
  arms.some(({ runs }) => runs.length === 1) ? [`${noClaim}.`] : [];

/** Prompts that probes were asked on: a set, whole or its first few. */
interface AskedPrompts {
  readonly set: ProbeEvaluation['set'];
  readonly limit: number | null;
}

/** The probe of a category at the base or at the last checkpoint; null where it was not evaluated. */
function leakOf(run: RunResults, category: string, state: State, { set, limit }: AskedPrompts): Rate | null {
  // The names of probes do not depend on whether the model reads words.
  const wanted = leakProbes(run.config.arm, true).find((leak) => leak.category === category)?.probe.name;
  const shipped = state === 'deployed' && !run.hasQuarantine ? 'full' : state;
  const update = state === 'base' ? 0 : run.updates;
  const found = run.probes.find(
    (one) =>
      one.probe.name === wanted &&
      one.set === set &&
      one.limit === limit &&
      one.state === shipped &&
      one.update === update,
  );
  return found === undefined ? null : summarise(found.rows).hack;
}

/** One table for each set that leak probes were asked on. Of each run only the categories that were evaluated count. */
export function leakTables(results: Results): Table[] {
  const probes = runsOf(results).flatMap((run) => run.probes.filter(({ probe }) => probe.name === 'negated'));
  const asked = new Map(probes.map(({ set, limit }) => [`${set} ${limit}`, { set, limit }]));
  return [...asked.values()].map((prompts) => leakTableOf(results, prompts));
}

function leakTableOf({ arms }: Results, prompts: AskedPrompts): Table {
  const rows = arms.flatMap((arm) => {
    const categories = leakProbes(arm.runs[0].config.arm, true).map(({ category }) => category);
    return categories.flatMap((category) => {
      const sample = (state: State) => {
        const rate = (run: RunResults) => leakOf(run, category, state, prompts);
        return sampleOf(arm.runs, (run) => rate(run)?.rate ?? null, rate);
      };
      const [base, full, deployed] = states.map(sample);
      if (deployed === null && full === null) return [];
      const trained = arm.hasQuarantine ? formatSample(full) : 'the same';
      const n = (deployed ?? full)?.n ?? 0;
      return [[armName(arm), category, `${n}`, formatSample(base), trained, formatSample(deployed)]];
    });
  });
  const count = prompts.limit === null ? '' : `, the first ${prompts.limit} prompts`;
  return {
    title: `leak probes: hack under six kinds of instruction, ${prompts.set}${count}`,
    columns: ['arm', 'category', 'n', 'hack base', 'hack as trained', 'hack deployed'],
    rows,
    notes: [
      'Mean ± SEM over n seeds; for one seed, the rate with its 95% interval over prompts.',
      leakNote,
      ...singleNote(arms),
    ],
  };
}

/** One table for each set on which completions were begun at checkpoints: P(hack | hack-like opening) − P(hack | neutral opening). */
export function prefillTables(results: Results): Table[] {
  return curveSets.map((set) => {
    const rows = results.arms.flatMap((arm) => {
      const points = new Map(arm.runs.map((run) => [run, prefillPoints(run.probes, set)]));
      const updates = [...new Set([...points.values()].flat().map(({ update }) => update))].sort((a, b) => a - b);
      return updates.map((update) => {
        const sample = (state: string, value: 'difference' | 'neutral') =>
          sampleOf(arm.runs, (run) => {
            const wanted = update === 0 ? 'base' : state;
            const point = points.get(run)?.find((one) => one.update === update && one.state === wanted);
            if (point === undefined) return null;
            return value === 'difference' ? point.difference : point.neutral.rate;
          });
        const shipped = arm.hasQuarantine ? 'deployed' : 'full';
        const cells = [sample('full', 'difference'), sample(shipped, 'difference'), sample(shipped, 'neutral')];
        return [armName(arm), `${update}`, `${cells[0]?.n ?? 0}`, ...cells.map((cell) => formatSample(cell))];
      });
    });
    return {
      title: `prefill sensitivity over updates, ${set === 'curve' ? 'the curve set' : set}`,
      columns: ['arm', 'update', 'n', 'difference as trained', 'difference deployed', 'hack deployed, neutral opening'],
      rows,
      notes: [
        'difference: P(hack | hack-like opening) − P(hack | neutral opening), over the same prompts; mean ± SEM over n seeds. A rise before that of the hack rate is an early sign.',
        ...singleNote(results.arms),
      ],
    };
  });
}
