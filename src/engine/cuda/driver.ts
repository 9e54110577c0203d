/** The CUDA driver: the calls the device uses, each checked. A failed call throws, named with its sizes. */
import { DeviceError } from '../../base/index.ts';
import type { Library } from './libraries.ts';

/** An address or handle of the driver, passed back as it came. */
export type Handle = unknown;
type Native = (...parameters: readonly unknown[]) => number;

const signatures = {
  cuInit: 'int cuInit(unsigned int flags)',
  cuDriverGetVersion: 'int cuDriverGetVersion(_Out_ int *version)',
  cuDeviceGetCount: 'int cuDeviceGetCount(_Out_ int *count)',
  cuDeviceGet: 'int cuDeviceGet(_Out_ int *device, int ordinal)',
  cuDeviceGetName: 'int cuDeviceGetName(void *name, int length, int device)',
  cuDeviceGetAttribute: 'int cuDeviceGetAttribute(_Out_ int *value, int attribute, int device)',
  cuDeviceTotalMem: 'int cuDeviceTotalMem_v2(_Out_ size_t *bytes, int device)',
  cuDevicePrimaryCtxRetain: 'int cuDevicePrimaryCtxRetain(_Out_ void **context, int device)',
  cuDevicePrimaryCtxRelease: 'int cuDevicePrimaryCtxRelease_v2(int device)',
  cuCtxSetCurrent: 'int cuCtxSetCurrent(void *context)',
  cuMemGetInfo: 'int cuMemGetInfo_v2(_Out_ size_t *free, _Out_ size_t *total)',
  cuMemAlloc: 'int cuMemAlloc_v2(_Out_ uint64 *pointer, size_t bytes)',
  cuMemFree: 'int cuMemFree_v2(uint64 pointer)',
  cuMemHostAlloc: 'int cuMemHostAlloc(_Out_ void **pointer, size_t bytes, unsigned int flags)',
  cuMemFreeHost: 'int cuMemFreeHost(void *pointer)',
  cuEventCreate: 'int cuEventCreate(_Out_ void **event, unsigned int flags)',
  cuEventDestroy: 'int cuEventDestroy_v2(void *event)',
  cuEventRecord: 'int cuEventRecord(void *event, void *stream)',
  cuEventQuery: 'int cuEventQuery(void *event)',
  cuMemcpyHtoDAsync: 'int cuMemcpyHtoDAsync_v2(uint64 to, const void *from, size_t bytes, void *stream)',
  cuMemcpyDtoHAsync: 'int cuMemcpyDtoHAsync_v2(void *to, uint64 from, size_t bytes, void *stream)',
  cuMemcpyDtoDAsync: 'int cuMemcpyDtoDAsync_v2(uint64 to, uint64 from, size_t bytes, void *stream)',
  cuMemsetD16Async: 'int cuMemsetD16Async(uint64 to, unsigned short value, size_t count, void *stream)',
  cuMemsetD32Async: 'int cuMemsetD32Async(uint64 to, unsigned int value, size_t count, void *stream)',
  cuStreamCreate: 'int cuStreamCreate(_Out_ void **stream, unsigned int flags)',
  cuStreamCreateWithPriority: 'int cuStreamCreateWithPriority(_Out_ void **stream, unsigned int flags, int priority)',
  cuStreamDestroy: 'int cuStreamDestroy_v2(void *stream)',
  cuStreamWaitEvent: 'int cuStreamWaitEvent(void *stream, void *event, unsigned int flags)',
  cuStreamQuery: 'int cuStreamQuery(void *stream)',
  cuStreamSynchronize: 'int cuStreamSynchronize(void *stream)',
  cuStreamBeginCapture: 'int cuStreamBeginCapture_v2(void *stream, int mode)',
  cuStreamEndCapture: 'int cuStreamEndCapture(void *stream, _Out_ void **graph)',
  cuGraphInstantiate: 'int cuGraphInstantiateWithFlags(_Out_ void **instance, void *graph, uint64 flags)',
  cuGraphLaunch: 'int cuGraphLaunch(void *instance, void *stream)',
  cuGraphDestroy: 'int cuGraphDestroy(void *graph)',
  cuGraphExecDestroy: 'int cuGraphExecDestroy(void *instance)',
  cuModuleLoadData: 'int cuModuleLoadData(_Out_ void **module, const void *image)',
  cuModuleUnload: 'int cuModuleUnload(void *module)',
  cuModuleGetFunction: 'int cuModuleGetFunction(_Out_ void **kernel, void *module, const char *name)',
  cuFuncSetAttribute: 'int cuFuncSetAttribute(void *kernel, int attribute, int value)',
  cuLaunchKernelEx: 'int cuLaunchKernelEx(const void *config, void *kernel, void *parameters, void *extra)',
  cuLaunchKernel:
    'int cuLaunchKernel(void *kernel, uint gx, uint gy, uint gz, uint bx, uint by, uint bz, uint shared, void *stream, void *parameters, void *extra)',
} as const;
type CallName = keyof typeof signatures;

/** The code of a stream that still has work. */
export const notReady = 600;

export class Driver {
  readonly #calls: Readonly<Record<CallName, Native>>;
  readonly #errorText: (code: number, which: 'Name' | 'String') => string;

  constructor(library: Library) {
    const calls = Object.entries(signatures).map(([name, signature]) => [name, library.func(signature)]);
    this.#calls = Object.fromEntries(calls);
    const texts = {
      Name: library.func('int cuGetErrorName(int code, _Out_ const char **text)'),
      String: library.func('int cuGetErrorString(int code, _Out_ const char **text)'),
    };
    this.#errorText = (code, which) => {
      const text: [string | null] = [null];
      return texts[which](code, text) === 0 ? (text[0] ?? '') : `error ${code}`;
    };
    this.call('cuInit', 'start the driver', 0);
  }

  /** Calls, and throws unless the driver says success. `what` names the sizes. */
  call(name: CallName, what: string, ...parameters: readonly unknown[]): void {
    const code = this.#calls[name](...parameters);
    if (code !== 0) this.fail(name, what, code);
  }

  /** Calls and returns the driver's code, for calls whose failure is an answer. */
  ask(name: CallName, ...parameters: readonly unknown[]): number {
    return this.#calls[name](...parameters);
  }

  /** The one value a call returns through its first parameter. */
  get<T>(name: CallName, what: string, ...parameters: readonly unknown[]): T {
    const out: [T | null] = [null];
    this.call(name, what, out, ...parameters);
    return out[0] as T;
  }

  fail(name: string, what: string, code: number): never {
    throw new DeviceError({
      call: `cuda ${name}, ${what}`,
      expected: 'success',
      found: `${this.#errorText(code, 'Name')} (${code}): ${this.#errorText(code, 'String')}`,
      ...fixes[code],
    });
  }
}

const fixes: Readonly<Record<number, { fix: string }>> = {
  2: { fix: 'Lower memoryBytes or the batch, or close other programs that use the GPU.' },
  35: { fix: 'Update the NVIDIA driver: it is older than the CUDA libraries.' },
  100: { fix: 'This machine has a driver but no NVIDIA GPU it can see: check nvidia-smi and CUDA_VISIBLE_DEVICES.' },
  209: { fix: 'Remove the folder of compiled kernels and run again.' },
  700: { fix: 'A kernel went out of bounds: run again with CUDA_LAUNCH_BLOCKING=1 to learn which.' },
  803: { fix: 'Restart after the driver update: the loaded kernel module and the library differ.' },
};
