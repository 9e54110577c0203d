/** Where the libraries are looked for, and what is said when they are missing or broken: needs no GPU. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { DeviceError } from '../../base/errors.ts';
import { architectureOf, keepMachineCode, kernelFiles, readKernelSource, readMachineCode } from './compiler.ts';
import { createCudaDevice, inspectCuda } from './index.ts';
import { findLibrary, libraryFolders, libraryNames } from './libraries.ts';

const root = mkdtempSync(join(tmpdir(), 'gq-cuda-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function place(folder: string, ...names: readonly string[]): string {
  const path = join(root, folder);
  mkdirSync(path, { recursive: true });
  for (const name of names) writeFileSync(join(path, name), 'not a library');
  return path;
}

describe('library folders', () => {
  const explicit = place('explicit');
  const home = place('home/lib64', 'libnvrtc.so.12');
  const packages = place('env/lib/python3.12/site-packages/nvidia/cu13/lib', 'libnvrtc.so.13', 'libcublasLt.so.13');
  const loader = place('loader', 'libcublasLt.so.12', 'libcublasLt.so', 'libcublasLt.so.9.1');
  const bin = place('other/bin', 'python3');
  const others = place('other/lib/python3.11/dist-packages/nvidia/cublas/lib');
  const folders = libraryFolders(explicit, {
    CUDA_HOME: join(root, 'home'),
    VIRTUAL_ENV: join(root, 'env'),
    LD_LIBRARY_PATH: loader,
    PATH: `${bin}:/nowhere`,
  });

  test('come in order: explicit, CUDA_HOME, Python environments, the loader, the system', () => {
    const places = [explicit, home, packages, others, loader, '/usr/local/cuda/lib64'];
    expect(folders.filter((folder) => places.includes(folder))).toEqual(places);
  });

  test('give the first folder that has a library, and its newest version', () => {
    expect(findLibrary('libnvrtc', folders)).toBe(join(home, 'libnvrtc.so.12'));
    expect(findLibrary('libcublasLt', folders)).toBe(join(packages, 'libcublasLt.so.13'));
    expect(findLibrary('libcublasLt', [loader])).toBe(join(loader, 'libcublasLt.so.12'));
    expect(findLibrary('libcuda', [explicit, loader])).toBeUndefined();
  });

  test('without anything set are the system ones', () => {
    expect(libraryFolders(undefined, {})[0]).toBe('/usr/local/cuda/lib64');
  });
});

describe('libraries that cannot be loaded', () => {
  const broken = place('broken', 'libcuda.so.1', 'libnvrtc.so.13', 'libcublasLt.so.13');

  test('are reported, each with what to do, and nothing is thrown', async () => {
    const report = await inspectCuda({ libraries: broken }, {});
    expect(report.usable).toBe(false);
    expect(report.libraries).toEqual({
      libcuda: join(broken, 'libcuda.so.1'),
      libnvrtc: join(broken, 'libnvrtc.so.13'),
      libcublasLt: join(broken, 'libcublasLt.so.13'),
    });
    expect(report.gpus).toEqual([]);
    expect(report.problems).toHaveLength(libraryNames.length);
    for (const name of libraryNames) {
      expect(report.problems.filter((problem) => problem.includes(`the library ${name}.so`))).toHaveLength(1);
    }
  });

  test('make the device a DeviceError that names the driver and the fix', async () => {
    const failure = createCudaDevice({ libraries: broken });
    await expect(failure).rejects.toBeInstanceOf(DeviceError);
    await expect(failure).rejects.toThrow(/libcuda\.so.*Install the NVIDIA driver/s);
  });
});

describe('kernel sources', () => {
  test.each(kernelFiles)('%s.cu is joined with the shared parts, in order', (file) => {
    const source = readKernelSource(file);
    const marks = ['struct bf16', 'loadTiles', 'struct Segment', '__global__'];
    const places = marks.map((mark) => source.indexOf(mark));
    expect(places.every((place) => place >= 0)).toBe(true);
    expect(places).toEqual([...places].sort((a, b) => a - b));
  });

  test('are compiled for the architecture of the GPU', () => {
    expect([80, 89, 90, 100].map(architectureOf)).toEqual(['sm_80', 'sm_89', 'sm_90a', 'sm_100a']);
  });
});

describe('machine code on disk', () => {
  const path = join(root, 'code', 'rows-0.cubin');

  test('is read as it was kept', () => {
    expect(readMachineCode(path)).toBeNull();
    keepMachineCode(path, Buffer.from('machine code'));
    expect(readMachineCode(path)?.toString()).toBe('machine code');
  });

  test.each([
    ['a bit', (bytes: Buffer) => Buffer.from(bytes.map((byte, i) => (i === bytes.length - 3 ? byte ^ 1 : byte)))],
    ['an end', (bytes: Buffer) => bytes.subarray(0, -1)],
    ['everything', () => Buffer.alloc(0)],
    ['a version without a checksum', () => Buffer.from('machine code')],
  ])('is compiled again where a file has lost %s', (_, damage) => {
    keepMachineCode(path, Buffer.from('machine code'));
    writeFileSync(path, damage(readFileSync(path)));
    expect(readMachineCode(path)).toBeNull();
  });
});
