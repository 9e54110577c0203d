/** The devices that a command can use. If the requested device does not work, the command fails; no other one takes its place. */
import { DeviceError, nearestName, UserError } from '../base/index.ts';
import type { Device } from '../engine/index.ts';
import { coresLimit } from './cores.ts';

export interface DeviceOptions {
  /** Threads of the wasm device; 0: as many as this process has cores. */
  readonly threads?: number;
  readonly variant?: 'auto' | 'plain' | 'relaxed' | 'wide';
  readonly arenaMiB?: number;
  /** Number format of the cuda device: bf16 for speed, f32 for parity with the other devices. */
  readonly precision?: 'bf16' | 'f32';
  /** A folder with the CUDA libraries, searched before the usual places. */
  readonly libraries?: string;
  /** Number of the GPU; default: 0. */
  readonly ordinal?: number;
}

const openers: Readonly<Record<string, (options: DeviceOptions) => Promise<Device>>> = {
  reference: async ({ arenaMiB }) =>
    (await import('../engine/reference/index.ts')).createReferenceDevice(arenaOf(arenaMiB)),
  wasm: async ({ threads: asked = 0, variant = 'auto', arenaMiB }) => {
    const threads = asked === 0 ? coresLimit() : asked;
    return (await import('../engine/wasm/index.ts')).createWasmDevice({
      variant,
      ...(threads === null ? {} : { threads }),
      ...arenaOf(arenaMiB),
    });
  },
  cuda: openCuda,
};

async function openCuda({ precision = 'bf16', arenaMiB, libraries, ordinal = 0 }: DeviceOptions): Promise<Device> {
  const { createCudaDevice } = await import('../engine/cuda/index.ts');
  return await createCudaDevice({
    precision,
    ordinal,
    ...(arenaMiB === undefined ? {} : { memoryBytes: arenaMiB * 2 ** 20 }),
    ...(libraries === undefined ? {} : { libraries }),
  });
}

/** If the machine lacks what a device needs, the user gets a message without a stack. */
async function openNamed(open: () => Promise<Device>): Promise<Device> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof DeviceError) {
      const fix = 'Change device.threads or device.arenaMiB in the config, or use another device.';
      throw new UserError({ fix, ...error.complaint }, { cause: error });
    }
    if (!(error instanceof RangeError)) throw error;
    const fix = 'Lower device.arenaMiB.';
    const found = error.message;
    throw new UserError(
      { call: 'device', expected: 'as much memory as device.arenaMiB asks for', found, fix },
      { cause: error },
    );
  }
}

export const deviceNames = Object.keys(openers);

export async function openDevice(name: string, options: DeviceOptions = {}): Promise<Device> {
  const open = findDevice(name);
  return await openNamed(() => open(options));
}

/** How a device is opened; a name that no device has is an error. */
export function findDevice(name: string): (options: DeviceOptions) => Promise<Device> {
  const open = Object.hasOwn(openers, name) ? openers[name] : undefined;
  if (open !== undefined) return open;
  const nearest = nearestName(name, deviceNames);
  throw new UserError({
    call: '--device',
    expected: deviceNames.join(' or '),
    found: name,
    ...(nearest === undefined ? {} : { fix: `Did you mean ${nearest}?` }),
  });
}

function arenaOf(arenaMiB: number | undefined): { arenaBytes?: number } {
  return arenaMiB === undefined ? {} : { arenaBytes: arenaMiB * 2 ** 20 };
}
