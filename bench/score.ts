/**
 * Tokens scored per second by batch size: groups of 8 completions of 80 tokens that share a prompt of 64, forward only and
 * with the backward pass into an adapter's gradients. A backward pass counts as the forward's arithmetic once more (frozen
 * weights need no gradient of their own), the adapter's twice more. Every computed token counts, prompts included.
 *   node bench/score.ts [--device wasm|reference] [--threads N] [--seconds S] [--cpu] [--json]
 */
import { type Route, routeGroups, scaleGroups } from '../src/adapters/index.ts';
import { Scope, sum, Tape } from '../src/engine/index.ts';
import { type Group, packGroups, scoreGroups } from '../src/model/index.ts';
import {
  fastest,
  flopsPerToken,
  type Measurement,
  type MicroPolicy,
  measurePeak,
  microPolicy,
  printMeasurements,
  randomTokens,
  readOptions,
} from './micro-policy.ts';

const [promptTokens, completionTokens, group] = [64, 80, 8];
const routes: readonly Route[] = ['keep', 'absorb', 'route'];

const options = await readOptions();
const { device } = options;

function forward({ decoder }: MicroPolicy, groups: readonly Group[]): void {
  using tape = new Tape(device);
  scoreGroups(tape, decoder, packGroups(tape, decoder.config, groups));
}

function adaptedForward({ decoder, adapter }: MicroPolicy, groups: readonly Group[]): void {
  using tape = new Tape(device);
  const packed = packGroups(tape, decoder.config, groups);
  const coefficients = scaleGroups(
    tape,
    packed,
    groups.map(() => 0),
  );
  scoreGroups(tape, decoder, packed, { project: adapter.project({ coefficients }) });
}

function forwardAndBackward({ decoder, adapter }: MicroPolicy, groups: readonly Group[]): void {
  const learn = new Map(adapter.parameters.map(({ value, gradient }) => [value, gradient]));
  using tape = new Tape(device, { learn });
  const packed = packGroups(tape, decoder.config, groups);
  const chosen = groups.map((_, g) => routes[g % routes.length]);
  const coefficients = routeGroups(tape, packed, chosen, 'branch');
  tape.backward(sum(tape, scoreGroups(tape, decoder, packed, { project: adapter.project({ coefficients }) })));
}

const cases = [
  { what: 'score', run: forward, flops: (plain: number, _adapted: number) => plain },
  { what: 'score with an adapter', run: adaptedForward, flops: (_plain: number, adapted: number) => adapted },
  {
    what: 'score and train an adapter',
    run: forwardAndBackward,
    flops: (plain: number, adapted: number) => 2 * plain + 3 * (adapted - plain),
  },
];

const rows: Measurement[] = [];
const peak = await measurePeak(device);
{
  using scope = new Scope(device);
  const policy = await microPolicy(scope);
  for (const { what, run, flops } of cases) {
    for (const batch of [8, 32, 128]) {
      const groups = Array.from({ length: batch / group }, (_, g) => ({
        prompt: randomTokens('prompt', g, promptTokens),
        completions: Array.from({ length: group }, (_unused, i) =>
          randomTokens('completion', g * group + i, completionTokens),
        ),
      }));
      const tokens = groups.length * (promptTokens + group * completionTokens);
      const seconds = await fastest(device, options.secondsPerCase, () => run(policy, groups));
      const context = promptTokens + completionTokens / 2;
      const perToken = flops(flopsPerToken(policy, context, false), flopsPerToken(policy, context, true));
      rows.push({ what, batch, tokensPerSecond: tokens / seconds, shareOfPeak: (tokens * perToken) / seconds / peak });
    }
  }
}
printMeasurements(options, peak, rows);
device[Symbol.dispose]();
