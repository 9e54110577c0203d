/**
 * Straight-line programs: classes of functions, and functions, whose lines assign, return or pass, on sums and products of whole numbers and
 * of names that the same function has given a value. Such a program calls nothing, reads no attribute, sees no name from outside, has
 * no loop and defines nothing that Python calls by itself (no name holds two underscores). So it cannot touch the process
 * it runs in, and many of them may share one. Everything else, and everything doubtful, is no straight-line program.
 */
const largestSource = 4_096;
const name = '[A-Za-z_][A-Za-z0-9_]*';
const term = `(?:${name}|[0-9]{1,9})`;
const sum = `${term}(?: (?:\\+|-|\\*|//|%) ${term})*`;

const classLine = new RegExp(`^class ${name}:$`);
const functionLine = new RegExp(`^def ${name}\\(((?:${name}(?:, ${name})*)?)\\):$`);
const assignment = new RegExp(`^(${name}) (\\+|-|\\*|//|%)?= (${sum})$`);
const returned = new RegExp(`^return (${sum})$`);
const namesIn = new RegExp(name, 'g');

/** What the lines before have opened: nothing, a class, or a function with the names that have a value in it. */
interface Place {
  /** Number of spaces before a line of a function's body; 0 outside of functions. */
  readonly body: number;
  readonly known: Set<string>;
  readonly inClass: boolean;
}

function readBodyLine(text: string, known: Set<string>): boolean {
  if (text === 'pass' || text === 'return') return true;
  const isKnown = (part: string) => (part.match(namesIn) ?? []).every((each) => known.has(each));
  const [, result] = returned.exec(text) ?? [];
  if (result !== undefined) return isKnown(result);
  const [, target, operation, value] = assignment.exec(text) ?? [];
  if (target === undefined || value === undefined || !isKnown(value)) return false;
  if (operation !== undefined && !known.has(target)) return false;
  known.add(target);
  return true;
}

/** The place after a line, or null where the line is of another kind. */
function readLine(line: string, { body, known, inClass }: Place): Place | null {
  const text = line.trimStart();
  const spaces = line.length - text.length;
  if (body > 0 && spaces === body) return readBodyLine(text, known) ? { body, known, inClass } : null;
  if (spaces === 0 && classLine.test(text)) return { body: 0, known: new Set(), inClass: true };
  if (spaces !== 0 && !(inClass && spaces === 4)) return null;
  const parameters = functionLine.exec(text)?.[1];
  if (parameters === undefined) return null;
  return { body: spaces + 4, known: new Set(parameters.split(', ')), inClass: inClass && spaces === 4 };
}

export function isStraightLine(source: string): boolean {
  // Spaces, letters and a few marks: with them there is no comment, no text, no other white space.
  if (source.length > largestSource || source.includes('__') || !/^[A-Za-z0-9_ \n+\-*/%=():,]*$/.test(source))
    return false;
  let place: Place | null = { body: 0, known: new Set(), inClass: false };
  for (const line of source.split('\n')) {
    if (line === '') continue;
    place = readLine(line, place);
    if (place === null) return false;
  }
  return true;
}
