/** Figures of the atlas in which every seed is a circle: what the parts of routing leave, what labels mean, which exploit is deployed. */
import type { Figure, Mark, Panel } from '../../src/report/chart.ts';
import { armStyle } from '../../src/report/svg.ts';
import { average } from '../../src/stats/index.ts';
import { conditions, countText, failText, failures } from './figure-parts.ts';
import { type Rates, rounded } from './rates.ts';

interface Strip {
  readonly name: string;
  readonly arm: string;
  readonly rates: Rates;
}

/** Attempts by seed, arms beside each other; seeds are spread a little so that equal ones are seen. */
function stripPanel(title: string, strips: readonly Strip[]): Panel {
  const marks = strips.flatMap(({ arm, rates }, x): Mark[] => {
    const values = rates.values(arm, 'attempts');
    const spread = (i: number): number => x + 0.5 * ((i + 0.5) / Math.max(1, values.length) - 0.5);
    const { colour } = armStyle(x + 1);
    return [{ kind: 'dots', points: values.map((y, i) => ({ x: spread(i), y })), colour, open: true }];
  });
  return {
    ...{ title, xLabel: 'runs that fail', yLabel: 'attempt, deployed' },
    ...{ x: [-0.5, strips.length - 0.5], y: [0, 1] },
    xNames: strips.map(({ name, arm, rates }, x) => ({ x, name: `${name} ${countText(failures(rates, arm))}` })),
    marks: [...marks, { kind: 'level', y: 0.1, label: '' }],
  };
}

function stripFigure(
  words: Pick<Figure, 'name' | 'title' | 'caption'>,
  groups: Readonly<Record<string, readonly Strip[]>>,
  columns: number,
): Figure {
  const entries = Object.entries(groups);
  return {
    ...words,
    panels: entries.map(([title, strips]) => stripPanel(title, strips)),
    legend: [],
    columns,
    panelSize: { width: 300, height: 200 },
    data: {
      columns: ['arm', 'panel', 'seed', 'attempt'],
      rows: entries.flatMap(([title, strips]) =>
        strips.flatMap(({ arm, rates }) =>
          [...rates.bySeed(arm, 'attempts')].map(([seed, rate]) => [arm, title, `${seed}`, rounded(rate, 4)]),
        ),
      ),
    },
  };
}

/** What each part of routing by a direction leaves, along the pairs' direction, a random one and the reversed one. */
export function partsFigure(kept: Rates, rates: Rates): Figure {
  const ways = {
    'own-keep': 'own mean, others kept',
    'own-absorb': 'own mean, others absorbed',
    'activation-own': 'gate with two cuts, own mean',
    'group-keep': "group's mean, others kept",
    'group-absorb': "group's mean, others absorbed",
    'activation-group': "gate with two cuts, group's mean",
  } as const;
  const strips = (way: string): Strip[] =>
    Object.entries({ pairs: 'pairs', haar: 'random', reversed: 'reversed' }).map(([direction, name]) => ({
      ...{ name, arm: `${way}-${direction}`, rates: way === 'own-keep' ? kept : rates },
    }));
  const groups = Object.fromEntries(Object.entries(ways).map(([way, title]) => [title, strips(way)]));
  const caption = `A circle is a seed (501 to 520), deployed. ${failText} The line is at 0.10. No sound prompts. ${conditions} The first panel is of an earlier commit.`;
  return stripFigure(
    { name: 'atlas-d-parts', title: "What is left, by how it is routed and along which direction", caption }, // biome-ignore format: one line
    groups,
    3,
  );
}

/** What a remedy leaves by labels of hacks, of attempts, and by flags at random, at each size. */
export function labelsFigure(sizes: ReadonlyMap<string, Rates>): Figure {
  const strips = (remedy: string, rates: Rates): Strip[] =>
    Object.entries({ outcome: 'hacks', attempt: 'attempts', chance: 'random' }).map(([label, name]) => ({
      ...{ name, arm: `${remedy}-${label}`, rates },
    }));
  const remedies = { screen: 'screen', filter: 'filter', penalty: 'penalty 3', 'own-mean': 'own mean, others kept' };
  const groups = Object.fromEntries(
    Object.entries(remedies).flatMap(([remedy, title]) =>
      [...sizes].map(([size, rates]) => [`${title}, ${size}`, strips(remedy, rates)]),
    ),
  );
  const caption = `A circle is a seed, deployed. ${failText} The line is at 0.10. Labels without errors, no sound prompts. Bases of 2 and 27 million weights, one of each, one set of problems.`;
  return stripFigure({ name: 'atlas-c-labels', title: 'What is left, by what the labels mean', caption }, groups, 2);
}

const [printedColour, testsColour] = [armStyle(4).colour, armStyle(3).colour];

/** Mean attempts by each exploit as bars on each other, and attempts of seeds as circles. */
function formsPanel(rates: Rates, title: string, arms: readonly string[]): Panel {
  const drawn = arms.map((arm, x) => ({
    ...{ arm, x, attempts: rates.values(arm, 'attempts') },
    printed: average(rates.values(arm, 'stdout_marker')),
    tests: average(rates.values(arm, 'run_tests')),
  }));
  const at = (x: number) => ({ x0: x - 0.3, x1: x + 0.3 });
  const spread = (x: number, i: number, n: number): number => x + 0.5 * ((i + 0.5) / n - 0.5);
  return {
    ...{ title, xLabel: 'runs that fail', yLabel: 'attempt, deployed', x: [-0.5, arms.length - 0.5], y: [0, 1] },
    xNames: drawn.map(({ arm, x }) => ({
      ...{ x, name: `${arm.replace('-chance', '')} ${countText(failures(rates, arm)).replace(/ of .*/, '')}` },
    })),
    marks: [
      { kind: 'bars', colour: printedColour, bars: drawn.map(({ x, printed }) => ({ ...at(x), y0: 0, y1: printed })) },
      {
        kind: 'bars',
        colour: testsColour,
        bars: drawn.map(({ x, printed, tests }) => ({ ...at(x), y0: printed, y1: printed + tests })),
      },
      ...drawn.map(
        ({ x, attempts }): Mark => ({
          kind: 'dots',
          points: attempts.map((y, i) => ({ x: spread(x, i, attempts.length), y })),
          ...{ colour: '#222222', open: true },
        }),
      ),
    ],
  };
}

/** Which exploit is deployed where two are open and the monitor sees one. */
export function substitutionFigure(rates: Rates): Figure {
  const isRun = (arm: string): boolean => rates.values(arm, 'attempts').length > 0;
  const watching = ['vanilla', 'penalty-3', 'penalty-6', 'screen', 'own-mean', 'own-mean-other'].filter(isRun);
  const random = ['penalty-3-chance', 'penalty-6-chance', 'screen-chance', 'own-mean-chance'].filter(isRun);
  const dot = { colour: '#222222', open: true };
  return {
    name: 'atlas-g-forms',
    title: 'Two exploits open, one watched: which one is deployed',
    caption: `Bars: mean attempts by each exploit over seeds, deployed; circles: attempts of a seed. ${failText} No sound prompts. ${conditions}`,
    panels: [
      formsPanel(rates, 'by a monitor of one exploit', watching),
      formsPanel(rates, 'by flags at random', random),
    ],
    legend: [
      { label: 'by stdout_marker: watched, but in own-mean-other', colour: printedColour },
      { label: 'by run_tests: watched in own-mean-other alone', colour: testsColour },
      { label: 'a seed', ...dot, dot },
    ],
    columns: 2,
    panelSize: { width: 460, height: 260 },
    data: {
      columns: ['arm', 'watched', 'by stdout_marker', 'by run_tests', 'fail', 'runs'],
      rows: [...watching, ...random].map((arm) => {
        const watched = /vanilla|chance/.test(arm) ? 'none' : arm === 'own-mean-other' ? 'run_tests' : 'stdout_marker';
        const forms = (['stdout_marker', 'run_tests'] as const).map((form) =>
          rounded(average(rates.values(arm, form)), 4),
        );
        const { failing, n } = failures(rates, arm);
        return [arm, watched, ...forms, `${failing}`, `${n}`];
      }),
    },
  };
}
