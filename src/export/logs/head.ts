/** What a log says about its run. */
import { sha256 } from '../../base/node/index.ts';
import type { RunDirectory } from '../../run/index.ts';
import type { LogHead } from './metrics.ts';

export function headOf(run: RunDirectory): LogHead {
  const { name, arm, created, identity, config } = run.readManifest();
  return {
    name,
    group: arm,
    id: sha256(`${name} ${created} ${identity.config}`).slice(0, 8),
    created: Date.parse(created) / 1000,
    config: { ...config, armName: arm },
  };
}
