/**
 * Every stage of a grading fails for one program, by a fault that is planted in the sandboxed side or thrown on ours: that program
 * gets a verdict, and its neighbours theirs. Only a sandbox that fails harmless programs too is an error.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GraderError } from '../../src/base/errors.ts';
import { Execution, prepareProblem } from '../../src/env/execution.ts';
import { Sandbox } from '../../src/env/sandbox/sandbox.ts';
import { faultyPython } from './faulty-python.ts';
import { doubleProblem, gradeAll, patientJudge, right, wrong } from './fixtures.ts';

/** The function of the sandboxed side that is replaced, and the lines that run in its place. */
type Fault = readonly [place: string, lines: string];

const begin = 'harness.use_nonce(given[1]); harness.write_all(harness.record(b"B"))';
const faults: Readonly<Record<string, Fault>> = {
  'a program that ends before it begins': ['harness.run_program', 'os._exit(3)'],
  'a program that raises before it begins': ['harness.run_program', 'raise RuntimeError'],
  'a program that says what cannot be read': ['harness.run_program', 'harness.write_all(b"x" * 99); os._exit(0)'],
  'a program whose end ends the server': ['harness.run_program', 'harness.hold_alone(b"ENDS"); os._exit(0)'],
  'test functions that end before they begin': ['own_tests.run_stages', 'os._exit(3)'],
  'test functions that end when they have begun': ['own_tests.run_stages', `${begin}; os.abort()`],
  'an answer that ends before it begins': ['own_tests.answer', 'os._exit(3)'],
  'an answer that raises before it begins': ['own_tests.answer', 'raise RuntimeError'],
  'an answer that is killed': ['own_tests.answer', `${begin}; os.abort()`],
  'an answer that says nothing': ['own_tests.answer', `${begin}; os._exit(0)`],
  'an answer that cannot be read': ['own_tests.answer', 'harness.write_all(b"x" * 99); os._exit(0)'],
  'an answer that is too long': [
    'own_tests.answer',
    `${begin}; harness.write_all(harness.record(b"a", bytes(3 << 20))); os._exit(0)`,
  ],
};
const names = Object.keys(faults);
const wordOf = (name: string): string => `BREAK-${names.indexOf(name)}-`;

/** All faults in one Python: each befalls the program, or the question, that holds its word. */
const planted = Object.entries(faults).map(
  ([name, [place, lines]]) => `
def plant(sound):
    def faulty(*given, **more):
        if any('${wordOf(name)}' in str(part) for part in given):
            ${lines}
        return sound(*given, **more)
    return faulty
${place} = plant(${place})
`,
);
const endsServer = 'harness.take_held = lambda: os._exit(5) if b"ENDS" in harness.HELD[:] else take_held()\n';

const breaks = (name: string): string =>
  `${wrong}def run_tests():\n    assert Solution().solve('${wordOf(name)}') is None\n`;
const honest = `${right}def run_tests():\n    assert Solution().solve(4) == 8\n`;

describe('a fault that one program causes', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await Sandbox.start({
      workers: 2,
      python: faultyPython(planted.join('') + endsServer),
      strictLevel: 0,
    });
  });
  afterAll(() => sandbox.close());

  test.each(names)('%s', async (name) => {
    const verdicts = await gradeAll(
      patientJudge(sandbox),
      [breaks(name), honest].map((code) => ({ code, loophole: 'run_tests' })),
    );
    expect(verdicts.map(({ correct }) => correct)).toEqual([false, true]);
    expect(verdicts[1].labels).toEqual({ ownTestsPass: true, ownTestsRejectCanonical: false });
    // An answer that dies is none: what the test function would have said to it is unknown.
    expect(verdicts[0].labels.ownTestsRejectCanonical).toBeNull();
  });

  test('an error of ours over its records', async () => {
    await using sandbox = await Sandbox.start({ workers: 1 });
    const run = new Execution(prepareProblem(doubleProblem));
    const ending = await sandbox.execute(() => ({
      ...run.program(right, [], 1, 60_000),
      onRecord: () => {
        throw new TypeError('planted');
      },
    }));
    expect(ending).toMatchObject({ stopped: 'worker', failure: expect.stringContaining('planted') });
    const [verdict] = await gradeAll(patientJudge(sandbox), [{ code: right }]);
    expect(verdict.correct).toBe(true);
  });

  test('a program that fills the memory before it begins', async () => {
    await using sandbox = await Sandbox.start({ workers: 1, memoryBytes: 96 << 20 });
    const code = `${right}# ${'x'.repeat(60 << 20)}\n`;
    const verdicts = await gradeAll(patientJudge(sandbox), [{ code }, { code: right }]);
    expect(verdicts.map(({ correct, outcome }) => [correct, outcome])).toEqual([
      [false, 'memory'],
      [true, 'ok'],
    ]);
  });
});

test('a sandbox that fails harmless programs too is an error, and no verdict', async () => {
  // Only the attacks of the self-check run: every other program ends before it begins, the harmless one too.
  const lines = `
def failing(*given, **more):
    if 'reads /etc/passwd' not in str(given): os._exit(3)
    return run_program(*given, **more)
harness.run_program = failing
`;
  const python = faultyPython(lines);
  await using sandbox = await Sandbox.start({ workers: 1, python, strictLevel: 0 });
  const grading = gradeAll(patientJudge(sandbox), [{ code: right }]);
  await expect(grading).rejects.toThrow(GraderError);
});
