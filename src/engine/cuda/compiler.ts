/**
 * Compiles kernel files at run time (NVRTC) and keeps the machine code on disk, named by a hash of everything it depends on: the
 * source, the definitions, the GPU's architecture and the compiler's version. A kernel file is joined with the shared parts
 * (*.cuh), so no header of the toolkit is needed.
 */
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DeviceError } from '../../base/index.ts';
import type { Library } from './libraries.ts';

type Native = (...parameters: readonly unknown[]) => number;
const sharedParts = ['common', 'mma', 'segments'];
const ownParts: Partial<Record<KernelFile, readonly string[]>> = {
  flash: ['flash'],
  hopper: ['flash', 'warpgroup', 'hopper'],
  queries: ['flash', 'warpgroup', 'hopper'],
  rows: ['rows'],
  joint: ['rows'],
  change: ['warpgroup'],
};

export const kernelFiles = [
  'elementwise',
  'convert',
  'reduce',
  'rows',
  'joint',
  'matmul',
  'attention',
  'decode',
  'flash',
  'hopper',
  'queries',
  'change',
  'sample',
] as const;
export type KernelFile = (typeof kernelFiles)[number];

export function readKernelSource(file: KernelFile): string {
  const urls = [
    ...[...sharedParts, ...(ownParts[file] ?? [])].map((part) => new URL(`./kernels/${part}.cuh`, import.meta.url)),
    new URL(`./kernels/${file}.cu`, import.meta.url),
  ];
  return urls.map((url) => readFileSync(url, 'utf8')).join('\n');
}

/** sm_90a unlocks what Hopper and later have beyond the portable set. */
export function architectureOf(capability: number): string {
  return `sm_${capability}${capability >= 90 ? 'a' : ''}`;
}

const checksum = (code: Buffer): Buffer => createHash('sha256').update(code).digest();
const checksumBytes = 32;

/** Machine code that was kept; null where there is none, or its file is damaged: a GPU would run whatever is in it. */
export function readMachineCode(path: string): Buffer | null {
  if (!existsSync(path)) return null;
  const bytes = readFileSync(path);
  const code = bytes.subarray(checksumBytes);
  return checksum(code).equals(bytes.subarray(0, checksumBytes)) ? code : null;
}

/** Keeps machine code behind its checksum. */
export function keepMachineCode(path: string, code: Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${randomBytes(4).toString('hex')}`;
  writeFileSync(draft, Buffer.concat([checksum(code), code]));
  renameSync(draft, path);
}

export class Compiler {
  readonly version: string;
  readonly #architecture: string;
  readonly #folder: string;
  readonly #calls: Readonly<Record<string, Native>>;

  constructor(library: Library, capability: number, folder: string) {
    this.#architecture = architectureOf(capability);
    this.#folder = folder;
    this.#calls = {
      version: library.func('int nvrtcVersion(_Out_ int *major, _Out_ int *minor)'),
      create: library.func(
        'int nvrtcCreateProgram(_Out_ void **program, const char *source, const char *name, int n, void *h, void *i)',
      ),
      compile: library.func('int nvrtcCompileProgram(void *program, int count, const char **options)'),
      logSize: library.func('int nvrtcGetProgramLogSize(void *program, _Out_ size_t *bytes)'),
      log: library.func('int nvrtcGetProgramLog(void *program, void *out)'),
      codeSize: library.func('int nvrtcGetCUBINSize(void *program, _Out_ size_t *bytes)'),
      code: library.func('int nvrtcGetCUBIN(void *program, void *out)'),
      destroy: library.func('int nvrtcDestroyProgram(void **program)'),
    };
    const [major, minor] = [[0], [0]];
    this.#calls['version'](major, minor);
    this.version = `${major[0]}.${minor[0]}`;
  }

  /** Machine code of a kernel file with these definitions (such as HEAD=128), from disk when it was compiled before. */
  code(file: KernelFile, definitions: readonly string[]): Buffer {
    const source = readKernelSource(file);
    const options = [
      `--gpu-architecture=${this.#architecture}`,
      '--std=c++17',
      '--fmad=true',
      ...definitions.map((definition) => `--define-macro=${definition}`),
    ];
    const hash = createHash('sha256')
      .update(JSON.stringify([source, options, this.version]))
      .digest('hex');
    const path = join(this.#folder, `${file}-${hash.slice(0, 32)}.cubin`);
    const known = readMachineCode(path);
    if (known !== null) return known;
    const code = this.#compile(file, source, options);
    keepMachineCode(path, code);
    return code;
  }

  #compile(file: KernelFile, source: string, options: readonly string[]): Buffer {
    const { create, compile, codeSize, code, destroy } = this.#calls;
    const program: [unknown] = [null];
    this.#check('nvrtcCreateProgram', file, create(program, source, `${file}.cu`, 0, null, null));
    try {
      if (compile(program[0], options.length, options) !== 0) this.#refuse(file, options, program[0]);
      const bytes = [0];
      this.#check('nvrtcGetCUBINSize', file, codeSize(program[0], bytes));
      const out = Buffer.alloc(Number(bytes[0]));
      this.#check('nvrtcGetCUBIN', file, code(program[0], out));
      return out;
    } finally {
      destroy(program);
    }
  }

  #refuse(file: KernelFile, options: readonly string[], program: unknown): never {
    const bytes = [0];
    this.#calls['logSize'](program, bytes);
    const log = Buffer.alloc(Number(bytes[0]));
    this.#calls['log'](program, log);
    throw new DeviceError({
      call: `cuda compile ${file}.cu (${options.join(' ')}) with NVRTC ${this.version}`,
      expected: 'machine code',
      found: log.toString('utf8').replaceAll('\0', '').slice(0, 4000),
      fix: 'Compilers from CUDA 12.0 on know this language; for a newer GPU, use a newer toolkit.',
    });
  }

  #check(call: string, file: KernelFile, code: number): void {
    if (code !== 0) throw new DeviceError({ call: `${call}, ${file}.cu`, expected: 'success', found: `error ${code}` });
  }
}
