/** Compares programs of Python but for the names of their variables. */

const keywords = new Set(
  'and as assert async await break class continue def del elif else except finally for from global if import in is lambda None nonlocal not or pass raise return True False try while with yield self'.split(
    ' ',
  ),
);
const token = /#.*|"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\.?[^\W\d]\w*|\s+/gu;

/**
 * A program from its first class on, without white space, remarks and texts that explain, in which a variable is the number of its first use. Attributes, methods
 * and what is called keep their names, since they are what a program does: functions within it have numbers too.
 */
export function withoutNames(code: string): string {
  const start = code.search(/^class /m);
  const program = start < 0 ? code : code.slice(start);
  const own = new Set(
    [...program.matchAll(/\bdef\s+(\w+)\s*\((?!\s*self\b)|\b(\w+)\s*=\s*lambda\b/g)].map(
      (found) => found[1] ?? found[2],
    ),
  );
  const numbers = new Map<string, number>();
  const numberOf = (name: string): number => {
    const number = numbers.get(name) ?? numbers.size;
    numbers.set(name, number);
    return number;
  };
  return program.replace(token, (word, at: number) => {
    if (/^(?:[#\s]|"""|''')/.test(word)) return '';
    if (/^["'.]/.test(word) || keywords.has(word)) return word;
    const isCalled = program[at + word.length] === '(';
    return isCalled && !own.has(word) ? word : `v${numberOf(word)}`;
  });
}
