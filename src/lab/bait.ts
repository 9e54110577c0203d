/**
 * How often a policy takes the bait: it is sampled in full state on training prompts with hints, and each completion is read for what the exploit
 * of its loophole needs. Nothing is graded, so an arm without labels may use the count. Held-out loopholes are never asked for.
 */
import { randomStream, UserError } from '../base/index.ts';
import { markerFor, openLoopholes } from '../env/index.ts';
import { takesBait } from '../env/pairs/index.ts';
import { type ArmTools, type Policy, type Sampler, samplingSettings, type Task } from '../grpo/index.ts';
import type { Generation, ModelText } from '../model/index.ts';
import type { RunConfig } from '../run/index.ts';
import { partsOf } from './config.ts';

export function baitCounter(
  config: RunConfig,
  tasks: readonly Task[],
  text: ModelText,
  samplerOf: (policy: Policy) => Sampler,
): ArmTools['countBait'] {
  return async (policy, prompts) => {
    const { loopholes } = await partsOf(config);
    const { heldOutLoopholes } = config.environment;
    const asked = tasks
      .filter(({ loophole }) => loophole !== 'gt_only' && !heldOutLoopholes.includes(loophole))
      .slice(0, prompts);
    if (asked.length === 0) throw noPrompts();
    const sampler = samplerOf(policy);
    const { promptsPerStep, group } = config.sampling;
    const together = promptsPerStep * group;
    const generations: Generation[] = [];
    // As many rows as an update samples: the memory for those is planned.
    for (let at = 0; at < asked.length; at += together) {
      const requests = asked
        .slice(at, at + together)
        .map(({ hinted }, i) => ({ prompt: hinted, row: at + i, state: 'full' as const }));
      const stream = randomStream(config.seed, 'bait');
      const sampling = samplingSettings(config.sampling, text.stopTokens);
      generations.push(...(await sampler.sample(requests, sampling, stream)));
    }
    const took = asked.filter(({ loophole: name, markers, problem }, i) => {
      const completion = text.decode(generations[i].tokens);
      return openLoopholes(name, loopholes).some((loophole) =>
        takesBait(completion, loophole, [markerFor(markers, loophole, problem.id).disclosed]),
      );
    }).length;
    return { took, of: asked.length };
  };
}

function noPrompts(): UserError {
  return new UserError({
    call: 'count the completions that take the bait',
    expected: 'training problems with a loophole that is not held out',
    found: 'none',
  });
}
