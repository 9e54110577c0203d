/** The rehearsal against real runs, and what is said when a run does not fit. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UserError } from '../../src/base/errors.ts';
import { runCli } from '../../src/cli/program.ts';
import { assemble, openInputs, Resources } from '../../src/lab/index.ts';
import { VerdictLedger } from '../../src/oracle/index.ts';
import { type MemoryPlan, planMemory } from '../../src/run/memory.ts';
import { assertFits, renderPlan } from '../../src/run/memory-budget.ts';
import { partitionOf, trainingTasks } from '../../src/run/tasks.ts';
import { Lab, tinySettings } from './lab.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.open();
}, 120_000);
afterAll(() => lab[Symbol.asyncDispose]());

const planned = ({ totalBytes, marginBytes }: MemoryPlan): number => totalBytes - marginBytes;

/** Most memory that two updates used, and what was planned for them. */
async function compare(settings: readonly string[]): Promise<{ used: number; plan: MemoryPlan }> {
  const config = lab.config(['device.kind=reference', 'updates=2', ...settings]);
  await using resources = new Resources();
  const inputs = await openInputs(config, resources);
  const { device, folder, text } = inputs.files;
  const ledger = resources.use(new VerdictLedger(lab.path(`${settings.join(' ')} verdicts.jsonl`)));
  const { trainer } = await assemble(config, inputs, ledger, resources);
  for await (const event of trainer.train()) if (event.kind === 'step') ledger.forget();
  const tasks = trainingTasks(config, inputs.problems, await partitionOf(config, inputs.problems), text);
  const plan = await planMemory({
    config,
    decoder: folder.config,
    tasks,
    floats: device.floats,
    has: (kernel) => kernel in device.kernels,
  });
  return { used: device.arena.peak, plan };
}

/** More groups than one pass holds. */
const fullPasses = ['compute.tokensPerPass=800', 'sampling.promptsPerStep=12'];

describe('the plan', () => {
  // Real completions end before their limit, and more short groups share a pass: below the plan by a lot or above it by a little.
  it.each([
    ['vanilla', fullPasses],
    ['recompute', [...fullPasses, 'compute.recompute=true']],
    ['activation by token', ['arm.kind=activation', 'arm.granularity=token', ...fullPasses]],
    ['gradient', ['arm.kind=gradient', ...fullPasses]],
    ['sampling is the largest', ['compute.tokensPerPass=32', 'sampling.promptsPerStep=12', 'sampling.group=8']],
  ])('covers what a run uses: %s', { timeout: 120_000 }, async (_name, settings) => {
    const { used, plan } = await compare(settings);
    expect(used).toBeLessThanOrEqual(1.03 * planned(plan));
    expect(used).toBeGreaterThan(0.6 * planned(plan));
  });
});

describe('the plan of an evaluation', () => {
  it('has no optimiser, and grows with the rows that decode together', async () => {
    const config = lab.config(['data.problems=16']);
    await using resources = new Resources();
    const { folder, text } = (await openInputs(config, resources)).files;
    const tasks = trainingTasks(config, lab.problems, await partitionOf(config, lab.problems), text);
    const plan = (rowsTogether: number) =>
      planMemory({ config, decoder: folder.config, tasks, floats: ['f32'] }, { rowsTogether });
    const [few, many] = [await plan(8), await plan(64)];
    expect(few.standing.map(({ name }) => name)).toEqual(['weights', 'adapter and its gradients']);
    expect(few.phases).toHaveLength(1);
    expect(many.phases[0].bytes).toBeGreaterThan(2 * few.phases[0].bytes);
  });
});

describe('gq train on a GPU that is too small', () => {
  it('says what to lower and exits 2, before it looks for the GPU', { timeout: 60_000 }, async () => {
    let [out, err] = ['', ''];
    const streams = {
      stdout: { write: (text: string) => (out += text) },
      stderr: { write: (text: string) => (err += text) },
    };
    const settings = [`model=${lab.model}`, ...tinySettings, 'device.kind=cuda', 'device.arenaMiB=8'];
    const argv = ['train', ...settings.flatMap((setting) => ['--set', setting]), '--out', lab.path('too-small')];
    expect(await runCli(argv, streams)).toBe(2);
    expect(err).toMatch(/^gq: memory of the device: expected a run that fits into 0\.01 GiB \(in device\.arenaMiB\)/);
    expect(err).not.toContain('    at ');
    expect(out).toBe('');
  });
});

describe('a run that does not fit', () => {
  const config = () => lab.config(['compute.tokensPerPass=4096']);
  const gibibytes = (count: number): number => count * 2 ** 30;
  const plan: MemoryPlan = {
    standing: [
      { name: 'weights', bytes: gibibytes(8) },
      { name: 'optimiser', bytes: gibibytes(2) },
    ],
    phases: [
      { name: 'sampling', bytes: gibibytes(20) },
      { name: 'learning', bytes: gibibytes(40) },
    ],
    marginBytes: gibibytes(2),
    totalBytes: gibibytes(52),
  };
  const refuse = (count: number): string => {
    try {
      assertFits(plan, { bytes: gibibytes(count), source: 'free on a GPU' }, config());
    } catch (error) {
      expect(error).toBeInstanceOf(UserError);
      return (error as Error).message;
    }
    return 'fits';
  };

  it('is refused with its parts and what to lower, by as much as would do', () => {
    expect(refuse(52)).toBe('fits');
    expect(refuse(32)).toContain(
      'fits into 32.00 GiB (free on a GPU), found one that needs 52.00 GiB: weights 8.00 GiB',
    );
    expect(refuse(32)).toContain(
      'For learning lower compute.tokensPerPass to about 2048 (now 4096), or set output.rec',
    );
    expect(refuse(32)).not.toContain('promptsPerStep');
    expect(refuse(22)).toContain('Lower sampling.promptsPerStep to about 1 (now 3)');
    expect(refuse(11)).toContain('The weights, the adapter and its optimiser alone are too much');
  });

  it('is shown as a table when it fits', () => {
    const table = renderPlan(plan, { bytes: gibibytes(60), source: 'free on a GPU' });
    expect(table).toMatch(/learning +40\.00 GiB +the largest of the phases counts/);
    expect(table).toMatch(/left +8\.00 GiB +of 60\.00 GiB free on a GPU/);
  });
});
