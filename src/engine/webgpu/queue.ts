/**
 * Kernels in call order. Their numbers are gathered on the host; a flush sends them and the dispatches as one submission. Submissions and
 * writes run in the order of their calls, and a dispatch sees what earlier ones wrote: WebGPU promises both.
 */
import { DeviceError } from '../../base/index.ts';
import { bytesOf, type Tensor } from '../index.ts';
import {
  bufferUse,
  forCompute,
  type GpuBuffer,
  type GpuDevice,
  type GpuHandle,
  type GpuPipeline,
} from './interface.ts';
import type { Kernel } from './kernel.ts';

/** Bytes of the numbers of one dispatch: the least distance of two offsets into a uniform buffer that every device allows. */
const slotBytes = 256;
const slots = 1024;
/** Most groups along one axis that every device allows. */
const mostGroups = 65_535;

/** A tensor stands for its offset, counted in its own elements; null for 0. */
type Value = number | boolean | Tensor | null;

interface Dispatch {
  readonly pipeline: GpuPipeline;
  readonly x: number;
  readonly y: number;
}

export class KernelQueue {
  readonly #gpu: GpuDevice;
  readonly #slab: GpuBuffer;
  readonly #layout: GpuHandle;
  readonly #bindings: GpuHandle;
  readonly #numbers: GpuBuffer;
  readonly #staged = new ArrayBuffer(slots * slotBytes);
  readonly #words = new Uint32Array(this.#staged);
  readonly #floats = new Float32Array(this.#staged);
  readonly #pipelines = new Map<Kernel, GpuPipeline>();
  #waiting: Dispatch[] = [];
  #failure: string | null = null;

  constructor(gpu: GpuDevice, slab: GpuBuffer) {
    this.#gpu = gpu;
    this.#slab = slab;
    gpu.onuncapturederror = ({ error }) => this.#fail(error.message);
    void gpu.lost.then(({ reason, message }) => {
      if (reason !== 'destroyed') this.#fail(`the GPU was lost: ${message}`);
    });
    const usage = bufferUse.uniform | bufferUse.copyTarget;
    this.#numbers = gpu.createBuffer({ label: 'numbers', size: slots * slotBytes, usage });
    const layout = gpu.createBindGroupLayout({
      entries: [
        { binding: 0, visibility: forCompute, buffer: { type: 'storage' } },
        { binding: 1, visibility: forCompute, buffer: { type: 'uniform', hasDynamicOffset: true } },
      ],
    });
    this.#layout = gpu.createPipelineLayout({ bindGroupLayouts: [layout] });
    this.#bindings = gpu.createBindGroup({
      layout,
      entries: [
        { binding: 0, resource: { buffer: slab } },
        { binding: 1, resource: { buffer: this.#numbers, size: slotBytes } },
      ],
    });
  }

  /** Queues `groups` groups of a kernel; none is nothing. */
  run<Word extends string, Float extends string>(
    kernel: Kernel<Word, Float>,
    groups: number,
    numbers: Readonly<Record<Word, Value> & Record<Float, number>>,
  ): void {
    if (groups === 0) return;
    const pipeline = this.#pipelines.get(kernel) ?? this.#compile(kernel);
    const x = Math.min(groups, mostGroups);
    const start = (this.#waiting.length * slotBytes) / 4;
    kernel.words.forEach((name, i) => {
      this.#words[start + i] = wordOf(numbers[name]);
    });
    kernel.floats.forEach((name, i) => {
      this.#floats[start + kernel.words.length + i] = numbers[name];
    });
    this.#waiting.push({ pipeline, x, y: Math.ceil(groups / x) });
    if (this.#waiting.length === slots) this.flush();
  }

  flush(): void {
    if (this.#waiting.length === 0) return;
    const encoder = this.#gpu.createCommandEncoder();
    const pass = encoder.beginComputePass();
    this.#waiting.forEach(({ pipeline, x, y }, i) => {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, this.#bindings, [i * slotBytes]);
      pass.dispatchWorkgroups(x, y);
    });
    pass.end();
    this.#gpu.queue.writeBuffer(this.#numbers, 0, this.#staged, 0, this.#waiting.length * slotBytes);
    this.#gpu.queue.submit([encoder.finish()]);
    this.#waiting = [];
  }

  /** Copies words into the slab, after everything queued. Data is copied before the call returns. */
  write(offset: number, data: ArrayBufferView): void {
    this.flush();
    this.#gpu.queue.writeBuffer(this.#slab, offset, data);
  }

  /** Queues a copy of words out of the slab. */
  copyOut(target: GpuBuffer, offset: number, bytes: number): void {
    this.flush();
    const encoder = this.#gpu.createCommandEncoder();
    encoder.copyBufferToBuffer(this.#slab, offset, target, 0, bytes);
    this.#gpu.queue.submit([encoder.finish()]);
  }

  async reached(): Promise<void> {
    this.flush();
    await this.#gpu.queue.onSubmittedWorkDone();
    this.expectWell('sync');
  }

  /** Errors of kernels arrive later than the call that made them: they are thrown where somebody waits. */
  expectWell(call: string): void {
    if (this.#failure === null) return;
    throw new DeviceError({ call: `webgpu ${call}`, expected: 'kernels that run', found: this.#failure });
  }

  #fail(message: string): void {
    this.#failure ??= message;
  }

  #compile(kernel: Kernel): GpuPipeline {
    const { name: label, code } = kernel;
    const module = this.#gpu.createShaderModule({ label, code });
    const compute = { module, entryPoint: 'main' };
    const pipeline = this.#gpu.createComputePipeline({ label, layout: this.#layout, compute });
    this.#pipelines.set(kernel, pipeline);
    return pipeline;
  }
}

function wordOf(value: Value): number {
  if (value === null) return 0;
  if (typeof value === 'object') return value.offset / bytesOf[value.dtype];
  return Number(value);
}
