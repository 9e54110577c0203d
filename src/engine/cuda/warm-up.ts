/**
 * Starts the driver and the context of a GPU in a thread of the system, which takes a second or so, while the caller's thread does
 * something else. The context lives until what is returned is disposed: a device that is opened meanwhile finds it there.
 */
import type { CudaOptions } from './index.ts';
import { importKoffi, type Library, libraryFolders, loadLibrary } from './libraries.ts';

/** Null where anything is missing or fails: opening the device will say what. */
export async function warmGpu({
  ordinal = 0,
  libraries,
}: Pick<CudaOptions, 'ordinal' | 'libraries'>): Promise<Disposable | null> {
  try {
    const koffi = await importKoffi();
    const library = loadLibrary(koffi, 'libcuda', libraryFolders(libraries, process.env));
    if ((await callAside(library, 'int cuInit(unsigned int flags)', 0)) !== 0) return null;
    const [device, context]: [number[], unknown[]] = [[0], [null]];
    const find = 'int cuDeviceGet(_Out_ int *device, int ordinal)';
    if ((await callAside(library, find, device, ordinal)) !== 0) return null;
    const retain = 'int cuDevicePrimaryCtxRetain(_Out_ void **context, int device)';
    if ((await callAside(library, retain, context, device[0])) !== 0) return null;
    const release = library.func('int cuDevicePrimaryCtxRelease_v2(int device)');
    return { [Symbol.dispose]: () => void release(device[0]) };
  } catch {
    return null;
  }
}

function callAside(library: Library, signature: string, ...parameters: readonly unknown[]): Promise<number> {
  return new Promise((resolve, reject) => {
    library.func(signature).async(...parameters, (error: unknown, code: number) => {
      if (error === null || error === undefined) resolve(code);
      else reject(error);
    });
  });
}
