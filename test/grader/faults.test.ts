/**
 * Every stage of a grading fails for one program, by a fault that is planted in the sandboxed side or thrown on ours: that program
 * gets a verdict, and its neighbours theirs. Only a sandbox that fails harmless programs too is an error.
 */
import { describe, expect, test } from 'vitest';
import { GraderError } from '../../src/base/errors.ts';
import { Execution, prepareProblem } from '../../src/env/execution.ts';
import { Sandbox } from '../../src/env/sandbox/sandbox.ts';
import { faultyPython } from './faulty-python.ts';
import { doubleProblem, gradeAll, patientJudge, right, wrong } from './fixtures.ts';

/** Where the program, or the question, holds the word, the lines run in place of what is replaced. */
function replace(place: string, name: string, lines: string): string {
  const body = lines.split('\n').map((line) => `        ${line}\n`);
  return `def faulty(*given, **more):\n    if any('BREAK' in str(part) for part in given):\n${body.join('')}    return ${name}(*given, **more)\n${place} = faulty\n`;
}

const begin = 'harness.use_nonce(given[1]); harness.write_all(harness.record(b"B"))';
const faults: Readonly<Record<string, string>> = {
  'a program that ends before it begins': replace('harness.run_program', 'run_program', 'os._exit(3)'),
  'a program that raises before it begins': replace('harness.run_program', 'run_program', 'raise RuntimeError'),
  'a program that says what cannot be read': replace(
    'harness.run_program',
    'run_program',
    'harness.write_all(b"x" * 99); os._exit(0)',
  ),
  'a program whose end ends the server':
    replace('harness.run_program', 'run_program', 'harness.hold_alone(b"BREAK"); os._exit(0)') +
    'harness.take_held = lambda: os._exit(5) if b"BREAK" in harness.HELD[:] else take_held()\n',
  'test functions that end before they begin': replace('own_tests.run_stages', 'run_stages', 'os._exit(3)'),
  'test functions that end when they have begun': replace('own_tests.run_stages', 'run_stages', `${begin}; os.abort()`),
  'an answer that ends before it begins': replace('own_tests.answer', 'answer', 'os._exit(3)'),
  'an answer that raises before it begins': replace('own_tests.answer', 'answer', 'raise RuntimeError'),
  'an answer that is killed': replace('own_tests.answer', 'answer', `${begin}; os.abort()`),
  'an answer that says nothing': replace('own_tests.answer', 'answer', `${begin}; os._exit(0)`),
  'an answer that cannot be read': replace('own_tests.answer', 'answer', 'harness.write_all(b"x" * 99); os._exit(0)'),
  'an answer that is too long': replace(
    'own_tests.answer',
    'answer',
    `${begin}; harness.write_all(harness.record(b"a", bytes(3 << 20))); os._exit(0)`,
  ),
};

const breaks = `${wrong}def run_tests():\n    try: Solution().solve('BREAK')\n    except TimeoutError: return\n    assert False\n`;
const honest = `${right}def run_tests():\n    assert Solution().solve(4) == 8\n`;

describe('a fault that one program causes', () => {
  test.each(Object.entries(faults))('%s', async (name, lines) => {
    await using sandbox = await Sandbox.start({ workers: 2, python: faultyPython(lines), strictLevel: 0 });
    const judge = patientJudge(sandbox);
    const verdicts = await gradeAll(
      judge,
      [breaks, honest].map((code) => ({ code, loophole: 'run_tests' })),
    );
    expect(verdicts.map(({ correct }) => correct)).toEqual([false, true]);
    expect(verdicts[1].labels).toEqual({ ownTestsPass: true, ownTestsRejectCanonical: false });
    // An answer that dies is one that has raised: the test function goes on.
    if (name.startsWith('an answer')) expect(verdicts[0].labels.ownTestsRejectCanonical).toBe(false);
    else expect(verdicts[0].labels.ownTestsRejectCanonical).toBeNull();
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
