/** koffi, an optional dependency: calls of C libraries from a benchmark. */
export interface Koffi {
  load(path: string): { func(prototype: string): (...values: unknown[]) => unknown };
}

/** Loads koffi; undefined where it is not installed. */
export async function loadKoffi(): Promise<Koffi | undefined> {
  const name = 'koffi';
  try {
    return ((await import(name)) as { default: Koffi }).default;
  } catch {
    return undefined;
  }
}
