/** One GPU with its context and its stream: what kernels are queued on. */
import type { Driver, Handle } from './driver.ts';

const attributes = { multiprocessors: 16, major: 75, minor: 76 } as const;

export interface GpuFacts {
  readonly name: string;
  /** Compute capability, such as 90 for Hopper. */
  readonly capability: number;
  readonly multiprocessors: number;
  readonly totalBytes: number;
}

function readFacts(driver: Driver, ordinal: number): GpuFacts {
  const device = driver.get<number>('cuDeviceGet', `GPU ${ordinal}`, ordinal);
  const text = Buffer.alloc(256);
  driver.call('cuDeviceGetName', `GPU ${ordinal}`, text, text.length, device);
  const attribute = (which: keyof typeof attributes): number =>
    driver.get<number>('cuDeviceGetAttribute', which, attributes[which], device);
  return {
    name: text.toString('utf8', 0, text.indexOf(0)),
    capability: 10 * attribute('major') + attribute('minor'),
    multiprocessors: attribute('multiprocessors'),
    totalBytes: Number(driver.get<number>('cuDeviceTotalMem', `GPU ${ordinal}`, device)),
  };
}

export class Gpu implements Disposable {
  readonly driver: Driver;
  readonly facts: GpuFacts;
  readonly stream: Handle;
  readonly #device: number;

  constructor(driver: Driver, ordinal: number) {
    this.driver = driver;
    this.facts = readFacts(driver, ordinal);
    this.#device = driver.get<number>('cuDeviceGet', `GPU ${ordinal}`, ordinal);
    const context = driver.get<Handle>('cuDevicePrimaryCtxRetain', `GPU ${ordinal}`, this.#device);
    driver.call('cuCtxSetCurrent', `GPU ${ordinal}`, context);
    this.stream = driver.get<Handle>('cuStreamCreate', 'the one stream', 1);
  }

  get freeBytes(): number {
    const [free, total]: [number[], number[]] = [[0], [0]];
    this.driver.call('cuMemGetInfo', 'free memory', free, total);
    return Number(free[0]);
  }

  [Symbol.dispose](): void {
    this.driver.call('cuStreamDestroy', 'the one stream', this.stream);
    this.driver.call('cuDevicePrimaryCtxRelease', 'the context', this.#device);
  }
}
