export {
  type IsolationLevel,
  type LayerName,
  layerCovers,
  levelWanted,
  type SandboxPolicy,
  sandboxPolicies,
} from './isolation.ts';
export { findPython } from './python.ts';
export { Sandbox, type SandboxOptions } from './sandbox.ts';
