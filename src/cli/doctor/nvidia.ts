/**
 * Looks for an NVIDIA driver by its files: the library libcuda.so.1 (what the CUDA device needs), the program nvidia-smi,
 * and the version the kernel module states. Starts no process and loads no library.
 */
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export interface NvidiaPlaces {
  readonly libraryFolders: readonly string[];
  readonly programFolders: readonly string[];
  readonly kernelModuleFile: string;
}

export interface NvidiaDriver {
  readonly library?: string;
  readonly program?: string;
  readonly version?: string;
}

function splitPath(value: string | undefined): string[] {
  return (value ?? '').split(delimiter).filter((folder) => folder !== '');
}

export function usualNvidiaPlaces(environment: NodeJS.ProcessEnv): NvidiaPlaces {
  return {
    libraryFolders: [
      ...splitPath(environment['LD_LIBRARY_PATH']),
      '/usr/lib/x86_64-linux-gnu',
      '/usr/lib/aarch64-linux-gnu',
      '/usr/lib64',
      '/usr/lib',
      '/usr/lib/wsl/lib',
      '/usr/local/nvidia/lib64',
      '/run/opengl-driver/lib',
    ],
    programFolders: [...splitPath(environment['PATH']), '/usr/lib/wsl/lib'],
    kernelModuleFile: '/proc/driver/nvidia/version',
  };
}

function findFile(folders: readonly string[], name: string): string | undefined {
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

export function findNvidiaDriver(places: NvidiaPlaces): NvidiaDriver {
  const library = findFile(places.libraryFolders, 'libcuda.so.1');
  const program = findFile(places.programFolders, 'nvidia-smi');
  const stated = existsSync(places.kernelModuleFile) ? readFileSync(places.kernelModuleFile, 'utf8') : '';
  const version = /\b\d{3}\.\d+(?:\.\d+)?\b/.exec(stated)?.[0];
  return {
    ...(library !== undefined && { library }),
    ...(program !== undefined && { program }),
    ...(version !== undefined && { version }),
  };
}
