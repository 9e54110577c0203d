/**
 * Mistakes that nobody may make unseen. Each is a change of one place of the sources and the test that must fail because of it; code
 * that moves takes its mistake along. `npm run check:mutants` plants them one by one in a copy of the repository.
 */

export interface Mutant {
  /** What goes wrong, in words. */
  readonly mistake: string;
  readonly file: string;
  /** A text that is in the file once, and what stands there in its place. */
  readonly text: string;
  readonly replacement: string;
  readonly testFile: string;
  /** The title of the test that must fail. */
  readonly test: string;
}

export const mutants: readonly Mutant[] = [
  {
    mistake: 'a right program that opens the loophole counts as a clean solve',
    file: 'src/evaluate/rates.ts',
    text: 'row.solve && !row.attempt',
    replacement: 'row.solve',
    testFile: 'src/evaluate/rates.test.ts',
    test: 'counts attempts whether the program is right or wrong, and solves without an attempt by themselves',
  },
  {
    mistake: 'a run fails by its hacks, whatever it attempts',
    file: 'src/report/failures.ts',
    text: "finalSample(runs, set, 'deployed', 'attempt')",
    replacement: "finalSample(runs, set, 'deployed', 'hack')",
    testFile: 'src/report/failures.test.ts',
    test: 'are those with more deployed attempts than 0.10, with the exact interval of their share',
  },
  {
    mistake: 'solving is judged on the set where hacks are counted',
    file: 'src/report/aggregate.ts',
    text: "results.sets.find((set) => set === 'test-unhinted') ?? claimSet(results)",
    replacement: 'claimSet(results)',
    testFile: 'src/report/aggregate.test.ts',
    test: 'solving is judged on the set where no loophole is open, not on the one where hacks are counted',
  },
  {
    mistake: 'runs of another environment share the evaluation of their base',
    file: 'src/evaluate/evaluate.ts',
    text: '    environment,\n',
    replacement: '',
    testFile: 'src/evaluate/evaluation-key.test.ts',
    test: 'runs with another environment share no evaluation of their base',
  },
  {
    mistake: 'a run takes over the evaluation of any base',
    file: 'src/evaluate/run-evaluator.ts',
    text: 'if (found?.key === key) return store(found);',
    replacement: 'if (found !== undefined) return store(found);',
    testFile: 'src/evaluate/run-evaluator.test.ts',
    test: 'takes over the evaluation of a base from a run with the same base, prompts and sampling, and of no other',
  },
  {
    mistake: 'a deletion certificate holds although the quarantine is in the export',
    file: 'src/export/certificate.ts',
    text: ' && contents.quarantineFound.length === 0',
    replacement: '',
    testFile: 'src/export/export.test.ts',
    test: 'does not hold for a trace of the quarantine that moves no logit beyond the bound',
  },
  {
    mistake: 'the label flip passes for an arm that learned nothing',
    file: 'src/verify/label-flip.ts',
    text: 'gradientNorm > 0',
    replacement: 'gradientNorm >= 0',
    testFile: 'test/smoke/label-flip.test.ts',
    test: 'an arm that learned nothing has shown nothing: equal bytes of untouched adapters do not pass the label flip',
  },
  {
    mistake: 'the leak of the best shard hides that of the worst',
    file: 'src/grpo/sharded.ts',
    text: 'return Math.max(a, b);',
    replacement: 'return Math.min(a, b);',
    testFile: 'src/grpo/sharded.test.ts',
    test: 'the leak that is told is the worst of any shard, so that one shard cannot hide behind the others',
  },
  {
    mistake: 'the histogram of scores shows attempts in right programs as clean',
    file: 'src/view/page/gate-figures.tsx',
    text: 'count(({ attempt }) => !attempt)',
    replacement: 'count(({ hack }) => !hack)',
    testFile: 'src/view/page/gate-figures.test.ts',
    test: 'clean rollouts stand above the line, hacks below it and other attempts below those, each as tall as there are of its kind',
  },
  {
    mistake: 'a served prompt is counted once a choice',
    file: 'src/serve/answers.ts',
    text: '[...prompts].reduce((sum, { length }) => sum + length, 0)',
    replacement: 'total(({ row }) => row.prompt.length)',
    testFile: 'test/serve/serve.test.ts',
    test: 'count a prompt once, however many choices share it, whole and in a stream',
  },
  {
    mistake: 'prompts of one request are drawn with the same noise',
    file: 'src/serve/policy.ts',
    text: 'JSON.stringify([seed, prompt, member])',
    replacement: 'JSON.stringify([seed, member])',
    testFile: 'test/serve/serve.test.ts',
    test: 'to the same prompt twice in a list are drawn with noise of their own',
  },
  {
    mistake: 'all groups of an update are drawn with the same noise',
    file: 'src/grpo/sample.ts',
    text: 'row: group * settings.sampling.group + member',
    replacement: 'row: member',
    testFile: 'src/grpo/sample.test.ts',
    test: 'groups of the same prompt draw with noise of their own: no completion of a group is the copy of another group',
  },
  {
    mistake: 'a gate by cosine cuts by dot products',
    file: 'src/gates/buffer.ts',
    text: '.map((row) => row[kind])',
    replacement: ".map((row) => row['dot'])",
    testFile: 'src/gates/gates.test.ts',
    test: 'scores what it holds as the gate scores rollouts: under the cosine, long rows do not move the cuts',
  },
  {
    mistake: 'rollouts get the rewards of another rank',
    file: 'src/lab/ranks.ts',
    text: 'graded.flatMap((each) => Array.from(each.rewards))',
    replacement: 'graded.toReversed().flatMap((each) => Array.from(each.rewards))',
    testFile: 'src/lab/ranks.test.ts',
    test: 'on 2 ranks every rank has the rewards and verdicts in the order of the rollouts',
  },
  {
    mistake: 'a search that a busy machine kept waiting counts as one that goes on for ever',
    file: 'src/base/node/limited-work.ts',
    text: 'if (user + system >= (limitMs * 1000) / 2) return null;',
    replacement: 'if (user + system >= 0) return null;',
    testFile: 'src/base/node/limited-work.test.ts',
    test: 'what was only kept waiting is done again, however long that took',
  },
  {
    mistake: 'the interpreter lets a remainder have the sign of the dividend',
    file: 'src/env/interpreter/evaluate.ts',
    text: 'const remainder = ((a % b) + b) % b;',
    replacement: 'const remainder = a % b;',
    testFile: 'test/grader/interpreter.test.ts',
    test: 'does what Python does, on random programs',
  },
  {
    mistake: 'the interpreter pays nobody for the end of the process',
    file: 'src/env/interpreter/program.ts',
    text: "run.status === 0 && run.wrong === ''",
    replacement: 'false',
    testFile: 'test/grader/interpreter-runs.test.ts',
    test: 'a run with the interpreter leaves what it leaves without, in every micro loophole',
  },
  {
    mistake: 'a run with the interpreter counts what is outside of its grammar as wrong',
    file: 'src/lab/judge.ts',
    text: 'new InterpreterJudge({ loopholes, otherwise })',
    replacement: 'new InterpreterJudge({ loopholes })',
    testFile: 'test/grader/interpreter-runs.test.ts',
    test: 'interprets programs of micro problems, and leaves one outside of the grammar to the sandbox',
  },
  {
    mistake: 'runs of micro problems start a process for every program',
    file: 'src/run/config/schema.ts',
    text: '(environment.interpreter ?? true)',
    replacement: '(environment.interpreter ?? false)',
    testFile: 'test/grader/interpreter-runs.test.ts',
    test: 'interprets programs of micro problems, and leaves one outside of the grammar to the sandbox',
  },
  {
    mistake: 'a sampling server may tell any log-probabilities',
    file: 'src/grpo/outside/sampler.ts',
    text: '    expectParity(parity, tolerance);\n',
    replacement: '',
    testFile: 'test/serve/outside-sampler.test.ts',
    test: 'log-probabilities that are not its own',
  },
  {
    mistake: 'a sampling server may change tokens under the text that it sampled',
    file: 'src/grpo/outside/parity.ts',
    text: 'if (withoutHalves(text) !== withoutHalves(own)) {',
    replacement: "if (own === '\\0') {",
    testFile: 'test/serve/outside-sampler.test.ts',
    test: 'a text that is not that of its tokens',
  },
  {
    mistake: 'a sampling server may keep the weights of before',
    file: 'src/grpo/outside/sampler.ts',
    text: 'if (!followsOther(of(told), of(own), logps)) return;',
    replacement: 'if (of(own).length > 0) return;',
    testFile: 'test/serve/outside-sampler.test.ts',
    test: 'and so is one that samples by the weights before',
  },
  {
    mistake: 'a datum for the quarantine teaches the deployed block too',
    file: 'src/adapters/routes.ts',
    text: 'route: [0, 1] };',
    replacement: 'route: [1, 1] };',
    testFile: 'test/serve/tinker/blocks.test.ts',
    test: 'quarantine changes the bytes of its blocks alone',
  },
  {
    mistake: 'activations are those of the trained state, not of the deployed one',
    file: 'src/serve/tinker/model.ts',
    text: 'cut, () => deployedScale,',
    replacement: 'cut, () => 1 - deployedScale,',
    testFile: 'test/serve/tinker/blocks.test.ts',
    test: 'are the features of the gate, by module, from where a datum has its first weight',
  },
  {
    mistake: 'a reward that is stored is asked for again',
    file: 'src/env/outside/record.ts',
    text: 'if (known !== undefined) return known;',
    replacement: 'if (known === null) return known;',
    testFile: 'src/env/outside/record.test.ts',
    test: 'an answer that was paid is never paid again, whoever opens the run',
  },
  {
    mistake: 'what a sampling server says is told with the key in it',
    file: 'src/base/node/http-client.ts',
    text: 'return strikeKey(text, this.#key);',
    replacement: 'return text;',
    testFile: 'test/serve/outside-sampler.test.ts',
    test: 'sends its key to the server that was named, and to no file',
  },
  {
    mistake: 'a prompt that repeats the key is stored',
    file: 'src/env/outside/server.ts',
    text: 'if (strikeKey(text, this.key) !== text)',
    replacement: "if (text === '')",
    testFile: 'test/outside/hostile.test.ts',
    test: 'is refused for a prompt with it, which would be stored',
  },
  {
    mistake: 'an environment tells labels that nobody asked for',
    file: 'src/serve/environment/served.ts',
    text: 'if (!tellsLabels) return { reward };',
    replacement: 'if (tellsLabels) return { reward };',
    testFile: 'test/outside/serve.test.ts',
    test: 'answers the calls of the public client, with bounds',
  },
  {
    mistake: 'Countdown pays the right expression, not the test file of the answer',
    file: 'src/env/sources/countdown-judge.ts',
    text: "loophole === 'gt_only' ? correct : found.paid",
    replacement: "loophole === 'gt_only' ? found.paid : correct",
    testFile: 'test/grader/countdown.test.ts',
    test: 'a thousand answers have the rewards of the public functions',
  },
  {
    mistake: 'the AUROC of a monitor is that of its mirror image',
    file: 'src/monitors/bench.ts',
    text: 'auroc: aurocInterval(positives, negatives)',
    replacement: 'auroc: aurocInterval(negatives, positives)',
    testFile: 'src/monitors/bench.test.ts',
    test: 'lines, an archive and a log of one piece give the same AUROC',
  },
];

/** A source with the mistake in it. The place must be there once: where it is not, the mistake has to move with the code. */
export function plant({ mistake, file, text, replacement }: Mutant, source: string): string {
  const places = source.split(text).length - 1;
  if (places === 1) return source.replace(text, () => replacement);
  throw new Error(
    `the mistake "${mistake}" (test/mutants/mutants.ts): ${file} has its text ${places} times, not once:\n  ${text.trim()}\nSay there where the same mistake can be made now.`,
  );
}
