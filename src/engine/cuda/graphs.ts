/**
 * Repeated work as CUDA graphs. The first time a key is seen its body runs plainly (which also compiles and plans whatever it
 * needs), the second time it is captured, from then on it is replayed. The least recently used graph goes when there are too many.
 */
import type { Handle } from './driver.ts';
import type { Gpu } from './gpu.ts';

const mostGraphs = 64;
const relaxed = 2;

export class Graphs implements Disposable {
  readonly #gpu: Gpu;
  /** Graphs by key, in order of last use; undefined: seen once, not captured yet. */
  readonly #instances = new Map<string, Handle | undefined>();
  capturing = false;

  constructor(gpu: Gpu) {
    this.#gpu = gpu;
  }

  /** `hold` does what is captured and keeps the memory that it uses. */
  repeat(key: string, body: () => void, hold: (capture: () => void) => void): void {
    // Inside a capture the outer graph records everything.
    if (this.capturing) {
      body();
      return;
    }
    const seen = this.#instances.has(key);
    let instance = this.#instances.get(key);
    this.#instances.delete(key);
    if (!seen) body();
    else {
      instance ??= this.#capture(key, () => hold(body));
      this.#gpu.driver.call('cuGraphLaunch', key, instance, this.#gpu.stream);
    }
    this.#instances.set(key, instance);
    this.#evict();
  }

  #capture(key: string, body: () => void): Handle {
    const { driver, stream } = this.#gpu;
    driver.call('cuStreamBeginCapture', key, stream, relaxed);
    this.capturing = true;
    let finished = false;
    const graph: [Handle] = [null];
    try {
      body();
      finished = true;
    } finally {
      this.capturing = false;
      const code = driver.ask('cuStreamEndCapture', stream, graph);
      if (finished && code !== 0) driver.fail('cuStreamEndCapture', key, code);
    }
    const instance = driver.get<Handle>('cuGraphInstantiate', key, graph[0], 0);
    driver.call('cuGraphDestroy', key, graph[0]);
    return instance;
  }

  #evict(): void {
    for (const [key, instance] of this.#instances) {
      if (this.#instances.size <= mostGraphs) return;
      this.#instances.delete(key);
      if (instance !== undefined) this.#gpu.driver.call('cuGraphExecDestroy', key, instance);
    }
  }

  [Symbol.dispose](): void {
    for (const [key, instance] of this.#instances) {
      if (instance !== undefined) this.#gpu.driver.call('cuGraphExecDestroy', key, instance);
    }
    this.#instances.clear();
  }
}
