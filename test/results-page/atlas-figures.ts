/**
 * The figures of the atlas, each from the counts of a study's runs (bench/results/STUDY-rates.csv) and nothing else. A study without
 * runs has no figure; a cell or an arm without runs is not drawn.
 */
import { existsSync } from 'node:fs';
import type { Figure, Mark, Panel } from '../../src/report/chart.ts';
import { armStyle } from '../../src/report/svg.ts';
import { average, exactInterval, kaplanMeier } from '../../src/stats/index.ts';
import { conditions, countText, failText, failures } from './figure-parts.ts';
import { type Prediction, Rates, readPredictions, root, rounded } from './rates.ts';
import { labelsFigure, partsFigure, substitutionFigure } from './seed-figures.ts';

/** Blue where no run fails, orange where all do, grey between. */
function shareColour(share: number): string {
  const [none, half, all] = [[0, 114, 178], [153, 153, 153], [213, 94, 0]]; // biome-ignore format: one line
  const [from, to, at] = share < 0.5 ? [none, half, 2 * share] : [half, all, 2 * share - 1];
  const parts = from.map((value, i) => Math.round(value + at * (to[i] - value)));
  return `#${parts.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}

const mapRemedies = {
  screen: 'screen',
  filter: 'filter',
  'penalty-3': 'penalty 3',
  'penalty-6': 'penalty 6',
  'own-mean': 'own mean, others kept',
  routed: 'routed, others absorbed',
} as const;
const recalls = [1, 0.95, 0.9, 0.8, 0.6] as const;
const falsePositives = [0, 0.1, 0.5] as const;

/** Runs that fail over the recall and the false-positive rate of the monitor, a panel a remedy. */
export function mapFigure(rates: Rates, predictions: readonly Prediction[], stated: number): Figure {
  const refuted = rates
    .judge(predictions, stated)
    .filter(
      ({ verdict, prediction: { reference, metric } }) =>
        verdict === 'refuted' && reference === null && metric === 'attempt',
    )
    .map(({ prediction }) => prediction.arm);
  const cellsOf = (remedy: string) =>
    recalls.flatMap((recall, x) =>
      falsePositives.flatMap((rate, y) => {
        const cell = failures(rates, `${remedy}-r${recall}-f${rate}`);
        return cell.n === 0 ? [] : [{ ...cell, remedy, recall, rate, x, y }];
      }),
    );
  const drawn = Object.keys(mapRemedies).filter((remedy) => cellsOf(remedy).length > 0);
  const missing = Object.entries(mapRemedies).filter(([remedy]) => !drawn.includes(remedy));
  const isWhole = drawn.every((remedy) => cellsOf(remedy).length === recalls.length * falsePositives.length);
  const absent = [...(isWhole ? [] : ['empty cells']), ...missing.map(([, title]) => title)];
  const notRun = absent.length === 0 ? '' : ` Not run: ${absent.join('; ')}.`;
  const panels = drawn.map((remedy): Panel => {
    const marks = cellsOf(remedy).map(
      ({ arm, x, y, failing, n }): Mark => ({
        kind: 'bars',
        colour: shareColour(failing / n),
        bars: [
          {
            ...{ x0: x - 0.48, x1: x + 0.48, y0: y - 0.48, y1: y + 0.48 },
            label: `${failing}/${n}${refuted.includes(arm) ? ' ×' : ''}`,
          },
        ],
      }),
    );
    const title = mapRemedies[remedy as keyof typeof mapRemedies];
    return {
      title: `${title} (flags at random: ${countText(failures(rates, `${remedy}-chance`))})`,
      ...{ xLabel: 'recall: share of attempts that is flagged', yLabel: 'others flagged' },
      ...{ x: [-0.5, recalls.length - 0.5], y: [-0.5, falsePositives.length - 0.5] },
      xNames: recalls.map((recall, x) => ({ x, name: `${recall}` })),
      yNames: falsePositives.map((rate, y) => ({ y, name: `${rate}` })),
      marks,
    };
  });
  return {
    name: 'atlas-a-map',
    title: 'Runs that fail, by the quality of the monitor, for each remedy',
    caption: `${failText} Labels of attempts with errors; no sound prompts, 100 updates. Vanilla: ${countText(failures(rates, 'vanilla'))}.${notRun} × marks a cell of which a prediction about failing was refuted. ${conditions}`,
    panels,
    legend: [0, 0.5, 1].map((share) => ({
      label: share === 0 ? 'no run fails' : share === 1 ? 'all runs fail' : 'half of the runs fail',
      colour: shareColour(share),
    })),
    columns: 3,
    panelSize: { width: 300, height: 180 },
    data: {
      columns: ['arm', 'remedy', 'recall', 'false positives', 'fail', 'runs', 'attempt, mean', 'low', 'high'],
      rows: drawn.flatMap((remedy) =>
        cellsOf(remedy).map(({ arm, recall, rate, failing, n }) => {
          const { low, high } = exactInterval(failing, n);
          const mean = rounded(average(rates.values(arm, 'attempts')), 4);
          return [arm, remedy, `${recall}`, `${rate}`, `${failing}`, `${n}`, mean, rounded(low, 4), rounded(high, 4)];
        }),
      ),
    },
  };
}

/** Attempts over the size of the base, a panel a remedy beside vanilla, a sound grader and its random placebo. A size once more at another rate (`27M 4e-4`) stands at the end, by itself. */
export function sizeFigure(sizes: ReadonlyMap<string, Rates>): Figure {
  const names = [...sizes.keys()];
  const isAside = ({ size }: { size: string }): boolean => size.includes(' ');
  const meansOf = (arm: string) =>
    names.flatMap((size, x) => {
      const values = sizes.get(size)?.values(arm, 'attempts') ?? [];
      return values.length === 0 ? [] : [{ arm, x, size, values, y: average(values) }];
    });
  const remedies = Object.entries({
    'own-mean': 'own mean, others kept',
    'own-absorb': 'own mean, others absorbed',
    activation: 'gate with two cuts',
    screen: 'screen',
    'penalty-3': 'penalty 3',
  }).filter(([remedy]) => meansOf(remedy).length > 0);
  const roles = ['vanilla', 'the remedy', 'along a random direction', 'no loophole'];
  const armsOf = (remedy: string): string[] => ['vanilla', remedy, `${remedy}-haar`, 'no-loophole'];
  const panels = remedies.map(
    ([remedy, title]): Panel => ({
      ...{ title, xLabel: 'weights of the base', yLabel: 'attempt, deployed' },
      ...{ x: [-0.3, names.length - 0.7], y: [0, 1] },
      xNames: names.map((name, x) => ({ x, name })),
      marks: armsOf(remedy).flatMap((arm, role): Mark[] => {
        const { colour } = armStyle(role);
        const placed = meansOf(arm).map((one) => ({ ...one, x: one.x + 0.06 * (role - 1.5) }));
        const seeds = placed.flatMap(({ x, values }) => values.map((y) => ({ x, y })));
        return [
          { kind: 'line', points: placed.filter((one) => !isAside(one)), colour },
          ...placed.filter(isAside).map(({ x, y }): Mark => ({ kind: 'line', points: [{ x: x - 0.2, y }, { x: x + 0.2, y }], colour })), // biome-ignore format: one line
          { kind: 'dots', points: seeds, colour, open: true },
        ];
      }),
    }),
  );
  const arms = new Set(remedies.flatMap(([remedy]) => armsOf(remedy)));
  return {
    name: 'atlas-e-size',
    title: 'What is left, over the size of the base',
    caption: `Lines: means over seeds; circles: seeds, deployed. By the direction of the pairs. ${failText} No sound prompts; one base of each size, at a learning rate of its own: where vanilla is low, little was to be removed. 27M 4e-4: once more at the shipped rate.`,
    panels,
    legend: roles.map((label, role) => ({ label, colour: armStyle(role).colour })),
    columns: 3,
    panelSize: { width: 300, height: 200 },
    data: {
      columns: ['arm', 'size', 'seeds', 'attempt, mean', 'fail'],
      rows: [...arms].flatMap((arm) =>
        meansOf(arm).map(({ size, values, y }) => [
          ...[arm, size, `${values.length}`, rounded(y, 4)],
          `${values.filter((value) => value > 0.1).length}`,
        ]),
      ),
    },
  };
}

/** Runs that do not fail after so many updates, by recall, with exact intervals. */
export function horizonFigure(rates: Rates): Figure {
  const horizons = [100, 300, 1000] as const;
  const remedies = { screen: 'screen', 'penalty-4': 'penalty 4', 'own-mean': 'own mean, others kept' } as const;
  const cellsOf = (remedy: string, recall: number) =>
    horizons.flatMap((updates, x) => {
      const cell = failures(rates, `${remedy}-r${recall}-u${updates}`);
      if (cell.n === 0) return [];
      const { low, high } = exactInterval(cell.n - cell.failing, cell.n);
      return [{ ...cell, recall, updates, x, share: 1 - cell.failing / cell.n, low, high }];
    });
  const shown = [0.95, 0.9] as const;
  const drawn = Object.entries(remedies).filter(([remedy]) =>
    shown.some((recall) => cellsOf(remedy, recall).length > 0),
  );
  return {
    name: 'atlas-b-horizon',
    title: 'Runs that have not failed, over the length of training',
    caption: `Share of runs with exact 95% intervals; each length is a run of its own, at a constant rate. ${failText} Labels of attempts with misses, no sound prompts. ${conditions}`,
    panels: drawn.map(([remedy, title]): Panel => ({
      title: `${title} (flags at random: ${countText(failures(rates, `${remedy}-chance`))} fail)`,
      ...{ xLabel: 'updates', yLabel: 'share that has not failed', x: [-0.3, 2.3], y: [0, 1] },
      xNames: horizons.map((updates, x) => ({ x, name: `${updates}` })),
      marks: shown.flatMap((recall, i): Mark[] => {
        const { colour } = armStyle(i + 1);
        const cells = cellsOf(remedy, recall).map((cell) => ({ ...cell, x: cell.x + 0.06 * i }));
        return [
          { kind: 'line', points: cells.map(({ x, share }) => ({ x, y: share })), colour },
          ...cells.map(({ x, low, high }): Mark => ({ kind: 'line', points: [{ x, y: low }, { x, y: high }], colour, width: 1 })), // biome-ignore format: one line
          { kind: 'dots', points: cells.map(({ x, share }) => ({ x, y: share })), colour },
        ];
      }),
    })),
    legend: shown.map((recall, i) => ({ label: `recall ${recall}`, colour: armStyle(i + 1).colour })),
    columns: 3,
    panelSize: { width: 300, height: 200 },
    data: {
      columns: ['arm', 'recall', 'updates', 'fail', 'runs'],
      rows: drawn.flatMap(([remedy]) =>
        shown.flatMap((recall) =>
          cellsOf(remedy, recall).map(({ arm, updates, failing, n }) => [arm, `${recall}`, `${updates}`, `${failing}`, `${n}`]),
        ),
      ),
    },
  }; // biome-ignore format: rows
}

/** Share of runs whose deployed policy has not attempted in more than 0.10 of the curve's prompts so far (Kaplan and Meier), a panel for each list of arms by their words. */
export function timesFigure(
  rates: Rates,
  words: Pick<Figure, 'name' | 'title' | 'caption'>,
  groups: Readonly<Record<string, Readonly<Record<string, string>>>>,
): Figure {
  const labels = [...new Set(Object.values(groups).flatMap((arms) => Object.keys(arms)))];
  const colourOf = (label: string): string => armStyle(labels.indexOf(label)).colour;
  const all = Object.values(groups).flatMap((arms) => Object.values(arms));
  const last = Math.max(...all.flatMap((arm) => rates.waits(arm).map(({ time }) => time)));
  /** Down at each time with an event, level between; arms are set apart a little, since equal ones would hide each other. */
  const stepsOf = (arm: string, apart: number) => {
    const points = kaplanMeier(rates.waits(arm));
    const shares = [1, ...points.map(({ share }) => share)];
    const corners = points.flatMap(({ time, share }, i) => [{ x: time, y: shares[i] }, { x: time, y: share }]); // biome-ignore format: one line
    const ends = [{ x: 0, y: 1 }, ...corners, { x: last, y: shares[shares.length - 1] }];
    return ends.map(({ x, y }) => ({ x: x + apart * 0.01 * last, y: y - apart * 0.008 }));
  };
  return {
    ...words,
    panels: Object.entries(groups).map(([title, arms]) => ({
      ...{ title, xLabel: 'updates', yLabel: 'share that has not failed', x: [0, 1.05 * last], y: [0, 1.02] },
      marks: Object.entries(arms).map(([label, arm], i): Mark => ({ kind: 'line', points: stepsOf(arm, i), colour: colourOf(label) })), // biome-ignore format: one line
    })),
    legend: labels.map((label) => ({ label, colour: colourOf(label) })),
    columns: 2,
    panelSize: { width: 380, height: 180 },
    data: {
      columns: ['arm', 'update', 'at risk', 'failed', 'share that has not failed', 'low', 'high'],
      rows: [...new Set(all)].flatMap((arm) =>
        [{ time: 0, atRisk: rates.waits(arm).length, events: 0, share: 1, low: 1, high: 1 }, ...kaplanMeier(rates.waits(arm))].map(
          ({ time, atRisk, events, share, low, high }) => [arm, `${time}`, `${atRisk}`, `${events}`, ...[share, low, high].map((one) => rounded(one, 4))],
        ),
      ),
    },
  }; // biome-ignore format: rows
}

function claimTimes(rates: Rates): Figure {
  const caption = `Kaplan and Meier, five seeds an arm: a run has failed at the first point of the curve, 20 updates apart, at which its deployed policy attempts in more than 0.10 of 64 validation prompts. A quarter of the prompts is sound. ${conditions}`;
  const besides = { vanilla: 'vanilla', 'no loophole': 'no-loophole' };
  return timesFigure(rates, { name: 'micro-claim-times', title: 'Runs that have not failed so far', caption }, {
    'activation gate': { 'the arm': 'activation', 'random direction, or reversed start': 'haar', 'dealt routes': 'mass-matched', ...besides },
    'gradient gate': { 'the arm': 'gradient', 'random direction, or reversed start': 'gradient-haar', ...besides },
    'symmetric tails': { 'the arm': 'symmetric', 'random direction, or reversed start': 'symmetric-haar', ...besides },
    'signed CorDA': { 'the arm': 'scorda', 'random direction, or reversed start': 'scorda-reversed', ...besides },
  }); // biome-ignore format: a line a panel
}

/** When remedies by labels of attempts that miss some fail, at a constant rate. */
function horizonTimes(rates: Rates): Figure {
  const caption = `Kaplan and Meier, ten seeds an arm: a run has failed at the first point of the curve, ten updates apart, at which its deployed policy attempts in more than 0.10 of 64 validation prompts. Labels of attempts with misses, a constant rate, no sound prompts. ${conditions}`;
  const of = (remedy: string) => ({
    'one in ten missed': `${remedy}-r0.9`,
    'two in ten missed': `${remedy}-r0.8`,
    'flags at random': `${remedy}-chance`,
    vanilla: 'vanilla',
  });
  return timesFigure(rates, { name: 'atlas-b-times', title: 'Runs that have not failed so far', caption }, {
    screen: of('screen'),
    'penalty 4': of('penalty-4'),
    'own mean, others kept': of('own-mean'),
  }); // biome-ignore format: a line a panel
}

/** Attempts over how well the gate or the monitor of a run saw attempts while it trained: a point a run, a panel for each list of arms by their words. */
export function doseFigure(
  rates: Rates,
  words: Pick<Figure, 'name' | 'title' | 'caption'>,
  groups: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>,
): Figure {
  const pointsOf = (arms: readonly string[]) =>
    arms.flatMap((arm) => {
      const auroc = rates.aurocBySeed(arm);
      return [...rates.bySeed(arm, 'attempts')].flatMap(([seed, y]) => {
        const x = auroc.get(seed);
        return x === undefined ? [] : [{ arm, seed, x, y }];
      });
    });
  const drawn = Object.entries(groups).filter(([, series]) => pointsOf(Object.values(series).flat()).length > 0);
  const labels = [...new Set(drawn.flatMap(([, series]) => Object.keys(series)))];
  const styleOf = (label: string) => ({ colour: armStyle(labels.indexOf(label)).colour, open: true });
  return {
    ...words,
    panels: drawn.map(([title, series]) => ({
      ...{ title, xLabel: 'AUROC against attempts', yLabel: 'attempt, deployed', x: [0, 1], y: [0, 1] },
      marks: Object.entries(series).map(([label, arms]): Mark => ({ kind: 'dots', points: pointsOf(arms), ...styleOf(label) })), // biome-ignore format: one line
    })),
    legend: labels.map((label) => ({ label, colour: styleOf(label).colour, dot: styleOf(label) })),
    columns: Math.min(3, drawn.length),
    panelSize: { width: 300, height: 200 },
    data: {
      columns: ['arm', 'seed', 'auroc', 'attempt'],
      rows: drawn.flatMap(([, series]) =>
        pointsOf(Object.values(series).flat()).map(({ arm, seed, x, y }) => [
          arm,
          `${seed}`,
          rounded(x, 4),
          rounded(y, 4),
        ]),
      ),
    },
  };
}

const doseText = `A circle is a run, deployed. AUROC: attempts against the other rollouts of the same update, by the scores while training; 0.5 is chance. No sound prompts. ${conditions}`;

/** The monitors of study A, by what they miss: only the last tier has kept its scores. */
function monitorDoses(rates: Rates): Figure {
  const cells = (remedy: string) => ({
    ...Object.fromEntries(recalls.map((recall) => [`recall ${recall}`, falsePositives.map((rate) => `${remedy}-r${recall}-f${rate}`)])), // biome-ignore format: one line
    'flags at random': [`${remedy}-chance`],
  });
  const title = 'What is left, over how well the monitor saw attempts';
  const groups = Object.fromEntries(Object.entries(mapRemedies).map(([remedy, name]) => [name, cells(remedy)]));
  return doseFigure(
    rates,
    { name: 'atlas-a-dose', title, caption: `${doseText} Cells of tier 5, of which scores were kept.` },
    groups,
  );
}

const draws: readonly string[] = Array.from({ length: 8 }, (_, i) => `draw-${i + 1}`);

/** Own mean along the pairs' direction, the reversed one and eight random ones. */
function drawDoses(rates: Rates): Figure {
  const title = 'What is left, over how well the direction saw attempts';
  return doseFigure(rates, { name: 'atlas-draws-dose', title, caption: doseText }, {
    'own mean, others absorbed': { pairs: ['own-mean'], 'eight random directions': draws, reversed: ['reversed'] },
  }); // biome-ignore format: a line a panel
}

const csvOf = (study: string): string => `${root}bench/results/${study}-rates.csv`;
const ladder = ['1M', '2M', '4M', '8M', '27M', '100M', '300M', '1B', '27M 4e-4'] as const;
const studyOfSize = (size: string): string => `atlas-e-${size.toLowerCase().replace(' ', '-')}`;

/** Every figure of the atlas by its name, where the study has runs; null where it has none. */
export function atlasFigures(): Readonly<Record<string, Figure | null>> {
  const drawn = (study: string, draw: (rates: Rates) => Figure): Figure | null =>
    existsSync(csvOf(study)) ? draw(Rates.of(study)) : null;
  const sizes = ladder.filter((size) => existsSync(csvOf(studyOfSize(size))));
  const ofSizes = new Map(sizes.map((size) => [size as string, Rates.of(studyOfSize(size))]));
  return {
    'atlas-a-map': drawn('atlas-a', (rates) => mapFigure(rates, readPredictions('atlas-a'), 12)),
    'atlas-a-dose': drawn('atlas-a', monitorDoses),
    'atlas-b-horizon': drawn('atlas-b', horizonFigure),
    'atlas-b-times': drawn('atlas-b-times', horizonTimes),
    'atlas-c-labels': drawn('atlas-c', (rates) => labelsFigure(new Map([['2M', rates], ['27M', Rates.of('atlas-c-27m')]]))), // biome-ignore format: one line
    'atlas-d-parts': drawn('atlas-d-parts', (rates) => partsFigure(Rates.of('atlas-d'), rates)),
    'atlas-draws-dose': drawn('atlas-draws', drawDoses),
    'atlas-e-size': ofSizes.size < 2 ? null : sizeFigure(ofSizes),
    'atlas-g-forms': drawn('atlas-g', substitutionFigure),
    'micro-claim-times': drawn('micro-claim', claimTimes),
  };
}
