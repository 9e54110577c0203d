/** Quotes a command line for a POSIX shell: a path with spaces or quotes stays one word. */
export function shellLine(...words: readonly string[]): string {
  return words.map((word) => (/^[\w./@%+=:,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
}
