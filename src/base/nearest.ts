/**
 * The valid name that was probably meant: least edit distance (insert, delete, replace, swap of neighbours; the optimal
 * string alignment distance), without regard to case, at most a third of the length away.
 */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1];
      let least = Math.min(last[column] + 1, current[column - 1] + 1, last[column - 1] + (same ? 0 : 1));
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) least = Math.min(least, beforeLast[column - 2] + 1);
      current.push(least);
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length];
}

/** The nearest valid name, undefined when none is near; the earlier name wins a tie. */
export function nearestName(name: string, validNames: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let least = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const valid of validNames) {
    const distance = editDistance(name.toLowerCase(), valid.toLowerCase());
    if (distance < least) {
      least = distance;
      nearest = valid;
    }
  }
  return nearest;
}
