/** What `gq doctor` says about CUDA: what was found, what is missing, and why. Never throws. */
import { Compiler } from './compiler.ts';
import { Driver } from './driver.ts';
import { Gpu, type GpuFacts } from './gpu.ts';
import {
  type Environment,
  findLibrary,
  importKoffi,
  type Koffi,
  libraryFolders,
  libraryNames,
  loadLibrary,
} from './libraries.ts';

export interface CudaReport {
  /** Whether everything needed is there and answers. */
  readonly usable: boolean;
  /** Path of each library; null where none was found. */
  readonly libraries: Readonly<Record<string, string | null>>;
  /** The newest CUDA version that the driver supports, such as 13.0. */
  readonly driverVersion: string | null;
  readonly compilerVersion: string | null;
  readonly blasVersion: string | null;
  readonly gpus: readonly (GpuFacts & { readonly freeBytes: number })[];
  /** One sentence each: what is missing and what to do. */
  readonly problems: readonly string[];
}

export async function inspectCuda(
  { libraries }: { readonly libraries?: string } = {},
  environment: Environment = process.env,
): Promise<CudaReport> {
  const folders = libraryFolders(libraries, environment);
  const found = libraryNames.map((name) => [name, findLibrary(name, folders) ?? null]);
  const problems: string[] = [];
  const attempt = <T>(body: () => T): T | null => {
    try {
      return body();
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
      return null;
    }
  };
  let koffi: Koffi | null = null;
  try {
    koffi = await importKoffi();
  } catch (error) {
    problems.push(String(error));
  }
  const facts = koffi === null ? nothing : inspectLibraries(koffi, folders, attempt);
  return {
    usable: problems.length === 0 && facts.gpus.length > 0,
    libraries: Object.fromEntries(found),
    ...facts,
    problems,
  };
}

type Facts = Pick<CudaReport, 'driverVersion' | 'compilerVersion' | 'blasVersion' | 'gpus'>;
const nothing: Facts = { driverVersion: null, compilerVersion: null, blasVersion: null, gpus: [] };

function inspectLibraries(koffi: Koffi, folders: readonly string[], attempt: <T>(body: () => T) => T | null): Facts {
  const compilerVersion = attempt(() => new Compiler(loadLibrary(koffi, 'libnvrtc', folders), 80, '').version);
  const blasVersion = attempt(() => {
    const version = Number(loadLibrary(koffi, 'libcublasLt', folders).func('size_t cublasLtGetVersion()')());
    return `${Math.floor(version / 10_000)}.${Math.floor(version / 100) % 100}.${version % 100}`;
  });
  const driver = attempt(() => new Driver(loadLibrary(koffi, 'libcuda', folders)));
  if (driver === null) return { ...nothing, compilerVersion, blasVersion };
  const driverVersion = attempt(() => {
    const version = driver.get<number>('cuDriverGetVersion', 'version');
    return `${Math.floor(version / 1000)}.${(version % 1000) / 10}`;
  });
  const count = attempt(() => driver.get<number>('cuDeviceGetCount', 'GPUs')) ?? 0;
  const gpus = Array.from({ length: count }, (_, ordinal) => attempt(() => inspectGpu(driver, ordinal)));
  return { driverVersion, compilerVersion, blasVersion, gpus: gpus.filter((gpu) => gpu !== null) };
}

function inspectGpu(driver: Driver, ordinal: number): CudaReport['gpus'][number] {
  using gpu = new Gpu(driver, ordinal);
  return { ...gpu.facts, freeBytes: gpu.freeBytes };
}
