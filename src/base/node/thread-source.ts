/**
 * Whether a source file can be the code of a thread: Node 20 reads no TypeScript by itself, so that there the sources, though not the
 * built package, do a thread's work where they stand.
 */
export function canBeThread(url: string): boolean {
  const features: Readonly<Record<string, unknown>> = { ...process.features };
  return !url.endsWith('.ts') || Boolean(features['typescript']);
}
