/** One word for one thing: no two modules export the same name. */
import { readExports } from './modules.ts';

/** Whether the exports of a file do not count: an index or an entry only re-exports, and tests export nothing that others use. */
const handsOn = (path: string) => /\/index\.ts$|^src\/entry\/|\.test\.ts$/.test(path);

/** `sources` maps paths to texts. A type and a value of the same name count as one name. */
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
