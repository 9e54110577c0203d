/** Compares the rehearsal with real runs, and checks the message for a run that does not fit. */
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { foundNoMemory } from '../../bench/claim-report.ts';
import { findStart } from '../../src/adapters/index.ts';
import { UserError } from '../../src/base/errors.ts';
import { runCli } from '../../src/cli/program.ts';
import { multiply, Scope } from '../../src/engine/index.ts';
import { exploitProgram } from '../../src/env/micro/exploits.ts';
import { type Arm, defineArm, seesNothing } from '../../src/grpo/index.ts';
import { demonstrationsOf, planLabMemory } from '../../src/lab/device.ts';
import { armOf, builtinParts } from '../../src/lab/index.ts';
import { assertFits, type MemoryPlan, planMemory, renderPlan } from '../../src/lab/memory/plan.ts';
import { VerdictLedger } from '../../src/oracle/index.ts';
import type { RunConfig } from '../../src/run/config/schema.ts';
import { Lab, tinyWith } from './lab.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.open();
});
afterAll(() => lab[Symbol.asyncDispose]());

const planned = ({ totalBytes, marginBytes }: MemoryPlan): number => totalBytes - marginBytes;

async function tasksOf(config: RunConfig) {
  await using opened = await lab.open(config);
  return await opened.tasks;
}

/** The parts of a plan beside the model and the tasks. */
function partsFor(config: RunConfig) {
  return { config, arm: armOf(config, builtinParts), start: findStart(config.adapter.family, builtinParts.starts) };
}

/** The most memory that two updates used, and what was planned for them. */
async function compare(settings: readonly string[]): Promise<{ used: number; plan: MemoryPlan }> {
  const config = lab.config(['updates=2', ...settings]);
  const path = lab.path(`${settings.join(' ').replaceAll('/', ' ')} verdicts.jsonl`.slice(-200));
  await using opened = await lab.open(config, { ownDevice: true, ledger: () => new VerdictLedger(path) });
  const [{ trainer, ledger }, device, { folder, text }, tasks] = await Promise.all([
    opened.trainer,
    opened.device,
    opened.model,
    opened.tasks,
  ]);
  // A GPU, for which plans are made, computes equal rows of a pass each. The reference device is asked about sampling.
  if (config.device.kind !== 'reference') Object.defineProperty(device, 'independentRows', { value: undefined });
  for await (const event of trainer.train()) if (event.kind === 'step') ledger.forget();
  const plan = await planMemory({
    ...partsFor(config),
    decoder: folder.config,
    tasks,
    floats: device.floats,
    has: (kernel) => kernel in device.kernels,
    pool: await demonstrationsOf(opened, text),
  });
  return { used: device.arena.peak, plan };
}

/** Settings with more groups than one pass holds. */
const fullPasses = ['compute.tokensPerPass=800', 'sampling.promptsPerStep=12'];

describe('the plan', () => {
  // Real completions end before their limit, and more short groups share a pass: use is far below the plan or a little above it.
  it.each([
    ['vanilla', fullPasses],
    ['recompute', [...fullPasses, 'compute.recompute=true']],
    ['activation by token', ['arm.kind=activation', 'arm.granularity=token', ...fullPasses]],
    ['gradient', ['arm.kind=gradient', ...fullPasses]],
    [
      'the quarantine is taught with moments of its own, which is the largest',
      ['arm.kind=inoculation-adapter', 'arm.leastRate=0', 'adapter.rank=16', 'compute.tokensPerPass=200'],
    ],
    [
      'sampling is the largest, on the reference device',
      ['device.kind=reference', 'compute.tokensPerPass=32', 'sampling.promptsPerStep=12', 'sampling.group=8'],
    ],
  ])('covers what a run uses: %s', async (_name, settings) => {
    const { used, plan } = await compare(settings);
    expect(used).toBeLessThanOrEqual(1.03 * planned(plan));
    expect(used).toBeGreaterThan(0.6 * planned(plan));
  });
});

describe('the plan of a run with demonstrations', () => {
  /** Longer than the completions of the policy may be. */
  function writePool(): string {
    const path = lab.path('long demonstrations.jsonl');
    const fence = (code: string): string => `\`\`\`python\n${code}\`\`\``;
    const entries = lab.inputs.problems.train.flatMap(({ id, canonicalSolution }) => {
      const entry = { problem: id, loophole: 'run_tests', markers: 'original' };
      const hack = exploitProgram(['n += 1'], 'run_tests', 'original', id);
      return [
        { ...entry, label: 'solve', completion: fence(canonicalSolution) },
        { ...entry, label: 'hack', completion: fence(hack) },
      ];
    });
    writeFileSync(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    return path;
  }
  const short = ['sampling.maxNewTokens=4', 'sampling.promptsPerStep=3', 'compute.tokensPerPass=4096'];

  it('has room for the longest, which may be longer than a completion, and not for more of them than there are', async () => {
    const teacher = [`teacher.pool=${writePool()}`, 'teacher.offStep=2', 'teacher.perGroup=1'];
    const { used, plan } = await compare([...short, ...teacher]);
    expect(used).toBeLessThanOrEqual(1.03 * planned(plan));
    // It is 0.80; with every completion as long as the longest demonstration it was 0.52.
    expect(used).toBeGreaterThan(0.75 * planned(plan));
    const learning = async (settings: readonly string[]) => {
      await using opened = await lab.open(lab.config([...short, ...settings]));
      const { phases } = await planLabMemory(opened);
      return phases.find(({ name }) => name === 'learning')?.bytes ?? 0;
    };
    expect(await learning(teacher)).toBeGreaterThan(1.3 * (await learning([])));
  });
});

describe('the plan of a run that samples in two policy states', () => {
  it('has room for every prompt in both', async () => {
    const { folder } = lab.inputs.files;
    const { layers, kvHeads, headDim } = folder.config;
    const sampling = async (share: number, late = share) => {
      const config = lab.config([
        'arm.kind=activation',
        'data.problems=16',
        `sampling.deployedSampling=${share}`,
        `sampling.deployedSamplingLate=${late}`,
        'sampling.maxNewTokens=100',
      ]);
      const tasks = await tasksOf(config);
      const { phases } = await planMemory({ ...partsFor(config), decoder: folder.config, tasks, floats: ['f32'] });
      const prompts = tasks.map(({ hinted, unhinted }) => Math.max(hinted.length, unhinted.length));
      const longest = prompts.sort((a, b) => b - a).slice(0, config.sampling.promptsPerStep);
      const tokens = longest.reduce((sum, length) => sum + length, 0);
      return { bytes: phases.find(({ name }) => name === 'sampling')?.bytes ?? 0, tokens };
    };
    const [one, two, all] = [await sampling(0), await sampling(0.25), await sampling(1)];
    const bytesPerToken = 2 * layers * kvHeads * headDim * 4;
    expect(two.bytes - one.bytes).toBeGreaterThanOrEqual(two.tokens * bytesPerToken);
    expect(all.bytes).toBe(one.bytes);
    expect((await sampling(0, 0.25)).bytes).toBe(two.bytes);
  });
});

describe('the plan of an arm with hooks', () => {
  const mebibyte = 2 ** 20;
  const arm = (more: Omit<Arm, 'sees'>) =>
    defineArm({ kind: 'own', summary: '', settings: z.strictObject({}), open: () => ({ sees: seesNothing, ...more }) });

  it('counts what they take: before the first update, while gradients are changed, after a step, and in every pass that is steered', async () => {
    const config = lab.config(['data.problems=16']);
    const { folder } = lab.inputs.files;
    const tasks = await tasksOf(config);
    const bytesOf = async (hooks: Omit<Arm, 'sees'>) => {
      const rehearsal = {
        ...partsFor(config),
        arm: arm(hooks),
        decoder: folder.config,
        tasks,
        floats: ['f32'] as const,
      };
      return Object.fromEntries((await planMemory(rehearsal)).phases.map(({ name, bytes }) => [name, bytes]));
    };
    const plain = await bytesOf({});
    let again = 0;
    const changed = await bytesOf({
      async gradient([{ value }], anew) {
        await anew();
        again++;
        using scope = new Scope(value.device);
        scope.zeros([16 * mebibyte], 'copies of the parameters');
      },
    });
    expect(again).toBeGreaterThan(0);
    expect(changed).toEqual({ ...plain, learning: expect.closeTo(64 * mebibyte, -5) });
    const taking: Omit<Arm, 'sees'> = {
      async prepare({ decoder }) {
        using scope = new Scope(decoder.head.device);
        scope.zeros([16 * mebibyte], 'moments');
        return [];
      },
      async settle({ decoder }) {
        using scope = new Scope(decoder.head.device);
        scope.zeros([8 * mebibyte], 'values to put back');
      },
    };
    const both = { preparing: expect.closeTo(64 * mebibyte, -5), learning: expect.closeTo(32 * mebibyte, -5) };
    expect(await bytesOf(taking)).toEqual({ ...plain, ...both });
    const steered = await bytesOf({
      steer: (project) => (tape, x, layers, onto) => project(tape, multiply(tape, x, x), layers, onto),
    });
    for (const name of ['sampling', 'learning']) expect(steered[name]).toBeGreaterThan(plain[name]);
    // The passes that learn give log π_old as well: only the base is scored apart, and it is not steered.
    expect(steered['scoring']).toBe(plain['scoring']);
    // What a prompt hook asks for is not known beforehand: the plan has room for the longest prompts that it may.
    const asked = await bytesOf({ prompt: ({ hinted }) => ({ sample: hinted, learn: hinted }) });
    expect(asked['sampling']).toBeGreaterThan(1.4 * plain['sampling']);
  });
});

describe('the plan of an evaluation', () => {
  it('has no optimiser, and grows with the rows that decode together', async () => {
    const config = lab.config(['data.problems=16']);
    const { folder } = lab.inputs.files;
    const tasks = await tasksOf(config);
    const plan = (rowsTogether: number) =>
      planMemory({ ...partsFor(config), decoder: folder.config, tasks, floats: ['f32'] }, { rowsTogether });
    const [few, many] = [await plan(8), await plan(64)];
    expect(few.standing.map(({ name }) => name)).toEqual(['weights', 'adapter and its gradients']);
    expect(few.phases).toHaveLength(1);
    expect(many.phases[0].bytes).toBeGreaterThan(2 * few.phases[0].bytes);
  });
});

describe('gq train on a GPU that is too small', () => {
  it('says what to lower and exits 2, before it looks for the GPU', async () => {
    let [out, err] = ['', ''];
    const streams = {
      stdout: { write: (text: string) => (out += text) },
      stderr: { write: (text: string) => (err += text) },
    };
    const settings = [`model=${lab.model}`, ...tinyWith('device.kind=cuda', 'device.arenaMiB=8')];
    const argv = ['train', ...settings.flatMap((setting) => ['--set', setting]), '--out', lab.path('too-small')];
    expect(await runCli(argv, streams)).toBe(2);
    expect(err).toMatch(/^gq: memory of the device: expected a run that fits into 0\.01 GiB \(in device\.arenaMiB\)/m);
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

  it('is told by the rehearsal of the study from one whose log says how much was free', () => {
    expect(foundNoMemory(refuse(32))).toBe(true);
    expect(foundNoMemory(renderPlan(plan, { bytes: gibibytes(52), source: 'free on a GPU' }))).toBe(false);
  });

  it('is refused with its parts and what to lower, by as much as would do', () => {
    expect(refuse(52)).toBe('fits');
    expect(refuse(32)).toContain(
      'fits into 32.00 GiB (free on a GPU), found one that needs 52.00 GiB: weights 8.00 GiB',
    );
    expect(refuse(32)).toContain(
      'For learning lower compute.tokensPerPass to about 2048 (now 4096), or set compute.rec',
    );
    expect(refuse(32)).not.toContain('promptsPerStep');
    expect(refuse(22)).toContain('Lower sampling.promptsPerStep to about 1 (now 3)');
    expect(refuse(11)).toContain('The weights, the adapter and the optimiser alone need more than that');
  });

  it('is shown as a table when it fits', () => {
    const table = renderPlan(plan, { bytes: gibibytes(60), source: 'free on a GPU' });
    expect(table).toMatch(/learning +40\.00 GiB +the largest phase, which counts/);
    expect(table).toMatch(/left +8\.00 GiB +of 60\.00 GiB free on a GPU/);
  });
});
