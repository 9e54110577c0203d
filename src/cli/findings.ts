/**
 * What `gq doctor` looks at: each function inspects one part of the machine and states it as a finding, with what to do
 * when it is missing or slow. A missing part fails the doctor only where nothing works without it.
 */
import { availableParallelism, freemem, totalmem } from 'node:os';
import type { NvidiaPlaces } from './nvidia.ts';
import { findNvidiaDriver } from './nvidia.ts';

export interface Finding {
  readonly name: string;
  readonly status: 'found' | 'missing';
  readonly required: boolean;
  /** One line for a person. */
  readonly detail: string;
  readonly todo?: string;
  /** The same facts for a program. */
  readonly values: Readonly<Record<string, string | number | boolean>>;
}

const oldestNode = [20, 19] as const;
const fastNodeMajor = 24;

export function inspectNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const works = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1]);
  const fast = major >= fastNodeMajor;
  const todo = works
    ? `Use Node ${fastNodeMajor} or newer: its 256-bit wasm path about doubles the speed of the engine.`
    : `Install Node ${oldestNode.join('.')} or newer.`;
  return {
    name: 'node',
    status: works ? 'found' : 'missing',
    required: true,
    detail: `${version}, ${fast ? 'with' : 'without'} the fast path`,
    ...(!fast && { todo }),
    values: { version, fastPath: fast },
  };
}

export function inspectCores(): Finding {
  const cores = availableParallelism();
  return { name: 'cores', status: 'found', required: true, detail: `${cores}`, values: { cores } };
}

function inGibibytes(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}

export function inspectMemory(): Finding {
  const constrained = process.constrainedMemory();
  // Without a limit, Node 20 answers 0 and others a number larger than the machine.
  const limitBytes = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  const freeBytes = Math.min(freemem(), limitBytes);
  return {
    name: 'memory',
    status: 'found',
    required: true,
    detail: `${inGibibytes(limitBytes)}, ${inGibibytes(freeBytes)} of it free`,
    values: { limitBytes, freeBytes },
  };
}

export function inspectNvidia(places: NvidiaPlaces): Finding {
  const driver = findNvidiaDriver(places);
  const named = { name: 'nvidia driver', required: false, values: { ...driver } };
  if (driver.library === undefined) {
    return {
      ...named,
      status: 'missing',
      detail:
        driver.program === undefined ? 'no libcuda.so.1 and no nvidia-smi' : `${driver.program} without libcuda.so.1`,
      todo: 'Needed for the cuda device only: install the NVIDIA driver, or start the container with its GPU.',
    };
  }
  const version = driver.version === undefined ? '' : `${driver.version}, `;
  return { ...named, status: 'found', detail: `${version}${driver.library}` };
}
