export { type IsolationLevel, type LayerName, layerCovers } from './isolation.ts';
export { findPython } from './python.ts';
export { Sandbox, type SandboxOptions } from './sandbox.ts';
