/** The linear layers that carry an adapter: q, k, v, o, gate, up and down of every layer. */
import { UserError } from '../base/index.ts';
import type { DecoderConfig } from '../model/index.ts';
import { expectedTensors } from '../model/index.ts';
import { defaultTargets } from './adapter.ts';

export interface TargetModule {
  /** The module's name, such as `model.layers.0.self_attn.q_proj`. */
  readonly name: string;
  readonly inputs: number;
  readonly outputs: number;
}

/** The target modules sorted by name, which is their order in features and checkpoints. */
export function targetModules(config: DecoderConfig, targets: readonly string[] = defaultTargets): TargetModule[] {
  const modules: TargetModule[] = [];
  const found = new Set<string>();
  for (const [tensor, [outputs, inputs]] of expectedTensors(config)) {
    const name = tensor.replace(/\.weight$/, '');
    const kind = name.split('.').at(-1) ?? '';
    if (!tensor.endsWith('.weight') || !targets.includes(kind)) continue;
    found.add(kind);
    modules.push({ name, inputs, outputs });
  }
  const missing = targets.filter((target) => !found.has(target));
  if (missing.length > 0) {
    throw new UserError({
      call: 'adapter targets',
      expected: `some of ${defaultTargets.join(', ')}`,
      found: missing.join(', '),
    });
  }
  return modules.sort((a, b) => (a.name < b.name ? -1 : 1));
}
