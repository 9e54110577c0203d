/** `gq measure replay RUN --gate …`: the routes that another gate would have chosen on the stored features, without training again. */
import { z } from 'zod';
import { wrapText } from '../../base/index.ts';
import { expectSamePlugins, partsOf } from '../../lab/index.ts';
import { routes } from '../gate/gate-report.ts';
import { defineMeasurement } from '../registry/index.ts';
import { type Replay, replayGate } from './replay.ts';

export const replay = defineMeasurement({
  run: 'a run directory with stored features',
  answer: 'the counts',
  options: z.object({
    gate: z.array(z.string()).describe('change one key of the gate (the keys of `arm`)').meta({ takes: '<key=value>' }),
    seed: z.int().min(0).optional().describe('seed of the random direction of placebo=haar'),
    window: z.int().min(1).default(10).describe('number of updates per line'),
  }),
  examples: [
    'gq measure replay runs/activation-1 --gate keepTail=0.2',
    'gq measure replay runs/activation-1 --gate score=cosine --gate halfLife=0',
    'gq measure replay runs/activation-1 --gate placebo=haar --seed 7 --json',
  ],
  async measure(run, { gate, seed, window }) {
    expectSamePlugins(`gq measure replay ${run.path}`, run);
    return replayGate(run, { gate, seed, windowUpdates: window }, await partsOf(run.readManifest().config));
  },
  show: (found, _run, width) => [replayText(found, width)],
});

function replayText({ granularity, matrix, windows, decisions, agree }: Replay, width: number): string {
  const cell = (value: string | number): string => String(value).padStart(9);
  const counts = (table: Readonly<Record<string, number>>): string => routes.map((route) => table[route]).join('/');
  return [
    `${'was \\ would be'.padEnd(15)}${routes.map(cell).join('')}`,
    ...routes.map((was) => `${was.padEnd(15)}${routes.map((is) => cell(matrix[was][is])).join('')}`),
    '',
    `${'updates'.padEnd(15)}${'was k/a/r'.padStart(15)}${'would be k/a/r'.padStart(18)}${'same'.padStart(12)}`,
    ...windows.map((window) => {
      const updates = `${window.from}-${window.to}`.padEnd(15);
      const same = `${window.agree}/${window.decisions}`.padStart(12);
      return `${updates}${counts(window.before).padStart(15)}${counts(window.after).padStart(18)}${same}`;
    }),
    '',
    wrapText(
      `${agree}/${decisions} ${granularity}s have the same route. This is a counterfactual on the same rollouts: nothing was trained again.`,
      width,
    ),
  ].join('\n');
}
