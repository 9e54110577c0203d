/**
 * What must hold of the instrument in a world whose answer is known (world.ts), a line each. Expected values follow from the pushes of
 * docs/science.md, section 6, integrated here without a line of the lab's code: Δ the gap, G the group, p the rate of attempts, m the
 * share of attempts that is missed, f the share of others that is flagged. `flow` is vanilla's push, Δ p (1 − p)(1 − 1/G).
 */
import {
  featureRank,
  type Instrument,
  learningRate,
  pairRows,
  runWorld,
  startLogit,
  type WorldEnd,
  type WorldSettings,
} from './world.ts';

const gap = 3;
const group = 8;
const seeds = [1, 2];
const usual = 60;
const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
const show = (values: readonly number[]): string => values.map((value) => value.toFixed(2)).join(' ');
const average = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

type Push = (p: number) => { readonly deployed: number; readonly quarantine: number };

/** The deployed log-odds after so many updates of an expected push. */
function predict(push: Push, updates = usual): number {
  let [deployed, quarantine] = [0, 0];
  for (let step = 0; step < updates; step++) {
    const pushed = push(sigmoid(startLogit + deployed + quarantine));
    deployed += learningRate * pushed.deployed;
    quarantine += learningRate * pushed.quarantine;
  }
  return deployed;
}

const flow = (p: number): number => gap * p * (1 - p) * (1 - 1 / group);
/** Routed, others absorbed, the mean of the group: attempts that are missed, and others that are not flagged, are left to the deployed block. */
const routedPush =
  (missed: number, flagged: number): Push =>
  (p) => ({
    deployed: flow(p) * (missed * (1 - p) + (1 - flagged) * p),
    quarantine: flow(p),
  });
/** The same with the own mean: of those that are not flagged a share p′ are attempts, and they are compared with each other alone. */
const ownPush =
  (missed: number): Push =>
  (p) => {
    const others = p * missed + 1 - p;
    const rate = (p * missed) / others;
    const factor = gap * (1 - 1 / (group * others));
    const deployed = others * group <= 1 ? 0 : factor * (p * missed * (1 - rate) * (1 - p) + (1 - p) * rate * p);
    // The quarantine learns from flagged attempts by the mean of the group, and absorbs the others.
    return { deployed, quarantine: flow(p) * (1 - missed) * (1 - p) + deployed };
  };

const oracle = (changes: object = {}) => ({ kind: 'oracle', target: 'attempt', ...changes });
const by = (kind: string, monitor: object, changes: object = {}) => ({ kind, monitor, ...changes });
/** Below Otsu's cut everything is absorbed, compared with its like; with one cut everything praised is kept. */
const gate = { kind: 'activation', calibration: 'otsu', keepTail: 0, mean: 'own', halfLife: 0, bufferRows: 1024 };
const oneCut = { ...gate, keepTail: 1, keepOnly: 'praised', mean: 'group' };

export interface Measured {
  readonly holds: boolean;
  readonly found: string;
}

export interface CalibrationLine {
  readonly what: string;
  measure(instrument: Instrument): Promise<Measured>;
}

type Table = WorldSettings['arm'];
type Changes = Partial<WorldSettings>;

/** The same arm on every seed. */
const ends = (instrument: Instrument, arm: Table, changes: Changes = {}): Promise<WorldEnd[]> =>
  Promise.all(
    seeds.map((seed) =>
      runWorld({ ...{ seed, updates: usual, gap, solve: 0, signal: 5 }, arm, instrument, ...changes }),
    ),
  );
const leak = async (instrument: Instrument, arm: Table, changes: Changes = {}): Promise<number> =>
  average((await ends(instrument, arm, changes)).map(({ deployedLogit }) => deployedLogit));
const rate = async (instrument: Instrument, arm: Table, changes: Changes = {}): Promise<number> =>
  average((await ends(instrument, arm, changes)).map(({ deployed }) => deployed));

/** A line that compares leaks, arm by arm, with what was predicted. */
const curve = (what: string, arms: readonly Table[], expected: readonly number[]): CalibrationLine => ({
  what,
  async measure(instrument) {
    const found = await Promise.all(arms.map((arm) => leak(instrument, arm)));
    const holds = found.every((value, i) => Math.abs(value - expected[i]) <= 0.15 + 0.12 * Math.abs(expected[i]));
    return { holds, found: `${show(found)}, predicted ${show(expected)}` };
  },
});

const recalls = [1, 0.8, 0.6, 0.4, 0.2, 0];
const shares = [0, 0.25, 0.5, 0.75, 1];
const [absorb, vanilla] = [{ kind: 'absorb' }, { kind: 'vanilla' }];
const exact = { kind: 'oracle', target: 'attempt' };
const half: Push = (p) => ({ deployed: flow(p) / 2, quarantine: flow(p) });

export const calibrationLines: readonly CalibrationLine[] = [
  {
    what: 'vanilla grows by Δ p (1 − p), after 8, 16 and 24 updates',
    async measure(instrument) {
      const after = [8, 16, 24];
      const found = await Promise.all(after.map((updates) => leak(instrument, vanilla, { updates })));
      const expected = after.map((updates) => predict((p) => ({ deployed: flow(p), quarantine: 0 }), updates));
      const holds = found.every((value, i) => Math.abs(value - expected[i]) <= 0.15 + 0.2 * expected[i]);
      return { holds, found: `${show(found)}, predicted ${show(expected)}` };
    },
  },
  {
    what: 'the first update moves vanilla by Δ p (1 − p)(1 − 1/G), within a tenth, over 100 draws',
    async measure(instrument) {
      const draws = Array.from({ length: 100 }, (_, i) => i + 1);
      const once = { arm: vanilla, updates: 1, gap, solve: 0, signal: 5, instrument };
      const moves = await Promise.all(draws.map((seed) => runWorld({ ...once, seed })));
      const found = average(moves.map(({ deployedLogit }) => deployedLogit));
      const expected = learningRate * flow(sigmoid(startLogit));
      const holds = Math.abs(found / expected - 1) <= 0.1;
      return { holds, found: `${found.toFixed(4)}, predicted ${expected.toFixed(4)}` };
    },
  },
  curve(
    'leak over recall 1 to 0, mean of the group: Δ p (1 − p)(m (1 − p) + p)',
    recalls.map((recall) => oracle({ recall })),
    recalls.map((recall) => predict(routedPush(1 - recall, 0))),
  ),
  curve(
    'leak over recall 1 to 0, own mean: as a screen, none without misses',
    recalls.map((recall) => oracle({ recall, mean: 'own' })),
    recalls.map((recall) => predict(ownPush(1 - recall))),
  ),
  curve(
    'leak over false positives 0 to 1 at recall 1, mean of the group',
    shares.map((falsePositiveRate) => oracle({ falsePositiveRate })),
    shares.map((share) => predict(routedPush(0, share))),
  ),
  curve(
    'recall = false-positive rate: absorb, of which a share is missing; the same by chance, without labels',
    [
      absorb,
      oracle({ recall: 0, falsePositiveRate: 0 }),
      oracle({ recall: 0.5, falsePositiveRate: 0.5 }),
      by('routed', { kind: 'chance', rate: 0.5 }),
    ],
    [...[0, 0].map(() => predict((p) => ({ deployed: flow(p), quarantine: flow(p) }))), predict(half), predict(half)],
  ),
  {
    what: 'own mean, others kept, exact labels: nothing is deployed while the quarantine learns all',
    async measure(instrument) {
      const found = await ends(instrument, oracle({ mean: 'own', others: 'keep' }));
      return {
        holds: found.every(({ deployedLogit, trained }) => Math.abs(deployedLogit) < 0.05 && trained > 0.9),
        found: found
          .map(({ deployedLogit, trained }) => `${deployedLogit.toFixed(3)}, ${trained.toFixed(2)}`)
          .join('; '),
      };
    },
  },
  {
    what: 'a penalty above Δ / recall dies, one below emerges; above and below Δ (1 − solve) where correct programs attempt too',
    async measure(instrument) {
      const penalised = (penalty: number, recall: number, solve: number): Promise<number> =>
        rate(instrument, by('penalty', { ...exact, recall }, { penalty }), { updates: 200, solve });
      const [dies, emerges, diesMixed, emergesMixed] = await Promise.all([
        penalised((1.25 * gap) / 0.8, 0.8, 0),
        penalised((0.75 * gap) / 0.8, 0.8, 0),
        penalised(1.5 * gap * 0.5, 1, 0.5),
        penalised(0.5 * gap * 0.5, 1, 0.5),
      ]);
      const holds = dies < 0.02 && emerges > 0.5 && diesMixed < 0.02 && emergesMixed > 0.5;
      return { holds, found: `${show([dies, emerges])}; ${show([diesMixed, emergesMixed])}` };
    },
  },
  {
    what: 'the reversed direction deploys more of what is learned than absorb (a half), and than the direction of the pairs',
    async measure(instrument) {
      const deployedShare = async (arm: Table): Promise<number> => {
        const found = await ends(instrument, arm);
        return average(found.map((end) => end.deployedLogit / (end.deployedLogit + end.quarantineLogit)));
      };
      const reversed = { ...oneCut, placebo: 'reversed' };
      const arms = [{ ...reversed, keepOnly: 'any' }, absorb, reversed, oneCut];
      const [all, absorbed, praised, pairs] = await Promise.all(arms.map(deployedShare));
      const holds = Math.abs(absorbed - 0.5) < 1e-9 && all > 0.53 && praised > pairs + 0.1;
      return { holds, found: `${show([all, absorbed])}; with only praised ones kept ${show([praised, pairs])}` };
    },
  },
  {
    what: 'the direction of the pairs leaks less than shuffled pairs and less than absorb',
    async measure(instrument) {
      const [pairs, shuffled, absorbed] = await Promise.all(
        [gate, { ...gate, placebo: 'shuffled' }, absorb].map((arm) => leak(instrument, arm)),
      );
      return { holds: pairs < shuffled - 0.5 && pairs < absorbed - 0.5, found: show([pairs, shuffled, absorbed]) };
    },
  },
  {
    what: 'a random direction knows nothing of the pairs: over 400 draws its cosine to theirs is 0, its square 1 / rank, each within four standard errors',
    async measure(instrument) {
      const [hack, clean] = [true, false].map((isHack) => pairRows({ seed: 1, signal: 5 }, isHack));
      const build = (placebo: 'none' | 'haar', seed: number): Float32Array =>
        instrument.direction(hack, clean, { standardise: false, placebo, seed }).data;
      const pairs = build('none', 1);
      const cosines = Array.from({ length: 400 }, (_, seed) =>
        build('haar', seed).reduce((sum, value, i) => sum + value * pairs[i], 0),
      );
      const [first, second] = [average(cosines), average(cosines.map((cosine) => cosine ** 2))];
      // On the sphere of that many dimensions the mean of c² is 1 / rank, and that of c⁴ is 3 / (rank (rank + 2)).
      const square = 1 / featureRank;
      const deviation = Math.sqrt(3 / (featureRank * (featureRank + 2)) - square ** 2);
      const allowed = 4 / Math.sqrt(cosines.length);
      const holds = Math.abs(first) <= allowed * Math.sqrt(square) && Math.abs(second - square) <= allowed * deviation;
      return { holds, found: `${show([first, second])}, predicted ${show([0, square])}` };
    },
  },
  {
    what: 'a gate without a signal (AUROC 0.5) is no better than a random direction, nor than chance',
    async measure(instrument) {
      const found = await Promise.all([
        leak(instrument, gate, { signal: 0 }),
        leak(instrument, { ...gate, placebo: 'haar' }, { signal: 0 }),
      ]);
      return {
        holds: found.every((value) => Math.abs(value - predict(half)) < 0.5),
        found: `${show(found)}, predicted ${show([predict(half)])}`,
      };
    },
  },
  {
    what: 'the sign of every feature, in pairs and rollouts together, changes nothing',
    async measure(instrument) {
      const [found, mirrored] = await Promise.all([5, -5].map((signal) => leak(instrument, gate, { signal })));
      return { holds: found === mirrored, found: `${found} and ${mirrored}` };
    },
  },
  {
    what: 'a filter by outcomes trains the exploit, one by attempts does not',
    async measure(instrument) {
      const found = await Promise.all(
        ['outcome', 'attempt'].map((target) => rate(instrument, by('filter', { ...exact, target }), { solve: 0.5 })),
      );
      return { holds: found[0] > 0.5 && found[1] < 0.1, found: show(found) };
    },
  },
  {
    what: 'a hint without a channel: no attempt in any arm, and every remedy by attempts is its plain arm',
    async measure(instrument) {
      const run = async (arms: readonly Table[]) => {
        const found = await Promise.all(arms.map((arm) => ends(instrument, arm, { gap: 0, solve: 0.5 })));
        const attempts = found.flat().reduce((sum, end) => sum + end.attempts, 0);
        return {
          attempts,
          kinds: new Set(found.map((own) => own.map(({ deployedLogit }) => deployedLogit).join())).size,
        };
      };
      const deploying = await run([vanilla, by('screen', exact), by('filter', exact), by('penalty', exact)]);
      const routing = await run([absorb, oracle(), oracle({ mean: 'own' }), by('routed', exact, { mean: 'own' })]);
      return {
        holds: [deploying, routing].every(({ attempts, kinds }) => attempts === 0 && kinds === 1),
        found: [deploying, routing].map(({ attempts, kinds }) => `${attempts} attempts, ${kinds} end`).join('; '),
      };
    },
  },
];
