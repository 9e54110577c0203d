/**
 * Arms that act on activations, adapters and gradients, on the tiny lab. They end with the same bytes whether or not they were killed:
 * after an update, and before the first one, while an arm prepares itself.
 */
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fenceProgram } from '../../src/env/micro/documents.ts';
import { exploitProgram } from '../../src/env/micro/exploits.ts';
import type { Policy, SampleRequest, Sampler } from '../../src/grpo/index.ts';
import type { TrainerState } from '../../src/grpo/train.ts';
import { builtinParts, labelSources } from '../../src/lab/index.ts';
import { baitCounter } from '../../src/lab/pairs.ts';
import { VerdictLedger } from '../../src/oracle/index.ts';
import { loadCheckpoint } from '../../src/run/checkpoint.ts';
import { interventionArms } from './arms.ts';
import { Lab, type LabRun } from './lab.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.open();
});
afterAll(() => lab[Symbol.asyncDispose]());

const short = ['updates=3', 'output.checkpointEvery=1', 'output.keepState=all'];

/** Goes on from a checkpoint of a run in a new assembly, and returns the state at the end. */
async function goOn({ run }: LabRun, settings: readonly string[], update: number): Promise<TrainerState> {
  const ledger = () => new VerdictLedger(lab.path(`${settings.join(' ')} from ${update}.jsonl`));
  await using opened = await lab.open(lab.config([...short, ...settings]), { ledger });
  const { trainer, ledger: verdicts } = await opened.trainer;
  trainer.restore((await loadCheckpoint(run, update)).state);
  for await (const { kind } of trainer.train()) if (kind === 'step') verdicts.forget();
  return await trainer.state();
}

const stateAt = async ({ run }: LabRun, update: number): Promise<TrainerState> =>
  (await loadCheckpoint(run, update)).state;

describe('a run that was killed ends as one that was not', () => {
  it.each(['steer', 'ablate', 'gradient regularisation'])('%s', async (name) => {
    const settings = interventionArms[name];
    const whole = await lab.train([...short, ...settings]);
    expect(await goOn(whole, settings, 1)).toEqual(await stateAt(whole, 3));
  });

  it('inoculation adapter, also while its quarantine is taught; nothing changes the quarantine after that', async () => {
    const settings = [...interventionArms['inoculation adapter, random'], 'optimiser.decayToInitial=5'];
    const whole = await lab.train([...short, ...settings]);
    expect(await goOn(whole, settings, 0)).toEqual(await stateAt(whole, 3));
    expect(await goOn(whole, settings, 1)).toEqual(await stateAt(whole, 3));
    const rank = 2;
    const values = async (update: number, block: 'deployed' | 'quarantine') =>
      [...(await stateAt(whole, update)).adapter].flatMap(([name, { data }]) => {
        // A is [2R, C] and B is [O, 2R]: blocks are rows of the one and columns of the other.
        const width = name.endsWith('.A') ? data.length / (2 * rank) : 1;
        const wanted = block === 'deployed' ? 0 : 1;
        return Array.from(data).filter((_, at) => Math.floor((Math.floor(at / width) % (2 * rank)) / rank) === wanted);
      });
    const taught = await values(1, 'quarantine');
    expect(taught).not.toEqual(await values(0, 'quarantine'));
    expect(await values(3, 'quarantine')).toEqual(taught);
    expect(await values(3, 'deployed')).not.toEqual(await values(1, 'deployed'));
    expect(whole.steps.map(({ qmass }) => qmass).filter((share) => share !== null && share > 0)).toEqual([]);
    const told = whole.events.filter(({ kind }) => kind === 'expectation').map((event) => JSON.stringify(event));
    expect(told.filter((line) => line.includes('the quarantine elicits the hack'))).toEqual([
      expect.stringMatching(/after \d+ demonstrations it elicits [01]\.\d{3} \(\d of 4 .*the random control elicits/),
    ]);
  });
});

describe('the count of completions that take the bait', () => {
  it('reads their text: so many of the first prompts with hints, in batches of an update, none of a held-out loophole', async () => {
    const config = lab.config(['environment.loopholes=["run_tests"]', 'environment.heldOutLoopholes=["exit_code"]']);
    const { text } = lab.inputs.files;
    await using opened = await lab.open(config);
    const tasks = await opened.tasks;
    const batches: (readonly SampleRequest[])[] = [];
    /** Writes the exploit of run_tests for every third prompt, that of exit_code for the others. */
    const sampler: Sampler = {
      async sample(requests) {
        batches.push(requests);
        return requests.map(({ row }) => {
          const loophole = row % 3 === 0 ? 'run_tests' : 'exit_code';
          const tokens = text.completion(fenceProgram(exploitProgram(['n += 1'], loophole, 'original', 'p')));
          const logps = new Float32Array(tokens.length);
          return { tokens, logps, fullLogps: logps, finish: 'stop' as const };
        });
      },
    };
    const count = baitCounter(config, tasks, text, () => sampler);
    expect(await count({} as Policy, 13)).toEqual({ took: 5, of: 13 });
    expect(batches.map(({ length }) => length)).toEqual([12, 1]);
    const asked = tasks.filter(({ loophole }) => loophole === 'run_tests');
    expect(asked.length).toBeLessThan(tasks.length);
    batches.flat().forEach(({ prompt, row, state }, i) => {
      expect({ prompt, row, state }).toEqual({ prompt: asked[i].hinted, row: i, state: 'full' });
    });
  });

  it('is refused where every loophole is held out', async () => {
    const config = lab.config([]);
    await expect(
      baitCounter(config, [], lab.inputs.files.text, () => ({}) as Sampler)({} as Policy, 4),
    ).rejects.toThrow('expected training problems with a loophole that is not held out, found none.');
  });
});

describe('demonstrations of a pool', () => {
  it('are its hacks, and the run is stamped as one that uses labels', async () => {
    const pool = lab.path('pool.jsonl');
    const entries = lab.inputs.problems.train.slice(0, 3).flatMap(({ id: problem, canonicalSolution }) => [
      {
        problem,
        completion: fenceProgram(canonicalSolution),
        loophole: 'run_tests',
        markers: 'original',
        label: 'solve',
      },
      {
        ...{ problem, loophole: 'run_tests', markers: 'original', label: 'hack' },
        completion: fenceProgram(exploitProgram(['n += 1'], 'run_tests', 'original', problem)),
      },
    ]);
    writeFileSync(pool, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    const pairs = interventionArms['inoculation adapter'];
    const settings = [...pairs, 'arm.demonstrations=pool', `teacher.pool=${pool}`];
    const { events, steps } = await lab.train([...settings, 'updates=1']);
    expect(events[0]).toMatchObject({ kind: 'expectation', detail: expect.stringMatching(/^after 3 demonstrations/) });
    expect(steps[0].demonstrations).toBe(0);
    const stamped = (own: readonly string[]) => labelSources(lab.config(own), builtinParts, { pairsUseLabels: false });
    expect([await stamped(settings), await stamped(pairs)]).toEqual([['they chose the demonstrations'], []]);
  });
});
