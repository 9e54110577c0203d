/** Opens the server that samples for a run, where its config names one. */
import { basename, join } from 'node:path';
import { UserError } from '../base/index.ts';
import { sha256 } from '../base/node/index.ts';
import { Scope } from '../engine/index.ts';
import type { Arm, Policy, Sampler } from '../grpo/index.ts';
import { grpoSettings } from '../run/index.ts';
import type { Lab } from './open.ts';

/** The run's own sampler, or one that asks the server and has that one to fall back on. */
export async function openOutside(lab: Lab, policy: Policy, arm: Arm, own: Sampler): Promise<Sampler> {
  const { sampler: table } = lab.config;
  const url = table?.url ?? null;
  if (table === undefined || url === null) return own;
  expectPossible(lab, arm, url, table.maxStaleness);
  const { OutsideSampler } = await import('../grpo/outside/sampler.ts');
  const { text } = await lab.weights;
  const place = lab.run?.path ?? process.cwd();
  return lab.use(
    new OutsideSampler({
      ...{ url, table, policy, own },
      tokensPerPass: grpoSettings(lab.config).compute.tokensPerPass,
      rules: { vocabulary: policy.decoder.config.vocabSize, decode: (tokens) => text.decode(tokens) },
      model: lab.config.model,
      // Runs of the same name in other folders may share the server.
      prefix: `gq-${basename(place).replaceAll(/[^\w.-]/g, '_')}-${sha256(place).slice(0, 8)}-`,
      folder: table.folder ?? join(place, 'sampler'),
      scope: lab.use(new Scope(policy.decoder.head.device)),
      starts: lab.parts.starts,
    }),
  );
}

function expectPossible({ config, ranks, options }: Lab, arm: Arm, url: string, maxStaleness: number): void {
  const refuse = (key: string, expected: string, found: string): never => {
    throw new UserError({ call: `config, key ${key}`, expected, found });
  };
  if (ranks.ranks > 1) refuse('sampler', 'nothing in a run of several ranks', url);
  if (options.sampler !== undefined) refuse('sampler', `nothing beside the sampler ${options.sampler.name}`, url);
  if (arm.steer !== undefined) {
    refuse('sampler', `nothing with the arm ${config.arm.kind}, which steers the policy while it samples`, url);
  }
  if (maxStaleness > 0 && arm.prompt !== undefined) {
    const why = `0 with the arm ${config.arm.kind}, which may learn under other prompts than it samples under`;
    refuse('sampler.maxStaleness', why, `${maxStaleness}`);
  }
}
