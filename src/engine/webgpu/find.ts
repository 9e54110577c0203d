/** Where WebGPU comes from: a browser's own, or in Node the package webgpu, which needs a driver of the machine's. */
import { DeviceError } from '../../base/index.ts';
import type { GpuAdapter, WebGpu } from './interface.ts';

/** The package ends all its work when what it made is collected: it is kept. */
let made: WebGpu | null = null;

const installAdvice = 'Install it: npm install webgpu@0.6.2.';
const driverAdvice =
  'Install a driver of the GPU (Linux: for Vulkan, with libvulkan1). Without a GPU, Chromium brings SwiftShader, which is slow and serves to ' +
  'test: name its vk_swiftshader_icd.json in VK_ICD_FILENAMES.';

async function importPackage(): Promise<WebGpu> {
  try {
    const { create } = await import('webgpu');
    return create([]) as unknown as WebGpu;
  } catch (cause) {
    const found = cause instanceof Error ? cause.message : String(cause);
    const expected = 'a browser with WebGPU, or the optional package webgpu';
    throw new DeviceError({ call: 'webgpu device', expected, found, fix: installAdvice }, { cause });
  }
}

async function findGpu(): Promise<WebGpu> {
  const browser = (globalThis as { navigator?: { readonly gpu?: WebGpu } }).navigator?.gpu;
  made ??= browser ?? (await importPackage());
  return made;
}

export async function findAdapter(): Promise<GpuAdapter> {
  const gpu = await findGpu();
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (adapter !== null) return adapter;
  throw new DeviceError({
    ...{ call: 'webgpu device', expected: 'a GPU, or a driver that computes on the processor' },
    ...{ found: 'no adapter', fix: driverAdvice },
  });
}

export function describeAdapter({ info: { vendor, architecture, description } }: GpuAdapter): string {
  return [...new Set([vendor, architecture, description])].filter((word) => word !== '').join(' ');
}

/** What there is on this machine: the adapter in words, or what is missing and what to do. */
export async function inspectWebgpu(): Promise<
  { readonly adapter: string } | { readonly missing: string; readonly fix: string }
> {
  try {
    return { adapter: describeAdapter(await findAdapter()) };
  } catch (error) {
    if (!(error instanceof DeviceError)) throw error;
    const { expected, found, fix = '' } = error.complaint;
    return { missing: `${found}, where ${expected} was expected`, fix };
  }
}
