/** The adapter of this machine: a GPU, or a driver in its place. */
import { DeviceError } from '../../base/index.ts';
import type { GpuAdapter } from './interface.ts';
import { driverAdvice, findGpu } from './platform.ts';

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
