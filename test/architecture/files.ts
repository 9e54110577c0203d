/** Lists the repository's own files: all but those that are installed, built, made by a run, or git's. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

const foreignNames = new Set(['node_modules', 'dist', '.build', '.git', 'coverage', 'runs']);

/** Paths from the repository's root, with forward slashes, sorted. */
export function listFiles(folder = ''): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (foreignNames.has(entry.name)) return [];
      if (entry.isDirectory()) return listFiles(path);
      // Links are left out, since they may lead out of the repository.
      return entry.isFile() ? [path] : [];
    })
    .sort();
}

export function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** Whether a file is TypeScript; the wasm kernels are AssemblyScript, another language with its own compiler. */
export function isTypeScript(path: string): boolean {
  return /\.tsx?$/.test(path) && !path.startsWith('src/engine/wasm/kernels/');
}

export function readSources(paths: readonly string[]): Map<string, string> {
  return new Map(paths.map((path) => [path, readText(path)]));
}

export interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

export function readManifest(): Manifest {
  return JSON.parse(readText('package.json'));
}

/** The packages that are installed with this one, optional or not, and those that its user may install beside it. */
export function runtimeDependencies(manifest: Manifest): ReadonlySet<string> {
  const { dependencies, optionalDependencies = {}, peerDependencies = {} } = manifest;
  return new Set([dependencies, optionalDependencies, peerDependencies].flatMap((each) => Object.keys(each)));
}
