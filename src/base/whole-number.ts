/** A whole number of 0 or more as people write it: digits and nothing else. JavaScript would also take 0x10, 1e3, " 5", "+5" and "5.0". */
export function readWhole(text: string, least = 0, most: number = Number.MAX_SAFE_INTEGER): number | null {
  const value = /^(?:0|[1-9][0-9]*)$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) && value >= least && value <= most ? value : null;
}
