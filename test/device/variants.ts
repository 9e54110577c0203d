/** The wasm variants that this JavaScript engine compiles. A variant that it cannot compile is named, never skipped in silence. */
import { DeviceError } from '../../src/base/errors.ts';
import { createWasmDevice, type Variant, type WasmDevice, type WasmOptions } from '../../src/engine/wasm/index.ts';

const variants: readonly Variant[] = ['plain', 'relaxed', 'wide'];

/** Size of the arena for the op suite, which needs little. */
export const suiteArenaBytes = 2 ** 28;

export interface VariantReport {
  readonly available: readonly Variant[];
  /** One text `variant: why` for each variant that does not compile here. */
  readonly missing: readonly string[];
}

export async function findVariants(options: WasmOptions = {}): Promise<VariantReport> {
  const available: Variant[] = [];
  const missing: string[] = [];
  for (const variant of variants) {
    try {
      using device: WasmDevice = await createWasmDevice({ ...options, variant, threads: 1, arenaBytes: 2 ** 26 });
      available.push(device.variant);
    } catch (error) {
      if (!(error instanceof DeviceError)) throw error;
      missing.push(`${variant}: ${error.message}`);
    }
  }
  return { available, missing };
}
