/**
 * Arms that act on activations, adapters and gradients end with the same bytes whether or not they were killed: after an update, and
 * before the first one, while an arm prepares itself.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TrainerState } from '../../src/grpo/train.ts';
import { assemble, Resources } from '../../src/lab/index.ts';
import { VerdictLedger } from '../../src/oracle/index.ts';
import { loadCheckpoint } from '../../src/run/checkpoint.ts';
import { interventionArms } from '../smoke/arms.ts';
import { Lab, type LabRun } from '../smoke/lab.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.open();
}, 120_000);
afterAll(() => lab[Symbol.asyncDispose]());

const short = ['updates=4', 'output.checkpointEvery=2', 'output.keepState=all'];

/** Goes on from a checkpoint of a run in a new assembly, and returns the state at the end. */
async function goOn({ run }: LabRun, settings: readonly string[], update: number): Promise<TrainerState> {
  await using resources = new Resources();
  const ledger = resources.use(new VerdictLedger(lab.path(`${settings.join(' ')} from ${update}.jsonl`)));
  const { trainer } = await assemble(lab.config([...short, ...settings]), lab.inputs, ledger, resources);
  trainer.restore((await loadCheckpoint(run, update)).state);
  for await (const { kind } of trainer.train()) if (kind === 'step') ledger.forget();
  return await trainer.state();
}

const { steer, ablate } = interventionArms;
const inoculation = interventionArms['inoculation adapter, random'];

describe('a run that was killed', () => {
  it.each([
    ['steer', steer, 2],
    ['ablate', ablate, 2],
    ['gradient regularisation', interventionArms['gradient regularisation'], 2],
    ['inoculation adapter', inoculation, 2],
    ['inoculation adapter, while its quarantine was taught', inoculation, 0],
  ] as const)('%s', async (_, settings, update) => {
    const whole = await lab.train([...short, ...settings]);
    expect(await goOn(whole, settings, update)).toEqual((await loadCheckpoint(whole.run, 4)).state);
  });
});

describe('the quarantine of an inoculation adapter', () => {
  it('is taught before the first update, and never changes after it', async () => {
    const rank = 2;
    const whole = await lab.train([...short, ...inoculation, 'output.checkpointEvery=1', 'optimiser.decayToInitial=5']);
    const values = async (update: number, block: 'deployed' | 'quarantine') => {
      const { adapter } = (await loadCheckpoint(whole.run, update)).state;
      return [...adapter].flatMap(([name, { data }]) => {
        // A is [2R, C] and B is [O, 2R]: blocks are rows of the one and columns of the other.
        const width = name.endsWith('.A') ? data.length / (2 * rank) : 1;
        const wanted = block === 'deployed' ? 0 : 1;
        return Array.from(data).filter((_, at) => Math.floor((Math.floor(at / width) % (2 * rank)) / rank) === wanted);
      });
    };
    const taught = await values(1, 'quarantine');
    expect(taught).not.toEqual(await values(0, 'quarantine'));
    expect(await values(4, 'quarantine')).toEqual(taught);
    expect(await values(4, 'deployed')).not.toEqual(await values(1, 'deployed'));
    expect(whole.steps.map(({ qmass }) => qmass).filter((share) => share !== null && share > 0)).toEqual([]);
    const told = whole.events.filter(({ kind }) => kind === 'expectation').map((event) => JSON.stringify(event));
    expect(told.filter((line) => line.includes('the quarantine elicits the hack'))).toEqual([
      expect.stringMatching(/after \d+ demonstrations it elicits [01]\.\d{3} \(\d of 4 .*the random control elicits/),
    ]);
  });
});
