/**
 * Finds and loads the three libraries the device needs: the driver (libcuda), the run-time compiler (libnvrtc) and the matrix
 * library (libcublasLt). Places are tried in this order: an explicit folder, CUDA_HOME and CUDA_PATH, the nvidia packages of a Python
 * environment (VIRTUAL_ENV, CONDA_PREFIX, the pythons on PATH), LD_LIBRARY_PATH, the usual system places.
 */
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { DeviceError } from '../../base/index.ts';

export const libraryNames = ['libcuda', 'libnvrtc', 'libcublasLt'] as const;
export type LibraryName = (typeof libraryNames)[number];
export type Environment = Readonly<Record<string, string | undefined>>;

/** What is used of koffi, written out: types of the package that name an optional one would not compile without it. */
export interface Library {
  func(definition: string): ((...parameters: readonly unknown[]) => number) & {
    async(...parameters: readonly unknown[]): unknown;
  };
}
export interface Koffi {
  load(path: string, options?: { readonly global?: boolean }): Library;
  address(pointer: unknown): bigint;
  view(pointer: unknown, bytes: number): ArrayBuffer;
}

const systemFolders = [
  '/usr/local/cuda/lib64',
  '/usr/local/cuda/targets/x86_64-linux/lib',
  '/usr/local/cuda/targets/sbsa-linux/lib',
  '/opt/cuda/lib64',
  '/usr/local/nvidia/lib64',
  '/usr/lib/x86_64-linux-gnu',
  '/usr/lib/aarch64-linux-gnu',
  '/usr/lib/wsl/lib',
  '/run/opengl-driver/lib',
  '/usr/lib64',
  '/usr/lib',
];

/** Folders that may hold the libraries, most wanted first. */
export function libraryFolders(explicit: string | undefined, environment: Environment): string[] {
  const toolkits = [environment['CUDA_HOME'], environment['CUDA_PATH']].flatMap((home) =>
    home === undefined || home === '' ? [] : [join(home, 'lib64'), join(home, 'lib'), ...pythonPackages(home)],
  );
  const programs = splitPath(environment['PATH']).filter((folder) => existsSync(join(folder, 'python3')));
  const environments = [
    environment['VIRTUAL_ENV'],
    environment['CONDA_PREFIX'],
    ...programs.map((bin) => dirname(bin)),
  ];
  const packages = environments.flatMap((root) => (root === undefined || root === '' ? [] : pythonPackages(root)));
  const folders = [...(explicit === undefined ? [] : [explicit]), ...toolkits, ...packages];
  return [...new Set([...folders, ...splitPath(environment['LD_LIBRARY_PATH']), ...systemFolders])];
}

function splitPath(value: string | undefined): string[] {
  return (value ?? '').split(delimiter).filter((folder) => folder !== '');
}

function list(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** The folders lib/python3.N/site-packages/nvidia/PACKAGE/lib of a Python environment. */
function pythonPackages(root: string): string[] {
  return list(join(root, 'lib'))
    .filter((name) => /^python3\.\d+$/.test(name))
    .flatMap((python) => ['site-packages', 'dist-packages'].map((kind) => join(root, 'lib', python, kind, 'nvidia')))
    .flatMap((nvidia) => list(nvidia).map((name) => join(nvidia, name, 'lib')))
    .filter((folder) => existsSync(folder));
}

/** The library's file with the highest version in the first folder that has one. */
export function findLibrary(name: LibraryName, folders: readonly string[]): string | undefined {
  const pattern = new RegExp(`^${name}\\.so(\\.\\d+)*$`);
  for (const folder of folders) {
    const files = list(folder).filter((file) => pattern.test(file));
    const [newest] = files.sort((a, b) => versionOf(b) - versionOf(a) || a.length - b.length);
    if (newest !== undefined) return join(folder, newest);
  }
  return undefined;
}

function versionOf(file: string): number {
  return Number(/\.so\.(\d+)/.exec(file)?.[1] ?? 0);
}

export async function importKoffi(): Promise<Koffi> {
  try {
    return await import('koffi');
  } catch (cause) {
    throw new DeviceError(
      {
        call: 'cuda device',
        expected: 'the optional package koffi',
        found: String(cause),
        fix: 'Install it: npm install koffi@3.3.4.',
      },
      { cause },
    );
  }
}

const purpose: Readonly<Record<LibraryName, string>> = {
  libcuda: 'Install the NVIDIA driver, or run where there is an NVIDIA GPU.',
  libnvrtc:
    'Install the CUDA toolkit (12 or 13) or its Python packages, or name the folder with the option libraries or CUDA_HOME.',
  libcublasLt:
    'Install the CUDA toolkit (12 or 13) or its Python packages, or name the folder with the option libraries or CUDA_HOME.',
};

/** Loads the compiler's other half, which the compiler asks for by name alone and finds only if it is loaded already. */
function loadCompanions(koffi: Koffi, folder: string): void {
  const companion = list(folder).find((file) => /^libnvrtc-builtins\.so\.\d+\.\d+$/.test(file));
  if (companion !== undefined) koffi.load(join(folder, companion), { global: true });
}

/** Loads the library, or says where it was looked for. */
export function loadLibrary(koffi: Koffi, name: LibraryName, folders: readonly string[]): Library {
  const path = findLibrary(name, folders) ?? (name === 'libcuda' ? 'libcuda.so.1' : `${name}.so`);
  try {
    if (name === 'libnvrtc') loadCompanions(koffi, dirname(path));
    return koffi.load(path);
  } catch (cause) {
    throw new DeviceError(
      {
        call: 'cuda device',
        expected: `the library ${name}.so`,
        found: `${String(cause)}; looked in ${folders.filter((folder) => existsSync(folder)).join(', ')}`,
        fix: purpose[name],
      },
      { cause },
    );
  }
}
