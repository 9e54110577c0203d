/** An adapter whose export is the policy as trained, with both blocks; everything else is that of the given adapter. */
import type { Adapter } from './adapter.ts';
import { steerAdapter } from './steer.ts';

export function exportAsTrained(adapter: Adapter): Adapter {
  return { ...steerAdapter(adapter, (project) => project), deployedChange: (module) => adapter.fullChange(module) };
}
