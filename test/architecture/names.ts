/** One word for one thing: no two modules export the same name. */
import { readExports } from './modules.ts';

/** Indexes only hand on what others export; tests export nothing that counts. */
const handsOn = (path: string) => path.endsWith('/index.ts') || path.endsWith('.test.ts');

/** `sources`: path → text. A type and a value of one name are one name. */
export function checkExportedNames(sources: ReadonlyMap<string, string>): { names: number; violations: string[] } {
  const readSource = (path: string): string => sources.get(path) ?? '';
  const holders = new Map<string, string[]>();
  for (const path of sources.keys()) {
    if (handsOn(path)) continue;
    const names = readExports(path, readSource).map((name) => name.replace(/^type /, ''));
    for (const name of new Set(names)) holders.set(name, [...(holders.get(name) ?? []), path]);
  }
  const violations = [...holders]
    .filter(([, paths]) => paths.length > 1)
    .map(([name, paths]) => `${name} is exported by ${paths.join(' and ')}`);
  return { names: holders.size, violations };
}
