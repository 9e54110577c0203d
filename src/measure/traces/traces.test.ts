import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder, writeRun } from '../../../test/lab/hand-made.ts';
import { openJudged } from '../../oracle/index.ts';
import { chooseTraces } from './measurement.ts';

describe('traces', () => {
  it('finds for every loophole the first hack, a solve and one rollout of each route, and says what is missing', async () => {
    const run = await writeRun(join(temporaryFolder(), 'run'), {
      rollouts: [
        { update: 3, loophole: 'sentinel', hack: true, route: 'route' },
        { update: 2, loophole: 'sentinel', hack: true, route: 'keep' },
        { update: 1, loophole: 'sentinel', hack: true, source: 'teacher-hack' },
        { update: 1, loophole: 'run_tests', solve: true, route: null, trained: false },
      ],
    });
    const traces = chooseTraces(await (await openJudged(run)).rows());
    const found = Object.fromEntries(
      traces.map(({ loophole, kind, rollout }) => [`${loophole} ${kind}`, rollout?.update ?? null]),
    );
    expect(found).toEqual({
      'run_tests first hack': null,
      'run_tests solve': 1,
      'run_tests kept': null,
      'run_tests absorbed': null,
      'run_tests routed': null,
      'sentinel first hack': 2,
      'sentinel solve': null,
      'sentinel kept': 2,
      'sentinel absorbed': 1,
      'sentinel routed': 3,
    });
  });
});
