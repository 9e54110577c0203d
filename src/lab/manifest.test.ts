import { expect, it } from 'vitest';
import { byteIdentity } from './manifest.ts';

it.each([
  ['wasm wide 2', 'wasm relaxed 8', true],
  ['wasm wide 2', 'wasm plain 2', false],
  ['cuda NVIDIA H200 f32', 'cuda NVIDIA H200 bf16', false],
  ['cuda NVIDIA H200 f32', 'wasm wide 1', false],
  ['cuda NVIDIA H200 bf16', 'cuda NVIDIA H200 bf16 lanes', false],
])('bytes of a run on %s and on %s are the same: %s', (first, second, same) => {
  expect(byteIdentity(first) === byteIdentity(second)).toBe(same);
});
