/**
 * The few parts of the WebGPU interface that the device uses, typed here because neither the language's library nor Node's
 * types declare them without the browser's.
 */
export interface GpuBuffer {
  mapAsync(mode: number): Promise<void>;
  getMappedRange(): ArrayBuffer;
  unmap(): void;
  destroy(): void;
}

export interface GpuPipeline {
  readonly label: string;
}
/** Objects that are only handed back to the interface. */
export type GpuHandle = object;

export interface GpuPass {
  setPipeline(pipeline: GpuPipeline): void;
  setBindGroup(index: number, group: GpuHandle, offsets: readonly number[]): void;
  dispatchWorkgroups(x: number, y: number): void;
  end(): void;
}

export interface GpuEncoder {
  beginComputePass(): GpuPass;
  copyBufferToBuffer(source: GpuBuffer, from: number, target: GpuBuffer, to: number, bytes: number): void;
  finish(): GpuHandle;
}

export interface GpuDevice {
  readonly queue: {
    submit(commands: readonly GpuHandle[]): void;
    writeBuffer(
      target: GpuBuffer,
      offset: number,
      data: ArrayBufferLike | ArrayBufferView,
      from?: number,
      size?: number,
    ): void;
    onSubmittedWorkDone(): Promise<void>;
  };
  readonly lost: Promise<{ readonly reason: string; readonly message: string }>;
  createBuffer(options: { label: string; size: number; usage: number }): GpuBuffer;
  createShaderModule(options: { label: string; code: string }): GpuHandle;
  createBindGroupLayout(options: object): GpuHandle;
  createPipelineLayout(options: object): GpuHandle;
  createBindGroup(options: object): GpuHandle;
  createComputePipeline(options: object): GpuPipeline;
  createCommandEncoder(): GpuEncoder;
  pushErrorScope(filter: 'validation' | 'out-of-memory'): void;
  popErrorScope(): Promise<{ readonly message: string } | null>;
  onuncapturederror: ((event: { readonly error: { readonly message: string } }) => void) | null;
  destroy(): void;
}

export interface GpuAdapter {
  readonly info: { readonly vendor: string; readonly architecture: string; readonly description: string };
  readonly limits: { readonly maxBufferSize: number; readonly maxStorageBufferBindingSize: number };
  requestDevice(options: { requiredLimits: Readonly<Record<string, number>> }): Promise<GpuDevice>;
}

export interface WebGpu {
  requestAdapter(options?: { powerPreference: string }): Promise<GpuAdapter | null>;
}

export const bufferUse = { mapRead: 1, copySource: 4, copyTarget: 8, uniform: 64, storage: 128 } as const;
export const forReading = 1;
export const forCompute = 4;
