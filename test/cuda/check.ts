/**
 * Checks the cuda device on a machine with a GPU; needs no test runner.
 *   node test/cuda/check.ts [--only ops,kernels,rounded,large,parity,invariants,sampling,generation,models,training,pretraining,ranks,lanes,races,coverage] [--all] [--jobs 4]
 * Prints one line per section with its worst check, every failed check, and a closing count; exits 1 when a check failed.
 * With --jobs every section has a process of its own, which takes up to 12 GiB of the GPU, and so many work side by side.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { mapPool } from '../../src/base/index.ts';
import { createCudaDevice, inspectCuda } from '../../src/engine/cuda/index.ts';
import { createReferenceDevice } from '../../src/engine/reference/index.ts';
import { verifyAdapters } from '../../src/verify/invariants.ts';
import { verifyParity } from '../../src/verify/parity.ts';
import { opCases } from '../device/cases.ts';
import { jointCases } from '../device/joint-cases.ts';
import { compareKernels, kernelCases } from '../device/kernel-cases.ts';
import { each, guard, leak, runSection, type Sections } from '../device/sections.ts';
import { type Check, compareOutcomes, runCase } from '../device/suite.ts';
import { compareAdaptedDecoding } from './adapted-suite.ts';
import { compareCoverage } from './coverage.ts';
import { laneChecks, laneShapes } from './lanes-suite.ts';
import { largeCases } from './large-suite.ts';
import { compareInterventions, compareMicroRun, compareResume } from './micro-run.ts';
import { compareGeneration, compareModels, compareRoundedDecoding } from './model-suite.ts';
import { comparePretraining } from './pretrain-suite.ts';
import { compareRanks } from './ranks.ts';
import { compareRounded, compareTwice, isFloat32Only } from './rounded-suite.ts';
import { compareSampling } from './sampling-suite.ts';

const golden = fileURLToPath(new URL('../golden', import.meta.url));
const float32Bound = 2e-5;
const roundedBound = 2e-2;
/** Bound for cases that compute 1 − y² of a single y near 1, which loses most of the eight bits of y. */
const cancellingBound = 5e-2;
const memoryBytes = 4 * 2 ** 30;

const { values: options } = parseArgs({
  options: { only: { type: 'string' }, all: { type: 'boolean' }, jobs: { type: 'string' } },
});
const report = await inspectCuda();
if (process.send === undefined) console.log(JSON.stringify(report));

const reference = createReferenceDevice();
const exact = await createCudaDevice({ precision: 'f32', memoryBytes });
const rounded = await createCudaDevice({ precision: 'bf16', memoryBytes });
/** Kernels that were launched by devices which are closed again, or in other processes. */
const launched = new Set<string>();

const sections: Sections = {
  ops: () =>
    each(opCases(), async (op) => {
      const [first, second] = [await runCase(exact, op), await runCase(exact, op)];
      const checks = compareOutcomes(op.name, first, await runCase(reference, op), float32Bound);
      const again = compareOutcomes(`${op.name}, twice`, second, first, 0);
      return [...checks, ...again, leak(op.name, exact)];
    }),
  kernels: () =>
    each([...kernelCases(), ...jointCases()], async (kernel) => [
      ...(await compareKernels(exact, reference, kernel, float32Bound)),
      leak(kernel.name, exact),
    ]),
  rounded: () =>
    each(
      opCases().filter((op) => !isFloat32Only(op)),
      async (op) => {
        const bound = op.name === 'tanh [1]' ? cancellingBound : roundedBound;
        return [...(await compareRounded(rounded, reference, op, bound)), leak(op.name, rounded)];
      },
    ),
  large: () =>
    each(largeCases(), async (op) => [
      ...(await compareRounded(rounded, exact, op, roundedBound)),
      ...(await compareTwice(rounded, op)),
      leak(op.name, rounded),
    ]),
  parity: () => guard('parity', async () => (await verifyParity(exact, golden)).checks),
  invariants: async () => [
    ...(await guard('invariants', async () => (await verifyAdapters(exact)).checks)),
    ...(await guard('adapted decoding', () => compareAdaptedDecoding(rounded))),
    leak('adapted decoding', rounded),
  ],
  sampling: () =>
    each(
      [1, 7, 1000, 32_000, 151_936].map((columns) => ({ name: `sample of ${columns}`, columns })),
      ({ columns }) => compareSampling(exact, columns > 100_000 ? 6 : 12, columns),
    ),
  generation: () => guard('generation', () => compareGeneration(exact, reference, golden)),
  models: async () => [
    ...(await guard('models', () => compareModels(exact, rounded, reference, golden))),
    ...(await guard('bf16 decoding', () => compareRoundedDecoding(rounded, golden))),
    leak('the end, float32', exact),
    leak('the end, bf16', rounded),
  ],
  training: async () => [
    ...(await guard('micro run', () => compareMicroRun(['device.kind=cuda', 'device.precision=f32']))),
    ...(await guard('interventions', () => compareInterventions('cuda'))),
    ...(await guard('resume in float32', () => compareResume('cuda', 'f32'))),
    ...(await guard('resume in bf16', () => compareResume('cuda', 'bf16'))),
  ],
  pretraining: async () => [
    ...(await guard('pre-training', () => comparePretraining(exact, rounded))),
    leak('pre-training, float32', exact),
    leak('pre-training, bf16', rounded),
  ],
  ranks: async () => [
    ...(await guard('ranks in float32', () => compareRanks('f32'))),
    ...(await guard('ranks in bf16', () => compareRanks('bf16'))),
  ],
  lanes: async () => {
    const checks: Check[] = [];
    for (const precision of ['bf16', 'f32'] as const) {
      using device = await createCudaDevice({ lanes: true, precision, memoryBytes });
      const shapes = precision === 'bf16' ? laneShapes : { '2M': laneShapes['2M'] };
      const cases = Object.entries(laneChecks(device, shapes)).map(([name, compare]) => ({ name, compare }));
      const compared = await each(cases, ({ compare }) => compare());
      checks.push(...compared.map((check) => ({ ...check, case: `${check.case}, ${precision}` })));
      checks.push(leak(`lanes, ${precision}`, device));
      for (const kernel of device.launched) launched.add(kernel);
    }
    return checks;
  },
};

/** Cases of small shapes for every kernel that shares memory between threads, few enough for a race checker to finish in a minute. */
const racing = [
  /^matmul (17×33×9|65×513×129|1100)|^invert 33|^sumFirst|^sumLast|^sum |^mean|^rmsNorm [^1]|^normRotary \d{1,2}×/,
  /^logProb (60|9)|^embedding 60|^attention (packed 70|prompt|decode 33|decoding in groups, [36])|^linears? .*×320|^adaptedLinears? .*(×320→2×(64|136)|×72→3×40|130×192)|^adaptedLinears unrecorded 70/,
];

const extra: Sections = {
  races: async () => [
    ...(await each(
      [...opCases(), ...largeCases()].filter(({ name }) => racing.some((pattern) => pattern.test(name))),
      async (op) => [
        ...compareOutcomes(op.name, await runCase(exact, op), await runCase(reference, op), float32Bound),
        ...(isFloat32Only(op) ? [] : await compareRounded(rounded, reference, op, roundedBound)),
      ],
    )),
    ...(await sections['kernels']()),
    ...(await guard('sampling', () => compareSampling(exact, 2, 1000))),
  ],
  coverage: () => {
    for (const kernel of [exact, rounded].flatMap((device) => device.launched)) launched.add(kernel);
    return guard('coverage', async () => compareCoverage(launched, exact.facts.capability));
  },
};

const everything = { ...sections, ...extra };
let [passed, failed] = [0, 0];

interface SectionEnd {
  readonly passed: number;
  readonly failed: number;
  readonly launched: readonly string[];
}

/** A section in a process of its own, which prints its lines itself; a process that ends without a word is a failed check. */
function runApart(name: string): Promise<void> {
  const child = fork(fileURLToPath(import.meta.url), ['--only', name, ...(options.all ? ['--all'] : [])]);
  let end: SectionEnd | null = null;
  child.on('message', (message: SectionEnd) => {
    end = message;
  });
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      if (end === null) console.log(`${name.padEnd(11)} failed: its process ended with ${signal ?? code}`);
      passed += end?.passed ?? 0;
      failed += end?.failed ?? 1;
      for (const kernel of end?.launched ?? []) launched.add(kernel);
      resolve();
    });
  });
}

const chosen = options.only?.split(',') ?? [...Object.keys(sections), 'coverage'];
const apart = options.jobs === undefined ? [] : chosen.filter((name) => name !== 'coverage');
// The longest begin first.
const longest = ['training', 'lanes', 'rounded', 'invariants', 'ops'];
const order = [...longest.filter((name) => apart.includes(name)), ...apart.filter((name) => !longest.includes(name))];
await mapPool(order, Number(options.jobs ?? 1), runApart);
for (const name of chosen.filter((section) => !apart.includes(section))) {
  const end = await runSection(everything, name, options.all === true);
  passed += end.passed;
  failed += end.failed;
}
for (const kernel of [exact, rounded].flatMap((device) => device.launched)) launched.add(kernel);
process.send?.({ passed, failed, launched: [...launched] } satisfies SectionEnd);
exact[Symbol.dispose]();
rounded[Symbol.dispose]();
if (process.send === undefined) console.log(`cuda: ${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
process.disconnect?.();
