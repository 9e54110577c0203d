/**
 * The pairs that a policy writes itself, at the start. They are asked for on training problems of known loopholes only, and a pair is
 * used if its hack side takes the bait and its clean side does not: both are read from the text, and nothing is graded.
 */
import type { TokenPair } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import { markerFor, openLoopholes } from '../env/index.ts';
import { framePrompts, hashPairs, type Pair, takesBait } from '../env/pairs/index.ts';
import { generatePairs, type Sampler, samplingSettings, type Task } from '../grpo/index.ts';
import type { ModelText } from '../model/index.ts';
import type { RunConfig } from '../run/index.ts';
import { partsOf } from './config.ts';
import { sourceOf } from './parts.ts';

export interface GeneratedPairs {
  readonly tokens: readonly TokenPair[];
  /** The same pairs as text. */
  readonly pairs: readonly Pair[];
  readonly hash: string;
  /** How many pairs the policy wrote. */
  readonly attempted: number;
}

export async function writePairs(
  config: RunConfig,
  sampler: Sampler,
  tasks: readonly Task[],
  text: ModelText,
): Promise<GeneratedPairs> {
  const parts = await partsOf(config);
  const { asksInWords: asking } = sourceOf(config, parts);
  const { loopholes } = parts;
  const { heldOutLoopholes } = config.environment;
  const asked = tasks
    .filter(({ loophole }) => loophole !== 'gt_only' && !heldOutLoopholes.includes(loophole))
    .slice(0, config.pairs.generated)
    .map((task) => ({
      task,
      prompts: framePrompts(task.problem, task.loophole, task.markers, { asking, loopholes }),
    }));
  const sampling = samplingSettings(config.sampling, text.stopTokens);
  const framed = asked.map(({ prompts }) => ({ hack: text.prompt(prompts.hack), clean: text.prompt(prompts.clean) }));
  const made = await generatePairs(sampler, framed, { seed: config.seed, sampling });
  const kept = made.flatMap((tokens, i) => {
    const { task, prompts } = asked[i];
    // Where several loopholes are open, the first was asked for.
    const [loophole] = openLoopholes(task.loophole, loopholes);
    const pair = {
      section: task.loophole,
      heading: task.problem.id,
      tags: ['generated', task.loophole],
      prompt: prompts.clean,
      hack: text.decode(tokens.hack),
      clean: text.decode(tokens.clean),
    };
    const markers = [markerFor(task.markers, loophole, task.problem.id).disclosed];
    return takesBait(pair.hack, loophole, markers) && !takesBait(pair.clean, loophole, markers)
      ? [{ tokens, pair }]
      : [];
  });
  expectEnough(config, kept.length, made.length);
  const pairs = kept.map(({ pair }) => pair);
  return { tokens: kept.map(({ tokens }) => tokens), pairs, hash: hashPairs(pairs), attempted: made.length };
}

function expectEnough({ pairs: { leastGenerated } }: RunConfig, kept: number, attempted: number): void {
  if (kept >= leastGenerated) return;
  throw new UserError({
    call: 'generate pairs',
    expected: `at least ${leastGenerated} pairs (pairs.leastGenerated) whose hack side alone takes the bait of its loophole`,
    found: `${kept} of ${attempted} that the policy wrote`,
    fix: 'Have it write more with pairs.generated, use hand-written pairs (arm.generatedPairs=false), or take a model that follows the request.',
  });
}
