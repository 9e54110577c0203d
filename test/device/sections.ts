/** What the checks of single devices share: sections of checks that are told in one line each, and closed with a count. */
import type { Device } from '../../src/engine/index.ts';
import type { Check } from './suite.ts';

export type Sections = Readonly<Record<string, () => Promise<readonly Check[]>>>;

/** A check of a count that must be 0. */
export const mustBeZero = (name: string, quantity: string, count: number): Check => ({
  ...{ case: name, quantity, maxAbs: count, maxRel: count, bound: 0 },
  pass: count === 0,
});

export const leak = (name: string, { arena }: Device): Check => mustBeZero(name, 'bytes left in use', arena.used);

/** Checks of a body; one that throws is a failed check. */
export async function guard(name: string, body: () => Promise<readonly Check[]>): Promise<readonly Check[]> {
  try {
    return await body();
  } catch (error) {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return [mustBeZero(name, what, Number.POSITIVE_INFINITY)];
  }
}

/** A line that is written over, for whoever waits at a terminal. */
function showPlace(words: string): void {
  if (typeof process === 'object' && process.stderr.isTTY) process.stderr.write(`\r\u001b[K${words}`);
}

/** Runs all cases; a case that throws is a failed check, and the others still run. */
export async function each<T extends { readonly name: string }>(
  cases: readonly T[],
  compare: (one: T) => Promise<readonly Check[]>,
): Promise<Check[]> {
  const checks: Check[] = [];
  for (const [i, one] of cases.entries()) {
    showPlace(`${i + 1} of ${cases.length}: ${one.name}`);
    checks.push(...(await guard(one.name, () => compare(one))));
  }
  showPlace('');
  return checks;
}

/** Runs a section and prints its line, its worst check, and every failed one, or all. */
export async function runSection(
  sections: Sections,
  name: string,
  all: boolean,
): Promise<{ readonly passed: number; readonly failed: number }> {
  const start = performance.now();
  const checks = await sections[name]();
  const bad = checks.filter(({ pass }) => !pass);
  const worst = checks.reduce<Check | undefined>(
    (most, check) =>
      check.bound > 0 && check.maxRel / check.bound > (most === undefined ? 0 : most.maxRel / most.bound)
        ? check
        : most,
    undefined,
  );
  const closest =
    worst === undefined
      ? ''
      : `worst ${worst.maxRel.toExponential(1)} of ${worst.bound} (${worst.case}, ${worst.quantity})`;
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const passed = checks.length - bad.length;
  console.log(`${name.padEnd(11)} ${passed} passed, ${bad.length} failed, ${seconds} s; ${closest}`);
  for (const check of all ? checks : bad) {
    const { case: label, quantity, maxAbs, maxRel, bound, pass } = check;
    console.log(
      `  ${pass ? 'ok    ' : 'failed'} ${label}: ${quantity}: ${maxAbs.toExponential(2)}, relative ${maxRel.toExponential(2)}, bound ${bound}`,
    );
  }
  return { passed, failed: bad.length };
}
