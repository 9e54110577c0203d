// What every kernel does with four lanes: whole vectors, a last part of one, sums over lanes. Loads may run past the end
// of a tensor (the memory has room after the arena, and lanes past the end are dropped or masked); stores never do.
// Sums have a fixed order.
import { tileScratch } from './layout';

/** All ones in the lanes of the first `bytes` bytes. */
// @ts-ignore: decorator
@inline
export function maskOf(bytes: usize): v128 {
  return i32x4.lt_u(i32x4(0, 4, 8, 12), i32x4.splat(<i32>bytes));
}

/** Stores the first `bytes` bytes of a vector, at most all of it. */
// @ts-ignore: decorator
@inline
export function put(address: usize, value: v128, bytes: usize): void {
  if (bytes >= 16) v128.store(address, value);
  else putPart(address, value, bytes);
}

/** Two neighbouring vectors, computed alike: the engine may join them. */
// @ts-ignore: decorator
@inline
export function putPair(address: usize, first: v128, second: v128): void {
  v128.store(address, first);
  v128.store(address, second, 16);
}

/**
 * A number in all lanes, for loops of pairs: V8 joins two broadcasts from memory, and stumbles over two splats of a value
 * it holds in a register. `slot` tells apart the numbers of one loop.
 */
// @ts-ignore: decorator
@inline
export function broadcast(value: f32, slot: usize): v128 {
  store<f32>(tileScratch() + slot * 4, value);
  return v128.load32_splat(tileScratch() + slot * 4);
}

export function putPart(address: usize, value: v128, bytes: usize): void {
  store<f32>(address, f32x4.extract_lane(value, 0));
  if (bytes > 4) store<f32>(address, f32x4.extract_lane(value, 1), 4);
  if (bytes > 8) store<f32>(address, f32x4.extract_lane(value, 2), 8);
}

// @ts-ignore: decorator
@inline
export function sumLanes(v: v128): f32 {
  return (
    f32x4.extract_lane(v, 0) + f32x4.extract_lane(v, 1) + (f32x4.extract_lane(v, 2) + f32x4.extract_lane(v, 3))
  );
}

// @ts-ignore: decorator
@inline
export function maxLanes(v: v128): f32 {
  return max(
    max(f32x4.extract_lane(v, 0), f32x4.extract_lane(v, 1)),
    max(f32x4.extract_lane(v, 2), f32x4.extract_lane(v, 3)),
  );
}

/** Four floats added to two doubles: lanes 0 and 2, lanes 1 and 3. */
// @ts-ignore: decorator
@inline
export function addToDoubles(total: v128, v: v128): v128 {
  const high = v128.shuffle<f32>(v, v, 2, 3, 2, 3);
  return f64x2.add(f64x2.add(total, f64x2.promote_low_f32x4(v)), f64x2.promote_low_f32x4(high));
}

// @ts-ignore: decorator
@inline
export function sumDoubles(total: v128): f64 {
  return f64x2.extract_lane(total, 0) + f64x2.extract_lane(total, 1);
}
