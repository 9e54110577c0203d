/** What `gq doctor` looks at: a finding for each part of the machine, with what to do if it is missing or slow. */
import { spawnSync } from 'node:child_process';
import { availableParallelism, freemem, totalmem } from 'node:os';
import { DeviceError, GraderError, UserError } from '../base/index.ts';
import { temporaryParent } from '../base/node/index.ts';
import { canBeThread } from '../base/node/thread-source.ts';
import { type CudaReport, inspectCuda } from '../engine/cuda/index.ts';
import type { WasmOptions } from '../engine/wasm/index.ts';
import { createWasmDevice } from '../engine/wasm/index.ts';
import { inspectWebgpu } from '../engine/webgpu/index.ts';
import { driverAdvice as webgpuAdvice } from '../engine/webgpu/platform.ts';
import type { SandboxOptions } from '../env/sandbox/index.ts';
import { findPython, type LayerName, layerCovers, Sandbox } from '../env/sandbox/index.ts';

export interface Finding {
  readonly name: string;
  readonly status: 'found' | 'missing';
  readonly required: boolean;
  readonly detail: string;
  readonly todo?: string;
  readonly notes?: readonly string[];
  readonly values: Readonly<Record<string, string | number | boolean>>;
}

const oldestNode = [20, 19] as const;
const fastNodeMajor = 24;
const smallestArenaBytes = 2 ** 26;

const finding = (name: string, detail: string, values: Finding['values'], more: Partial<Finding> = {}): Finding => ({
  ...{ name, status: 'found', required: true, detail, values },
  ...more,
});

/** What a look at a needed part finds; the error of a missing part is a finding too, any other error is a bug and is thrown again. */
async function inspect(name: string, look: () => Promise<Finding>): Promise<Finding> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof DeviceError || error instanceof UserError || error instanceof GraderError)) throw error;
    const { expected, found: instead, fix } = error.complaint;
    const todo = fix === undefined ? {} : { todo: fix };
    return finding(name, `expected ${expected}, found ${instead}`, {}, { status: 'missing', ...todo });
  }
}

/** The Node that npm and npx run on, which is that of the shell that called them, as they tell what they start; null without npm. */
export function npmNode({ npm_node_execpath: file, npm_config_user_agent: agent = '' } = process.env): {
  readonly file: string;
  readonly version: string;
} | null {
  const version = /\bnode\/v(\S+)/.exec(agent)?.[1];
  return file === undefined || version === undefined ? null : { file, version };
}

export function inspectNode(version: string, file = process.execPath, ofNpm = npmNode()): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const works = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1]);
  const fast = major >= fastNodeMajor;
  const todo = works
    ? `Use Node ${fastNodeMajor} or newer: its 256-bit wasm path about doubles the speed of the engine.`
    : `Install Node ${oldestNode.join('.')} or newer.`;
  const detail = `${version}, ${fast ? 'with' : 'without'} the fast path, ${file}`;
  const status = works ? 'found' : 'missing';
  const notes = /[\\/]node_modules[\\/]/.test(file) && ofNpm?.version !== version ? [privateNote(ofNpm)] : undefined;
  return finding(
    'node',
    detail,
    { version, file, fastPath: fast },
    {
      ...{ status, ...(notes && { notes }) },
      ...(!fast && { todo }),
    },
  );
}

const privateNote = (ofNpm: ReturnType<typeof npmNode>): string =>
  `runs gq: npx and scripts of npm find the Node in node_modules first; ${ofNpm === null ? "a shell's own may be another" : `a shell's own is ${ofNpm.version}, ${ofNpm.file}`}`;

export function inspectCores(): Finding {
  const cores = availableParallelism();
  return finding('cores', `${cores}`, { cores });
}

const inGibibytes = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

export function inspectMemory(): Finding {
  const constrained = process.constrainedMemory();
  // If there is no limit, Node 20 answers 0, and other versions a number larger than the machine's memory.
  const limitBytes = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  const freeBytes = Math.min(freemem(), limitBytes);
  const detail = `${inGibibytes(limitBytes)}, ${inGibibytes(freeBytes)} of it free`;
  return finding('memory', detail, { limitBytes, freeBytes });
}

export function inspectWasm(options: WasmOptions = {}): Promise<Finding> {
  return inspect('wasm kernels', async () => {
    using device = await createWasmDevice({ arenaBytes: smallestArenaBytes, ...options });
    const { variant, threads } = device;
    const gflops = Number(device.gflops.toFixed(1));
    const detail = `${variant}, ${threads} ${threads === 1 ? 'thread' : 'threads'}, ${gflops} GFLOP/s on one`;
    return finding('wasm kernels', detail, { variant, threads, gflops });
  });
}

export function inspectPython(name?: string): Promise<Finding> {
  return inspect('python', async () => {
    const { executable, version } = await findPython(name);
    const values = { executable, version: version.join('.') };
    return finding('python', `${values.version}, ${executable}`, values);
  });
}

const partlyContained = 'Run untrusted programs where these layers work.';
const notContained =
  'Nothing is graded here unless environment.sandbox = "none" (or --sandbox none) says that programs may do what you may.';

export function inspectSandbox(options: SandboxOptions = {}): Promise<Finding> {
  return inspect('sandbox', async () => {
    await using sandbox = await Sandbox.start({ workers: 1, strictLevel: 0, ...options });
    const { level, layers, escapes } = sandbox.report;
    const names = Object.keys(layers) as LayerName[];
    const active = names.filter((name) => layers[name] === '');
    // Each process is bounded without a cgroup too, so its absence is a note and no gap.
    const inactive = names.filter((name) => layers[name] !== '' && name !== 'cgroup');
    const unbounded = layers.cgroup === '' ? [] : [`cgroup: not here (${layers.cgroup}); each process has limits`];
    const gaps = [
      ...inactive.map((name) => `${name} (${layers[name]})`),
      ...escapes.map((attack) => `a program ${attack}`),
    ].join(', ');
    const detail = `level ${level} of 3: ${active.length === 0 ? 'resource limits only' : active.join(', ')}`;
    const values = { level, layers: active.join(' '), escapes: escapes.join('; ') };
    return finding('sandbox', detail, values, {
      status: level > 0 ? 'found' : 'missing',
      notes: [...active.map((name) => `${name}: ${layerCovers[name]}`), ...unbounded],
      ...(gaps !== '' && { todo: `Not contained here: ${gaps}. ${level > 0 ? partlyContained : notContained}` }),
    });
  });
}

const driverAdvice =
  'Needed for the cuda device only: install the NVIDIA driver, or start the container with its GPU (--gpus all).';
const libraryAdvice =
  'Needed for the cuda device only: install the CUDA toolkit 12 or 13 or its Python packages; name another place in CUDA_HOME or device.libraries.';

export function describeCuda(report: CudaReport): Finding {
  const { usable, gpus, driverVersion, compilerVersion, blasVersion, libraries, problems } = report;
  const cards = gpus.length === 0 ? '' : `${describeCards(report)}, `;
  if (usable) {
    const versions = `driver for CUDA ${driverVersion}, NVRTC ${compilerVersion}, cuBLASLt ${blasVersion}`;
    const [{ name: gpu, freeBytes }] = gpus;
    const places = Object.entries(libraries).map(
      ([name, path]) => `${name}: ${path ?? 'where the system loader found it'}`,
    );
    const values = { gpus: gpus.length, gpu, freeBytes, versions };
    return finding('cuda', `${cards}${versions}`, values, { required: false, notes: places });
  }
  const answers = { libcuda: driverVersion, libnvrtc: compilerVersion, libcublasLt: blasVersion };
  const absent = Object.entries(answers).flatMap(([name, version]) =>
    version === null && libraries[name] === null ? [name] : [],
  );
  const missing = (detail: string, todo: string): Finding =>
    finding('cuda', detail, { libraries: absent.join(' ') }, { required: false, status: 'missing', todo });
  if (absent.includes('libcuda')) {
    const others = absent.filter((name) => name !== 'libcuda');
    const also = others.length === 0 ? '' : `; also not found: ${others.join(', ')}`;
    return missing(`no NVIDIA driver: libcuda.so was not found${also}`, driverAdvice);
  }
  if (absent.length === 0) return missing(problems[0] ?? 'a driver, but no GPU', driverAdvice);
  const driver = driverVersion === null ? 'a driver' : `a driver for CUDA ${driverVersion}`;
  return missing(`${cards}${driver}, but not found: ${absent.join(', ')}`, libraryAdvice);
}

function describeCards({ gpus }: CudaReport): string {
  const gibibytes = (bytes: number): string => (bytes / 2 ** 30).toFixed(0);
  return gpus
    .map(({ name, freeBytes, totalBytes }) => `${name} (${gibibytes(freeBytes)} of ${gibibytes(totalBytes)} GiB free)`)
    .join(', ');
}

/**
 * The package's native code writes to stderr by itself, with paths of the machine that built it. So it is asked in a process of its own, which is not
 * heard, where a process can read these files.
 */
async function askWebgpu(): ReturnType<typeof inspectWebgpu> {
  if (!canBeThread(import.meta.url)) return inspectWebgpu();
  const source = new URL('../engine/webgpu/index.ts', import.meta.url).href;
  const index = import.meta.url.endsWith('.ts') ? source : source.replace(/\.ts$/, '.js');
  const program = `import { inspectWebgpu } from ${JSON.stringify(index)};
process.stdout.write(JSON.stringify(await inspectWebgpu()));`;
  const words = ['--input-type=module', '--eval', program];
  const { status, signal, stdout } = spawnSync(process.execPath, words, { encoding: 'utf8', timeout: 60_000 });
  if (status === 0) return JSON.parse(stdout);
  return { missing: `the look for an adapter ended with ${signal ?? `code ${status}`}`, fix: webgpuAdvice };
}

async function findWebgpu(): Promise<Finding> {
  const report = await askWebgpu();
  if ('adapter' in report) return finding('webgpu', report.adapter, { adapter: report.adapter }, { required: false });
  const todo = `Needed for the webgpu device only. ${report.fix}`;
  return finding('webgpu', report.missing, {}, { required: false, status: 'missing', todo });
}

export async function inspectMachine(): Promise<readonly Finding[]> {
  // The environment of this call is wrong then, not the machine.
  temporaryParent();
  return [
    inspectNode(process.versions.node),
    inspectCores(),
    inspectMemory(),
    await inspectWasm(),
    await inspectPython(),
    await inspectSandbox(),
    describeCuda(await inspectCuda()),
    await findWebgpu(),
  ];
}

export const isHealthy = (findings: readonly Finding[]): boolean =>
  findings.every(({ status, required }) => status === 'found' || !required);
