/**
 * Where WebGPU comes from in Node: the package webgpu, which needs a driver of the machine's. A bundle for browsers has platform-browser.ts in
 * its place, and so never the package.
 */
import { DeviceError } from '../../base/index.ts';
import type { WebGpu } from './interface.ts';
import * as page from './platform-browser.ts';

/** The package ends all its work when what it made is collected: it is kept. */
let made: WebGpu | null = null;

const installAdvice = 'Install it: npm install webgpu@0.6.2.';
export const driverAdvice =
  'Install a driver of the GPU (Linux: for Vulkan, with libvulkan1). Without a GPU, Chromium brings SwiftShader, which is slow and serves to ' +
  'test: name its vk_swiftshader_icd.json in VK_ICD_FILENAMES.';

export async function findGpu(): Promise<WebGpu> {
  if (page.hasGpu()) return page.findGpu();
  made ??= await importPackage();
  return made;
}

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
