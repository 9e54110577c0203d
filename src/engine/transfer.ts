/** Copies between host arrays and a slab of host-visible memory, with the checks every such device needs. */
import { DeviceError, ShapeError } from '../base/index.ts';
import type { Arena } from './arena.ts';
import { type DType, describeTensor, type HostArray, type Tensor } from './tensor.ts';

function hostArray(buffer: ArrayBufferLike, dtype: DType, offset: number, size: number): HostArray {
  if (dtype === 'f32') return new Float32Array(buffer, offset, size);
  if (dtype === 'i32') return new Int32Array(buffer, offset, size);
  return new Uint16Array(buffer, offset, size);
}

function kindOf(array: HostArray): string {
  return `${array.constructor.name}[${array.length}]`;
}

/** Checks that a tensor is alive and of this arena: an offset means nothing anywhere else. */
function expectHome(arena: Arena, call: string, tensor: Tensor): void {
  tensor.assertAlive(call);
  if (tensor.device.arena === arena) return;
  throw new DeviceError({
    call: `${call} ${tensor.label} ${describeTensor(tensor)}`,
    expected: `a tensor on this ${arena.device} device`,
    found: `one on another ${tensor.device.name} device`,
  });
}

export function writeSlab(buffer: ArrayBufferLike, arena: Arena, target: Tensor, data: HostArray): void {
  expectHome(arena, 'write', target);
  const room = hostArray(buffer, target.dtype, target.offset, target.size);
  if (data.constructor !== room.constructor || data.length !== room.length) {
    throw new ShapeError({
      call: `write ${target.label} ${describeTensor(target)}`,
      expected: kindOf(room),
      found: kindOf(data),
    });
  }
  room.set(data);
}

export function readSlab(buffer: ArrayBufferLike, arena: Arena, source: Tensor): HostArray {
  expectHome(arena, 'read', source);
  return hostArray(buffer, source.dtype, source.offset, source.size).slice();
}

/** Reads an f32 tensor, typed. */
export async function readFloats(tensor: Tensor): Promise<Float32Array> {
  const data = await tensor.device.read(tensor);
  if (data instanceof Float32Array) return data;
  throw new DeviceError({ call: `read ${tensor.label}`, expected: 'f32', found: tensor.dtype });
}

/** Reads an i32 tensor, typed. */
export async function readInts(tensor: Tensor): Promise<Int32Array> {
  const data = await tensor.device.read(tensor);
  if (data instanceof Int32Array) return data;
  throw new DeviceError({ call: `read ${tensor.label}`, expected: 'i32', found: tensor.dtype });
}
