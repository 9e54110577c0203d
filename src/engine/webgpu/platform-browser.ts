/** Where WebGPU comes from in a page or its worker: the browser. */
import { DeviceError } from '../../base/index.ts';
import type { WebGpu } from './interface.ts';

export const driverAdvice =
  'The browser’s own page about its GPU (chrome://gpu, about:support) says why. Chromium computes on the processor, which is slow and serves to ' +
  'test, with --enable-unsafe-webgpu --use-webgpu-adapter=swiftshader.';

const own = (): WebGpu | undefined => (globalThis as { navigator?: { readonly gpu?: WebGpu } }).navigator?.gpu;

export const hasGpu = (): boolean => own() !== undefined;

export async function findGpu(): Promise<WebGpu> {
  const gpu = own();
  if (gpu !== undefined) return gpu;
  throw new DeviceError({
    ...{ call: 'webgpu device', expected: 'a browser with WebGPU', found: 'no navigator.gpu' },
    fix: 'Take a browser that has it, and open the page over https or on localhost.',
  });
}
